/* launch_bound: is the host too slow at preparing and launching kernels?
 *
 * The edit removes the host time of operators and launches. This is the generic cause of idle time, so the
 * engine counts only what remains of its gain after the repair of all specific findings.
 *
 * If nearly all launches return when their kernel has ended, somebody made them wait (CUDA_LAUNCH_BLOCKING):
 * then only the waiting is removed, and nothing else is said. */
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

/* Launches in the window, and those of them that take long every time (schedule/first_use.c). */
typedef struct launch_sums {
    size_t launches, slow;
    int64_t slow_ns;
    uint32_t slowest; /* the point of the longest one; GT_NONE */
} launch_sums;

/* Whether launches return only when what they launched has ended. A short kernel on an idle GPU may end
 * before its call returns, so it tells nothing. */
static bool are_blocking(const gt_schedule *schedule)
{
    enum { FEWEST = 20, LONG_NS = 20000 };
    static const double nearly_all = 0.95;
    size_t launches = 0, blocking = 0;
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        if (point->kind != GT_API_LAUNCH || !point->op_count) continue;
        const gt_gpu_op *op = &schedule->ops[schedule->point_ops[point->first_op]];
        if (op->kind != GT_KIND_KERNEL || gt_op_ns(op) < LONG_NS) continue;
        launches++;
        blocking += op->end_ns <= point->end_ns;
    }
    return launches >= FEWEST && (double)blocking >= nearly_all * (double)launches;
}

static void edit_blocking(const gt_schedule *schedule, gt_edit *edit)
{
    for (size_t p = 0; p < schedule->point_count; p++)
        if (schedule->points[p].kind == GT_API_LAUNCH)
            gt_edit_point_add(edit, (uint32_t)p, GT_EDIT_NO_CALL | GT_EDIT_NO_WAIT, 0);
}

static bool find_blocking(const gt_rule_input *input, gt_finding *finding)
{
    edit_blocking(input->schedule, &finding->edit);
    finding->id = "launch_bound";
    finding->confidence = GT_CONFIDENCE_HIGH;
    finding->title =
        gt_rule_text("Each launch waits until its kernel has ended: the GPU is idle for %.2f ms per %s",
                     gt_rule_idle_ms(input, GT_CAUSE_LAUNCH), input->per);
    gt_rule_evidence(finding, "launching calls return after the kernels that they launch, median %.1f us",
                     median_kernel_us(input->schedule));
    finding->advice =
        gt_rule_text("Unset %s.", input->gpu->is_amd ? "AMD_SERIALIZE_KERNEL and HIP_LAUNCH_BLOCKING"
                                                     : "CUDA_LAUNCH_BLOCKING");
    return true;
}

static launch_sums edit_launches(const gt_schedule *schedule, gt_edit *edit)
{
    launch_sums sums = {.slowest = GT_NONE};
    int64_t longest_ns = 0;
    gt_edit_reserve_points(edit, 2 * schedule->point_count);
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        if (point->kind != GT_API_LAUNCH) continue;
        if (!(point->flags & (GT_POINT_FIRST_USE | GT_POINT_HELD)))
            gt_edit_point_add(edit, (uint32_t)p, GT_EDIT_NO_CALL, 0);
        if (!gt_window_has(&schedule->window, point->start_ns)) continue;
        sums.launches++;
        if (!(point->flags & GT_POINT_SLOW)) continue;
        int64_t ns = point->end_ns - point->start_ns;
        sums.slow++;
        sums.slow_ns += ns;
        if (ns > longest_ns) {
            longest_ns = ns;
            sums.slowest = (uint32_t)p;
        }
    }
    return sums;
}

/* Says which launches are slow, where, and what to do if they are most of the time. */
static void describe_slow(const gt_rule_input *input, const launch_sums *sums, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    double slow_ms = gt_rule_ms(input, (double)sums->slow_ns);
    uint32_t event = schedule->points[sums->slowest].event;
    gt_rule_evidence(
        finding,
        "long launch calls again and again, not only at first use: %s per %s with %.2f ms each, such as %s",
        gt_rule_number((double)sums->slow / (double)schedule->window.steps).text, input->per,
        (double)sums->slow_ns / (double)sums->slow / 1e6,
        gt_interner_get(schedule->strings, schedule->events[event].name).bytes);
    if (slow_ms < gt_rule_host_ms(input, GT_CAUSE_LAUNCH)) return;
    finding->where = gt_rule_string(input, gt_site_of_call(schedule, event));
    finding->advice = gt_rule_text(
        "Find out why these calls take long (a launch usually takes 3 to 20 us): code may be loaded or "
        "compiled "
        "again, a graph may be very large or changed before each launch, or another thread may hold a lock.");
}

bool gt_rule_launch_bound(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    if (are_blocking(schedule)) return find_blocking(input, finding);
    launch_sums sums = edit_launches(schedule, &finding->edit);
    gt_edit_remove_label(&finding->edit, schedule, GT_CAUSE_LAUNCH);
    if (finding->edit.point_count == 0) return false;
    double per_step = (double)sums.launches / (double)schedule->window.steps;
    double host_ms = gt_rule_host_ms(input, GT_CAUSE_LAUNCH) + gt_rule_ms(input, (double)sums.slow_ns);
    finding->id = "launch_bound";
    finding->confidence = GT_CONFIDENCE_HIGH;
    finding->title =
        gt_rule_text("The host does not launch kernels fast enough: the GPU is idle for %.2f ms per %s",
                     gt_rule_idle_ms(input, GT_CAUSE_LAUNCH), input->per);
    gt_rule_evidence(finding, "%s per %s, median kernel %.1f us, and the host needs %.0f us per launch",
                     gt_rule_count(per_step, "launch", "launches").text, input->per,
                     median_kernel_us(schedule), host_ms * 1e3 / (per_step > 1 ? per_step : 1));
    if (schedule->background_count) {
        finding->confidence = GT_CONFIDENCE_LOW;
        gt_rule_evidence(finding,
                         "threads in the background hold up launches: how fast the host is without them "
                         "is not known");
    }
    if (sums.slow > 0) describe_slow(input, &sums, finding);
    if (finding->advice) return true;
    static const char *const ways[] = {
        [GT_BY_PYTORCH] = "CUDA or HIP graphs or torch.compile(mode=\"reduce-overhead\")",
        [GT_BY_ROCPROF] = "HIP graphs (in PyTorch torch.compile(mode=\"reduce-overhead\"))",
        [GT_BY_NSYS] = "CUDA graphs (in PyTorch torch.compile(mode=\"reduce-overhead\"))",
        [GT_BY_JAX] = "one jax.jit for the whole step with XLA's command buffers"};
    finding->advice =
        gt_rule_text("Use %s, larger batches, or fuse small operators.", ways[schedule->origin]);
    return true;
}
