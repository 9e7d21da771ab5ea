/* launch_bound: is the host too slow at preparing and launching kernels?
 *
 * The edit removes the host time of operators and launches. This is the generic cause of idle time, so the
 * engine counts only what remains of its gain after the repair of all specific findings. */
#include "base/memory.h"
#include "findings/rules/rules_table.h"
#include "table/stats.h"

/* The median duration of the kernels in the window, preferably of those with a known launch. */
static double median_kernel_us(const gt_schedule *schedule)
{
    double *times = gt_alloc(schedule->op_count * sizeof *times); /* they hold all times exactly */
    size_t count = 0;
    for (int any_launch = 0; any_launch < 2 && count == 0; any_launch++) {
        for (size_t i = 0; i < schedule->op_count; i++) {
            const gt_gpu_op *op = &schedule->ops[i];
            if (op->kind == GT_KIND_KERNEL && (any_launch || op->point != GT_NONE) &&
                gt_window_has(&schedule->window, op->start_ns))
                times[count++] = (double)gt_op_ns(op);
        }
    }
    double median_us = count > 0 ? gt_select(times, count, count / 2) / 1e3 : 0;
    gt_free(times);
    return median_us;
}

bool gt_rule_launch_bound(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    double steps = (double)schedule->window.steps;
    size_t launches = 0;
    gt_edit_reserve_points(&finding->edit, 2 * schedule->point_count);
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        if (point->kind != GT_API_LAUNCH) continue;
        if (gt_window_has(&schedule->window, point->start_ns)) launches++;
        if (!gt_point_is_first_use(point)) gt_edit_point_add(&finding->edit, (uint32_t)p, GT_EDIT_NO_CALL, 0);
    }
    gt_edit_remove_label(&finding->edit, schedule, GT_CAUSE_LAUNCH);
    if (finding->edit.point_count == 0) return false;
    double per_step = (double)launches / steps;
    finding->id = "launch_bound";
    finding->confidence = GT_CONFIDENCE_HIGH;
    finding->title =
        gt_rule_text("The host does not launch kernels fast enough: the GPU is idle for %.2f ms per %s",
                     gt_rule_idle_ms(input, GT_CAUSE_LAUNCH), input->per);
    gt_rule_evidence(finding, "%s per %s, median kernel %.1f us, and the host needs %.0f us per launch",
                     gt_rule_count(per_step, "launch", "launches").text, input->per,
                     median_kernel_us(schedule),
                     gt_rule_host_ms(input, GT_CAUSE_LAUNCH) * 1e3 / (per_step > 1 ? per_step : 1));
    static const char *const ways[] = {
        [GT_BY_PYTORCH] = "CUDA or HIP graphs or torch.compile(mode=\"reduce-overhead\")",
        [GT_BY_ROCPROF] = "HIP graphs (in PyTorch torch.compile(mode=\"reduce-overhead\"))",
        [GT_BY_NSYS] = "CUDA graphs (in PyTorch torch.compile(mode=\"reduce-overhead\"))",
        [GT_BY_JAX] = "one jax.jit for the whole step with XLA's command buffers"};
    finding->advice =
        gt_rule_text("Use %s, larger batches, or fuse small operators.", ways[schedule->origin]);
    return true;
}
