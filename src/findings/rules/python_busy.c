/* python_busy and host_untraced: does the GPU wait for other code of the program?
 *
 * python_busy is long stretches of the user's Python functions without any operator. host_untraced is the
 * same where the trace shows no function: without recorded stacks, the ranges that the program marked are all
 * that can be said about the place. If most of the time of python_busy is torch.compile at work, its title
 * and its advice say that. */
#include "findings/rules/gpu_rules.h"
#include "findings/schedule/names.h"

/* Python functions by their time in the window; in *compiler_ns what of it torch.compile takes. */
static gt_tally tally_functions(const gt_schedule *schedule, double *compiler_ns)
{
    gt_tally tally = {0};
    *compiler_ns = 0;
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        if (!gt_window_has_point(&schedule->window, point)) continue;
        if (!gt_replay_may_have(schedule, (uint32_t)p, GT_CAUSE_PYTHON)) continue;
        for (size_t i = point->first_piece; i < (size_t)point->first_piece + point->piece_count; i++) {
            const gt_piece *piece = &schedule->pieces[i];
            if (piece->label != GT_CAUSE_PYTHON) continue;
            double ns = (double)(piece->end_ns - piece->start_ns);
            gt_tally_add(&tally, gt_site_of(schedule, piece->event), ns);
            if (piece->event != GT_NONE && schedule->events[piece->event].flags & GT_HOST_COMPILER)
                *compiler_ns += ns;
        }
    }
    gt_tally_sort(&tally);
    return tally;
}

bool gt_rule_python_busy(const gt_rule_input *input, gt_finding *finding)
{
    if (!gt_rule_has_label(input, GT_CAUSE_PYTHON)) return false;
    double idle_ms = gt_rule_state_idle(input, finding, GT_CAUSE_PYTHON), compiler_ns;
    gt_tally functions = tally_functions(input->schedule, &compiler_ns);
    bool compiles = compiler_ns > 0.5 * gt_tally_total(&functions);
    finding->id = "python_busy";
    finding->confidence = GT_CONFIDENCE_HIGH;
    finding->title =
        gt_rule_text(compiles ? "torch.compile compiles and holds up the GPU for %.2f ms per %s"
                              : "Python code between GPU operations holds up the GPU for %.2f ms per %s",
                     idle_ms, input->per);
    if (functions.item_count > 0) finding->where = gt_rule_string(input, functions.items[0].text);
    for (size_t i = 0; i < functions.item_count && i < 3; i++) {
        double ms = gt_rule_ms(input, functions.items[i].sum);
        if (!gt_rule_shows(ms)) break;
        gt_rule_evidence(finding, "%s: %.2f ms per %s",
                         gt_interner_get(input->schedule->strings, functions.items[i].text).bytes, ms,
                         input->per);
    }
    gt_tally_free(&functions);
    gt_rule_evidence(finding, "the GPU is idle for %.2f ms per %s meanwhile", idle_ms, input->per);
    finding->advice = gt_rule_text(
        "%s", compiles
                  ? "Run all shapes once before profiling; if it compiles again later, mark the sizes that "
                    "vary as dynamic (torch._dynamo.mark_dynamic); TORCH_LOGS=recompiles says why."
                  : "Move this Python code out of the loop, vectorise it, or run it in another process; "
                    "it calls no PyTorch operator.");
    gt_edit_remove_label(&finding->edit, input->schedule, GT_CAUSE_PYTHON);
    return true;
}

/* ---- host_untraced ---- */

/* Idle time by the range of the program in which it lies. */
static gt_tally tally_ranges(const gt_rule_input *input)
{
    gt_tally tally = {0};
    for (size_t i = 0; i < input->idle->piece_count; i++) {
        const gt_idle_piece *piece = &input->idle->pieces[i];
        if (piece->cause != GT_CAUSE_UNTRACED) continue;
        uint32_t range = gt_range_of(input->schedule, piece->event);
        if (range != GT_STR_NONE) gt_tally_add(&tally, range, (double)(piece->end_ns - piece->start_ns));
    }
    gt_tally_sort(&tally);
    return tally;
}

static const char *short_name(const gt_rule_input *input, uint32_t range)
{
    enum { LONGEST = 60 };
    uint32_t name = gt_short_kernel_name(input->schedule, range, LONGEST);
    return gt_interner_get(input->schedule->strings, name).bytes;
}

