/* How much do steps vary? T10 compares their lengths, T11 the time of their kernels. Without two of them, T10
 * says what the times of the report are instead. */
#include "findings/trust_parts.h"

#include "base/memory.h"

#include <stdio.h>

enum { STEPS_FOR_VARIATION = 3 }; /* steps that a spread needs */

typedef struct extremes {
    double least, most;
    size_t count;
} extremes;

static void extend(extremes *e, double value)
{
    if (!e->count || value < e->least) e->least = value;
    if (!e->count || value > e->most) e->most = value;
    e->count++;
}

/* The time from one used step to the next, per step: there may be steps without GPU work in between. */
static double step_time(const gt_schedule *s, size_t used)
{
    uint32_t step = s->used_steps[used], next = s->used_steps[used + 1];
    int64_t ns = s->ops[s->steps[next].first_op].start_ns - s->ops[s->steps[step].first_op].start_ns;
    return (double)ns / (double)(next - step);
}

/* What the threads that launch did before the window and after it. */
typedef struct host_outside {
    int64_t before_ns, after_ns;
} host_outside;

static host_outside find_outside(const gt_schedule *s)
{
    int64_t first_ns = s->window.start_ns, last_ns = s->window.end_ns;
    for (size_t t = 0; t < s->thread_count; t++) {
        const gt_host_thread *thread = &s->threads[t];
        if (!thread->launches || thread->first == thread->end) continue;
        if (s->events[thread->first].start_ns < first_ns) first_ns = s->events[thread->first].start_ns;
        for (size_t i = thread->first; i < thread->end; i++)
            if (s->events[i].end_ns > last_ns) last_ns = s->events[i].end_ns;
    }
    return (host_outside){s->window.start_ns - first_ns, last_ns - s->window.end_ns};
}

/* T10 without steps. The time in which the GPU has nothing to do yet or any more is in no window: if the host
 * was recorded for long then, a reader must know. Other profilers record whole programs, with their start. */
static void judge_no_steps(const gt_schedule *s, gt_trust *trust)
{
    static const double notable = 0.25; /* of the window */
    char text[192] = "";
    if (!gt_trust_is_other(s)) {
        host_outside outside = find_outside(s);
        double ns = (double)outside.before_ns + (double)outside.after_ns;
        if (ns > notable * (double)(s->window.end_ns - s->window.start_ns))
            snprintf(text, sizeof text,
                     " The host was also recorded for %.2f ms before and %.2f ms after the window, in which "
                     "no GPU operation runs that it launched: that is not judged.",
                     (double)outside.before_ns / 1e6, (double)outside.after_ns / 1e6);
    }
    gt_trust_add(
        trust, "T10", 1, 0, GT_NO_LIMIT,
        "There are no steps with GPU work: times are those of the window, and nothing shows how they vary.%s",
        text);
}

/* T10: from the first op of a step to that of the next. */
static void judge_step_times(const gt_schedule *s, gt_trust *trust)
{
    if (!s->used_step_count) {
        judge_no_steps(s, trust);
        return;
    }
    if (s->used_step_count < STEPS_FOR_VARIATION) {
        gt_trust_add(trust, "T10", 1, 0, GT_NO_LIMIT,
                     "Only %zu %s with GPU work: step times have no average and cannot be compared.",
                     s->used_step_count, s->used_step_count == 1 ? "step" : "steps");
        return;
    }
    extremes times = {0};
    for (size_t i = 0; i + 1 < s->used_step_count; i++) extend(&times, step_time(s, i));
    double value = gt_trust_percent(times.most - times.least, times.least);
    gt_trust_add(trust, "T10", value, 15, GT_NO_LIMIT,
                 "The longest step takes %.0f%% more time than the shortest (%.2f and %.2f ms).", value,
                 times.most / 1e6, times.least / 1e6);
}

/* T11. */
static void judge_kernel_times(const gt_schedule *s, gt_trust *trust)
{
    if (s->used_step_count < 2) return;
    double *kernel_ns = gt_alloc_zero(s->step_count, sizeof *kernel_ns);
    for (size_t i = 0; i < s->op_count; i++)
        if (s->ops[i].step >= 0 && s->ops[i].kind == GT_KIND_KERNEL)
            kernel_ns[s->ops[i].step] += (double)gt_op_ns(&s->ops[i]);
    extremes times = {0};
    for (size_t i = 0; i < s->used_step_count; i++) extend(&times, kernel_ns[s->used_steps[i]]);
    gt_free(kernel_ns);
    double value = gt_trust_percent(times.most - times.least, times.least > 0 ? times.least : 1);
    gt_trust_add(trust, "T11", value, 8, GT_NO_LIMIT,
                 "Kernels take %.0f%% more time in one step than in another (%.2f and %.2f ms)%s", value,
                 times.most / 1e6, times.least / 1e6,
                 value > 8 ? ": the steps differ, or the GPU's clock changed (power or heat)." : ".");
}

void gt_trust_judge_steps(const gt_schedule *schedule, gt_trust *trust)
{
    judge_step_times(schedule, trust);
    judge_kernel_times(schedule, trust);
}
