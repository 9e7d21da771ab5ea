/* slow_optimizer: does the optimizer launch many small kernels per parameter?
 *
 * A fused optimizer makes a few launches for all parameters and reads and writes memory fewer times: Adam
 * needs about 7 passes instead of 20. The edit removes the host time of these launches and shortens the
 * kernels to that share. */
#include "findings/schedule/names.h"
#include "findings/rules/rules_table.h"

static const double fewest_kernels = 50;    /* per step: fewer are not worth it */
static const double longest_mean_ns = 50e3; /* longer ones keep the GPU busy, however they are launched */
static const double fused_share = 0.35;

/* The optimizer's kernels in the window. */
typedef struct optimizer_kernels {
    gt_tally ops; /* by the outermost operator */
    size_t count, fused;
    double ns;
} optimizer_kernels;

static bool is_of_optimizer(const gt_schedule *schedule, const gt_gpu_op *op)
{
    return op->point != GT_NONE && schedule->points[op->point].flags & GT_HOST_OPTIMIZER;
}

static optimizer_kernels find_kernels(const gt_schedule *schedule)
{
    optimizer_kernels kernels = {0};
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (!is_of_optimizer(schedule, op) || !gt_window_has(&schedule->window, op->start_ns)) continue;
        kernels.count++;
        kernels.ns += (double)gt_op_ns(op);
        if (gt_name_has(schedule, op->name, GT_NAME_FUSED)) kernels.fused++;
        uint32_t outermost = gt_outermost_op(schedule, schedule->points[op->point].event);
        if (outermost != GT_NONE) gt_tally_add(&kernels.ops, schedule->events[outermost].name, 1);
    }
    gt_tally_sort(&kernels.ops);
    return kernels;
}

/* Adds the edit and returns the host time of the launches in the window. */
static double edit_kernels(const gt_schedule *schedule, gt_edit *edit)
{
    double host_ns = 0;
    bool *seen = gt_alloc_zero(schedule->point_count, sizeof *seen);
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (!is_of_optimizer(schedule, op)) continue;
        gt_edit_op_add(edit, (uint32_t)i, fused_share * (double)gt_op_ns(op));
        const gt_host_point *point = &schedule->points[op->point];
        if (seen[op->point]) continue;
        seen[op->point] = true;
        gt_edit_point_add(edit, op->point, GT_EDIT_NO_CALL, (double)point->before_ns);
        if (gt_window_has(&schedule->window, point->start_ns))
            host_ns += (double)(point->before_ns + point->own_ns);
    }
    gt_free(seen);
    return host_ns;
}

bool gt_rule_slow_optimizer(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    double steps = (double)schedule->window.steps;
    optimizer_kernels kernels = find_kernels(schedule);
    double count = (double)kernels.count, mean_ns = count > 0 ? kernels.ns / count : 0;
    bool is_slow =
        count / steps >= fewest_kernels && mean_ns < longest_mean_ns && (double)kernels.fused < 0.5 * count;
    if (is_slow) {
        double host_ns = edit_kernels(schedule, &finding->edit);
        finding->id = "slow_optimizer";
        finding->confidence = GT_CONFIDENCE_HIGH;
        finding->title = gt_rule_text("The optimizer launches %s per %s (mean %.1f us)",
                                      gt_rule_count(count / steps, "small kernel", "small kernels").text,
                                      input->per, mean_ns / 1e3);
        finding->where = gt_strdup("Optimizer.step");
        gt_rule_evidence(finding,
                         "the host needs %.2f ms per %s to issue them, the GPU %.2f ms to execute them",
                         gt_rule_ms(input, host_ns), input->per, gt_rule_ms(input, kernels.ns));
        for (size_t i = 0; i < kernels.ops.item_count && i < 2; i++)
            gt_rule_evidence(finding, "%s x %s", gt_rule_number(kernels.ops.items[i].sum / steps).text,
                             gt_interner_get(schedule->strings, kernels.ops.items[i].text).bytes);
        finding->advice = gt_rule_text(
            "Construct the optimizer with fused=True (or foreach=True), or use a fused optimizer of "
            "apex or DeepSpeed.");
    }
    gt_tally_free(&kernels.ops);
    return is_slow;
}