/* Title and advice without a range that has most of the time. */
static void describe_unmarked(const gt_rule_input *input, gt_finding *finding)
{
    gt_trace_origin origin = input->schedule->origin;
    finding->title =
        gt_rule_text(origin == GT_BY_JAX
                         ? "The host launches late, and it is unknown why: the GPU is idle for %.2f ms per %s"
                         : "Host code that the trace does not show holds up the GPU for %.2f ms per %s",
                     gt_rule_idle_ms(input, GT_CAUSE_UNTRACED), input->per);
    static const char *const ways[] = {
        [GT_BY_PYTORCH] = "with with_stack=True to see the Python function",
        [GT_BY_ROCPROF] =
            "with PyTorch's profiler, or with ranges marked in the program (roctx), to see more",
        [GT_BY_NSYS] =
            "with nsys profile --trace=cuda,nvtx --python-sampling=true, or with NVTX ranges, to see more",
        [GT_BY_JAX] = "after the functions are compiled, and look at the host threads in a viewer"};
    const char *way = ways[origin];
    if (input->schedule->has_stacks)
        way = "with parts of the program marked by torch.profiler.record_function to see where it is";
    finding->advice =
        gt_rule_text("Record again %s; often it is data loading, logging or a loop in Python.", way);
}

/* The same with such a range. */
static void describe_range(const gt_rule_input *input, gt_finding *finding, const gt_tally_item *range)
{
    static const double nearly_all = 0.95;
    double idle_ns = (double)input->idle->cause_ns[GT_CAUSE_UNTRACED];
    const char *name = short_name(input, range->text);
    bool may_have_stacks = !input->schedule->has_stacks && input->schedule->origin == GT_BY_PYTORCH;
    finding->title =
        gt_rule_text(range->sum < nearly_all * idle_ns
                         ? "Host code, most of it in the range %s, holds up the GPU for %.2f ms per %s"
                         : "Host code in the range %s holds up the GPU for %.2f ms per %s",
                     name, gt_rule_ms(input, idle_ns), input->per);
    if (gt_name_has(input->schedule, range->text, GT_NAME_COMMUNICATION))
        finding->advice = gt_rule_text(
            "Start this communication earlier and wait for it later; if other ranks arrive late, repair the "
            "straggler first.");
    else
        finding->advice = gt_rule_text(
            "Look into the code of the range %s, or %s; often it is data loading, logging or a loop in "
            "Python.",
            name,
            may_have_stacks ? "record again with with_stack=True to see its functions"
                            : "mark smaller ranges in it");
}

bool gt_rule_host_untraced(const gt_rule_input *input, gt_finding *finding)
{
    if (!gt_rule_has_label(input, GT_CAUSE_UNTRACED)) return false;
    finding->id = "host_untraced";
    gt_rule_state_idle(input, finding, GT_CAUSE_UNTRACED);
    gt_tally ranges = tally_ranges(input);
    double idle_ns = (double)input->idle->cause_ns[GT_CAUSE_UNTRACED];
    bool is_named = ranges.item_count > 0 && 2 * ranges.items[0].sum >= idle_ns;
    finding->confidence = input->schedule->has_stacks && !is_named ? GT_CONFIDENCE_LOW : GT_CONFIDENCE_MEDIUM;
    if (is_named)
        describe_range(input, finding, &ranges.items[0]);
    else
        describe_unmarked(input, finding);
    if (ranges.item_count > 0) finding->where = gt_rule_string(input, ranges.items[0].text);
    for (size_t i = 0; i < ranges.item_count && i < 3; i++)
        gt_rule_evidence(finding, "in the range %s: the GPU is idle for %.2f ms per %s",
                         short_name(input, ranges.items[i].text), gt_rule_ms(input, ranges.items[i].sum),
                         input->per);
    gt_rule_evidence(finding,
                     input->schedule->origin == GT_BY_JAX
                         ? "%.2f ms per %s between launches that are at least 0.2 ms apart"
                         : "%.2f ms per %s of the launching thread without a recorded operator, call or "
                           "Python function",
                     gt_rule_host_ms(input, GT_CAUSE_UNTRACED), input->per);
    gt_tally_free(&ranges);
    gt_edit_remove_label(&finding->edit, input->schedule, GT_CAUSE_UNTRACED);
    return true;
}
