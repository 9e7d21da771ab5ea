/* How often do gains come true?
 *
 * A gain is what the model of host and GPU says. What it is worth is measured: the programs of
 * tests/findings/calibration.py have a fault whose repair was measured without the profiler. Measured over
 * predicted gains are about log-normal, so that a new one lies, nine times of ten, in the prediction interval
 * of Student's t distribution. There are too few programs per rule for that, so rules are taken together by
 * what they predict. docs/findings.md has the programs of each kind. */
#include "findings/rules.h"

typedef enum gain_kind {
    HOST_WORK, /* what the host does or waits for is seen as it is */
    LAUNCHES,  /* what remains when calls are cheaper, or do not wait, is assumed */
    KERNELS,   /* shorter kernels */
    OTHER, /* copies that something may hide, steps that differ, GPU time with less than high confidence */
    GAIN_KINDS,
} gain_kind;

/* The output of tests/findings/calibration.py. */
static const gt_gain_range kinds[GAIN_KINDS] = {
    [HOST_WORK] = {0.71, 1.04, 1.52},
    [LAUNCHES] = {0.68, 1.04, 1.58},
    [KERNELS] = {0.81, 0.98, 1.19},
    [OTHER] = {0.52, 0.80, 1.23},
};

static const struct {
    const char *id;
    gain_kind kind;
} rules[] = {
    {"allocator_churn", LAUNCHES},
    {"cpu_op", HOST_WORK},
    {"cpu_roundtrip", HOST_WORK},
    {"data_stall", HOST_WORK},
    {"decode_gap", LAUNCHES},
    {"decode_idle_in_step", LAUNCHES},
    {"dtype_casts", KERNELS},
    {"exposed_comm", OTHER},
    {"exposed_copy", OTHER},
    {"first_use", LAUNCHES},
    {"fp32_gemm", KERNELS},
    {"graph_padding", KERNELS},
    {"host_sync", LAUNCHES},
    {"host_untraced", HOST_WORK},
    {"launch_bound", LAUNCHES},
    {"layout_copies", KERNELS},
    {"low_efficiency", KERNELS},
    {"odd_shapes", KERNELS},
    {"pageable_copy", OTHER},
    {"prefill_stall", LAUNCHES},
    {"python_busy", HOST_WORK},
    {"recompute", KERNELS},
    {"short_kernels", KERNELS},
    {"slow_optimizer", LAUNCHES},
    {"small_grid", KERNELS},
    {"unfused_attention", KERNELS},
    {"unfused_pointwise", KERNELS},
    {"uneven_steps", OTHER},
    {"unified_memory", KERNELS},
    {"wait", HOST_WORK},
};

/* GAIN_KINDS: not measured, as of findings on several ranks. */
static gain_kind find_kind(const char *id, gt_confidence confidence)
{
    for (size_t i = 0; i < GT_LENGTH(rules); i++)
        if (strcmp(rules[i].id, id) == 0)
            return rules[i].kind == KERNELS && confidence != GT_CONFIDENCE_HIGH ? OTHER : rules[i].kind;
    return GAIN_KINDS;
}

double gt_gain_weight(const char *id, gt_confidence confidence)
{
    static const double is_right[] = {
        [GT_CONFIDENCE_LOW] = 0.25, [GT_CONFIDENCE_MEDIUM] = 0.5, [GT_CONFIDENCE_HIGH] = 1};
    gain_kind kind = find_kind(id, confidence);
    return is_right[confidence] * (kind < GAIN_KINDS ? kinds[kind].expected : 1);
}

gt_gain_range gt_gain_range_find(const char *id, gt_confidence confidence, double gain, double step,
                                 double error)
{
    gain_kind kind = find_kind(id, confidence);
    if (kind == GAIN_KINDS) return (gt_gain_range){NAN, gain, NAN};
    gt_gain_range range = {kinds[kind].low * gain, kinds[kind].expected * gain, kinds[kind].high * gain};
    range.low = fmax(0, fmin(range.low, gain - error));
    range.high = fmax(range.high, gain + error);
    if (confidence == GT_CONFIDENCE_LOW) range.low = 0;
    range.high = fmin(range.high, fmax(gain, step - (step - gain) / 3));
    return range;
}
