/* Do the clocks of host and GPU agree?
 *
 * Profilers convert the GPU's times to the host's clock, and may be off by tens of microseconds. Two things
 * cannot happen: an op does not start before its call, and a synchronisation does not return before the op
 * that it waits for has ended. And on an idle GPU an op starts a few microseconds after its call, nearly
 * always the same time:
 *
 *     host            |launch|                    |synchronise      |
 *     GPU, 50 us early  |op|  <- before its call                 |op|
 *     GPU, 50 us late                            |op|                  |op|  <- ends after the return
 *
 * So where the GPU was idle, the time from call to start tells the difference, if it is impossible
 * (negative), if synchronisations say the same, or if it is long and always equal. The later clock stays as
 * it is and the other one's times are moved on, so that no time is before 0. A difference of more than
 * MOST_NS is damage that one number does not repair: then nothing is moved, and check T5 fails. */
#include "findings/schedule/build.h"

#include "findings/schedule/names.h"
#include "table/stats.h"

enum { LEAST_NS = 15000, MOST_NS = 400000 }; /* a difference that counts */
enum { IDLE_NS = 3000 };                     /* without work before the op */
enum { LAUNCH_NS = 7000, RETURN_NS = 5000 }; /* usual times from call to start, and from end to return */
enum { BLOCKS_NS = 50000 };                  /* a copying call that takes longer has waited */
enum { EQUAL_NS = 10000, EQUAL_MIN = 50 };   /* how much so many delays of one kind differ */
enum { LONG_NS = 45000 };                    /* no GPU takes so long each time */

typedef struct delays {
    double *ns;
    size_t count;
} delays;

/* From call to start, of ops that found the GPU idle. Only the first op of a graph starts with its call. */
static delays find_starts(const gt_schedule *s)
{
    delays found = {gt_alloc(s->op_count * sizeof *found.ns), 0};
    int64_t busy_ns = INT64_MIN;
    for (size_t i = 0; i < s->op_count; i++) { /* sorted by start */
        const gt_gpu_op *op = &s->ops[i];
        bool is_idle = busy_ns == INT64_MIN || op->start_ns - busy_ns > IDLE_NS;
        if (is_idle && op->point != GT_NONE && s->points[op->point].op_count == 1)
            found.ns[found.count++] = (double)(op->start_ns - s->points[op->point].start_ns);
        if (op->end_ns > busy_ns) busy_ns = op->end_ns;
    }
    return found;
}

/* Whether a call waits for its own copy, which goes to pageable memory. */
static bool waits_for_own(const gt_schedule *s, const gt_host_point *point)
{
    if (point->kind != GT_API_COPY || !point->op_count || point->end_ns - point->start_ns < BLOCKS_NS)
        return false;
    uint32_t name = s->ops[s->point_ops[point->first_op]].name;
    return gt_name_has(s, name, GT_NAME_TO_HOST) && gt_name_has(s, name, GT_NAME_PAGEABLE);
}

/* Whether a call waits for the op that was launched last before it: for all of the device, or for the copy
 * right before it. */
static bool waits_for_last(const gt_schedule *s, const gt_host_point *point, const gt_host_point *last)
{
    gt_str name = gt_interner_get(s->strings, s->events[point->event].name);
    if (point->kind != GT_API_SYNC || last->thread != point->thread || !last->op_count) return false;
    if (gt_str_contains(name, "DeviceSynchronize")) return true;
    return last->kind == GT_API_COPY && gt_str_contains(name, "StreamSynchronize");
}

/* From the end of an op to the return of the call that waits for it. */
static delays find_returns(const gt_schedule *s)
{
    delays found = {gt_alloc(s->point_count * sizeof *found.ns), 0};
    for (size_t i = 1; i < s->point_count; i++) {
        const gt_host_point *point = &s->points[i], *last = point - 1;
        if (waits_for_own(s, point))
            last = point;
        else if (!waits_for_last(s, point, last))
            continue;
        const gt_gpu_op *op = &s->ops[s->point_ops[last->first_op + last->op_count - 1]];
        found.ns[found.count++] = (double)(point->end_ns - op->end_ns);
    }
    return found;
}

/* How much later the GPU's clock is than the host's; 0: they agree, or nothing can be said. */
static double find_difference(delays starts, delays returns)
{
    double start_ns = starts.count ? gt_select(starts.ns, starts.count, starts.count / 10) : 0;
    double middle_ns = starts.count ? gt_select(starts.ns, starts.count, starts.count / 2) : 0;
    double return_ns = returns.count ? gt_select(returns.ns, returns.count, returns.count / 10) : 0;
    bool is_equal = starts.count >= EQUAL_MIN && middle_ns - start_ns < EQUAL_NS;
    if (starts.count && start_ns < 0) return start_ns - LAUNCH_NS;
    if (is_equal && start_ns > LONG_NS) return start_ns - LAUNCH_NS;
    if (!(return_ns < 0)) return 0;
    return starts.count && start_ns < RETURN_NS - return_ns ? start_ns - LAUNCH_NS : RETURN_NS - return_ns;
}

static void move_host(gt_schedule *s, int64_t ns)
{
    for (size_t i = 0; i < s->event_count; i++) {
        s->events[i].start_ns += ns;
        s->events[i].end_ns += ns;
    }
    for (size_t i = 0; i < s->point_count; i++) {
        s->points[i].start_ns += ns;
        s->points[i].end_ns += ns;
    }
}

static void move_gpu(gt_schedule *s, int64_t ns)
{
    for (size_t i = 0; i < s->op_count; i++) {
        s->ops[i].start_ns += ns;
        s->ops[i].end_ns += ns;
        s->ops[i].offset_ns += ns;
    }
}

void gt_build_clocks(gt_schedule *s)
{
    if (s->listed || !s->op_count) return;
    delays starts = find_starts(s), returns = find_returns(s);
    double ns = find_difference(starts, returns);
    gt_free_all(starts.ns, returns.ns);
    bool is_far = s->ops[s->op_count - 1].start_ns >= s->limit_ns / 2;
    if (fabs(ns) < LEAST_NS || fabs(ns) > MOST_NS || is_far) return;
    s->clock_ns = (int64_t)ns;
    if (ns > 0)
        move_host(s, s->clock_ns);
    else
        move_gpu(s, -s->clock_ns);
}
