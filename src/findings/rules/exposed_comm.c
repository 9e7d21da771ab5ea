/* exposed_comm: time in which the GPU only communicates.
 *
 * The gain is that of the schedule in which other work hides it (overlap.h), so it is 0 if the host limits
 * the step anyway, and at most that time itself. Without launches it is unknown what the host would do, and
 * the streams are linked by guesses alone: then the gain is the time. */
#include "findings/rules/gpu_rules.h"

#include "findings/overlap.h"

/* Above this share of ops without a launch, the trace does not show the host: T1 fails. */
static const double most_unlaunched = 0.3;

static bool in_window(const gt_schedule *schedule, const gt_gpu_op *op)
{
    return op->start_ns < schedule->window.end_ns && op->end_ns > schedule->window.start_ns;
}

static bool knows_launches(const gt_schedule *schedule)
{
    size_t count = 0, unlaunched = 0;
    for (size_t i = 0; i < schedule->op_count; i++) {
        if (!in_window(schedule, &schedule->ops[i])) continue;
        count++;
        unlaunched += schedule->ops[i].point == GT_NONE && !schedule->ops[i].in_background;
    }
    return (double)unlaunched <= most_unlaunched * (double)count;
}

static void describe(const gt_rule_input *input, gt_finding *finding, double exposed_ns, double total_ns)
{
    const gt_schedule *schedule = input->schedule;
    gt_tally kernels = {0};
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (op->communicates && in_window(schedule, op))
            gt_tally_add(&kernels, gt_short_kernel_name(schedule, op->name, 40), (double)gt_op_ns(op));
    }
    finding->title = gt_rule_text("Computation does not hide %.2f ms of communication per %s",
                                  gt_rule_ms(input, exposed_ns), input->per);
    gt_rule_evidence_sums(input, finding, &kernels, 3);
    gt_rule_evidence(finding,
                     "communication kernels take %.2f ms, %.0f%% of it exposed; this includes waiting for "
                     "slower ranks",
                     gt_rule_ms(input, total_ns), 100 * exposed_ns / total_ns);
    finding->advice = gt_rule_text(
        "%s",
        schedule->listed
            ? "Use the server's custom or fused all-reduce, fewer tensor-parallel ranks, or overlap; a late "
              "rank "
              "shows as communication."
            : "Overlap communication with computation (gradient buckets of DDP, asynchronous "
              "collectives, prefetch of FSDP); if other ranks arrive late, repair the straggler first.");
    gt_tally_free(&kernels);
}

bool gt_rule_exposed_comm(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    gt_overlap overlap = gt_overlap_find(schedule);
    if (!overlap.alone_ns) return false;
    int64_t exposed_ns = 0, total_ns = 0;
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (!op->communicates || !in_window(schedule, op)) continue;
        exposed_ns += overlap.alone_ns[i];
        total_ns += gt_op_ns(op);
    }
    bool found = (double)exposed_ns > 0.01 * gt_window_ns(schedule);
    if (found) {
        finding->id = "exposed_comm";
        finding->is_gpu = true;
        finding->confidence = GT_CONFIDENCE_MEDIUM;
        finding->most_ns = (double)exposed_ns / (double)schedule->window.steps;
        finding->gain_is_given = !knows_launches(schedule);
        finding->gain_ns = finding->most_ns;
        gt_overlap_edit(&overlap, schedule, &finding->edit);
        describe(input, finding, (double)exposed_ns, (double)total_ns);
    }
    gt_overlap_free(&overlap);
    return found;
}
