/* exposed_comm: time in which the GPU only communicates. Its gain is that time itself, not a replay: which
 * ops wait for a collective is guessed from times, and a kernel of a collective also waits for late ranks. */
#include "findings/rules/gpu_rules.h"

#include "base/memory.h"

/* Merged times of the ops that do not communicate, from which exposed time is cut. */
typedef struct busy_span {
    int64_t start_ns, end_ns;
} busy_span;

static bool communicates(const gt_gpu_op *op)
{
    return op->kind == GT_KIND_KERNEL && op->communicates;
}

static busy_span *merge_others(const gt_schedule *schedule, size_t *count)
{
    busy_span *spans = gt_alloc(schedule->op_count * sizeof *spans);
    *count = 0;
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (communicates(op) || op->end_ns <= op->start_ns) continue;
        busy_span *last = *count ? &spans[*count - 1] : NULL;
        if (!last || op->start_ns > last->end_ns)
            spans[(*count)++] = (busy_span){op->start_ns, op->end_ns};
        else if (op->end_ns > last->end_ns)
            last->end_ns = op->end_ns;
    }
    return spans;
}

/* By op: how long only this collective runs, no other kind of op and no collective before it. Both lists are
 * sorted by start and each time is looked at once, so this is linear. */
static int64_t *find_exposed(const gt_schedule *schedule)
{
    size_t span_count, first = 0;
    busy_span *spans = merge_others(schedule, &span_count);
    int64_t *exposed = gt_alloc_zero(schedule->op_count, sizeof *exposed);
    int64_t covered_ns = INT64_MIN;
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (!communicates(op)) continue;
        int64_t start = op->start_ns > covered_ns ? op->start_ns : covered_ns, end = op->end_ns;
        int64_t left = end > start ? end - start : 0;
        while (first < span_count && spans[first].end_ns <= start) first++;
        for (size_t k = first; k < span_count && spans[k].start_ns < end; k++) {
            int64_t from = spans[k].start_ns > start ? spans[k].start_ns : start;
            int64_t to = spans[k].end_ns < end ? spans[k].end_ns : end;
            if (to > from) left -= to - from;
        }
        exposed[i] = left > 0 ? left : 0;
        if (end > covered_ns) covered_ns = end;
    }
    gt_free(spans);
    return exposed;
}

bool gt_rule_exposed_comm(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    const gt_step_window *window = &schedule->window;
    bool any = false;
    for (size_t i = 0; i < schedule->op_count && !any; i++) any = communicates(&schedule->ops[i]);
    if (!any) return false;
    int64_t *exposed = find_exposed(schedule), exposed_ns = 0, total_ns = 0;
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (!communicates(op) || op->start_ns >= window->end_ns || op->end_ns <= window->start_ns) continue;
        exposed_ns += exposed[i];
        total_ns += gt_op_ns(op);
    }
    bool found = (double)exposed_ns > 0.01 * gt_window_ns(schedule);
    if (found) {
        gt_tally kernels = {0};
        for (size_t i = 0; i < schedule->op_count; i++) {
            const gt_gpu_op *op = &schedule->ops[i];
            if (!communicates(op)) continue;
            gt_edit_op_add(&finding->edit, (uint32_t)i, (double)(gt_op_ns(op) - exposed[i]));
            if (op->start_ns < window->end_ns && op->end_ns > window->start_ns)
                gt_tally_add(&kernels, gt_short_kernel_name(schedule, op->name, 40), (double)gt_op_ns(op));
        }
        finding->id = "exposed_comm";
        finding->is_gpu = true;
        finding->confidence = GT_CONFIDENCE_MEDIUM;
        finding->gain_is_given = true;
        finding->gain_ns = (double)exposed_ns / (double)window->steps;
        finding->title = gt_rule_text("Computation does not hide %.2f ms of communication per %s",
                                      gt_rule_ms(input, (double)exposed_ns), input->per);
        gt_rule_evidence_sums(input, finding, &kernels, 3);
        gt_rule_evidence(
            finding,
            "communication kernels take %.2f ms, %.0f%% of it exposed; this includes waiting for slower "
            "ranks",
            gt_rule_ms(input, (double)total_ns), 100 * (double)exposed_ns / (double)total_ns);
        finding->advice = gt_rule_text(
            "Overlap communication with computation (gradient buckets of DDP, asynchronous collectives, "
            "prefetch of FSDP); if other ranks arrive late, repair the straggler first.");
        gt_tally_free(&kernels);
    }
    gt_free(exposed);
    return found;
}
