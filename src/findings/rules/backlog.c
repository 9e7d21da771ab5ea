/* Extends edits to ops that were launched before the trace began. Linear in ops for each edit. */
#include "findings/rules/backlog.h"

static bool is_earlier(const gt_gpu_op *op)
{
    return op->point == GT_NONE && !op->in_background;
}

gt_backlog gt_backlog_find(const gt_schedule *schedule)
{
    gt_backlog backlog = {0};
    bool any = false;
    for (size_t i = 0; i < schedule->op_count && !any; i++) any = is_earlier(&schedule->ops[i]);
    if (!any) return backlog;
    size_t name_count = gt_interner_count(schedule->strings);
    uint32_t *numbers = gt_alloc(name_count * sizeof *numbers); /* by name */
    memset(numbers, 0xff, name_count * sizeof *numbers);        /* GT_NONE */
    for (size_t i = 0; i < schedule->op_count; i++) {
        uint32_t *number = &numbers[schedule->ops[i].name];
        if (is_earlier(&schedule->ops[i]) && *number == GT_NONE) *number = (uint32_t)backlog.kernel_count++;
    }
    backlog.kernels = gt_alloc(schedule->op_count * sizeof *backlog.kernels);
    for (size_t i = 0; i < schedule->op_count; i++) backlog.kernels[i] = numbers[schedule->ops[i].name];
    gt_free(numbers);
    return backlog;
}

typedef struct kernel_times {
    double old_ns, saved_ns; /* of ops with a launch */
} kernel_times;

void gt_backlog_extend(const gt_backlog *backlog, const gt_schedule *schedule, gt_edit *edit)
{
    if (!backlog->kernel_count || !edit->op_count) return;
    kernel_times *times = gt_alloc_zero(backlog->kernel_count, sizeof *times);
    double *saved = gt_alloc_zero(schedule->op_count, sizeof *saved);
    for (size_t i = 0; i < edit->op_count; i++) { /* of several entries of one op, the shortest counts */
        uint32_t op = edit->ops[i].op;
        double saved_ns = (double)gt_op_ns(&schedule->ops[op]) - edit->ops[i].dur_ns;
        if (saved_ns > saved[op]) saved[op] = saved_ns;
    }
    for (size_t i = 0; i < schedule->op_count; i++) {
        if (schedule->ops[i].point == GT_NONE || backlog->kernels[i] == GT_NONE) continue;
        times[backlog->kernels[i]].old_ns += (double)gt_op_ns(&schedule->ops[i]);
        times[backlog->kernels[i]].saved_ns += saved[i];
    }
    for (size_t i = 0; i < schedule->op_count; i++) {
        if (!is_earlier(&schedule->ops[i])) continue;
        const kernel_times *kernel = &times[backlog->kernels[i]];
        if (kernel->saved_ns > 0)
            gt_edit_op_add(edit, (uint32_t)i,
                           (double)gt_op_ns(&schedule->ops[i]) * (1 - kernel->saved_ns / kernel->old_ns));
    }
    gt_free_all(times, saved);
}

void gt_backlog_free(gt_backlog *backlog)
{
    gt_free(backlog->kernels);
    *backlog = (gt_backlog){0};
}
