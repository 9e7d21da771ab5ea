/* What did recording itself cost the host?
 *
 * The profiler runs on the host: each recorded op and Python function delays the program. How much differs by
 * a factor of two between machines, so the trace itself tells:
 *   - a Python function: the usual distance of two built-in functions called one after the other that hardly
 *     do anything;
 *   - an op: the time that an op adds around aten::as_strided, which only changes metadata.
 * Most of that is the profiler. The events that start in the host time before a point then tell how much of
 * it would remain without recording. */
#include "findings/schedule/build.h"

#include "findings/schedule/names.h"
#include "table/stats.h"

/* The 10th percentile of the samples is taken, at most the largest cost, and of it PROFILER_SHARE; with few
 * samples the default. */
enum { SAMPLES_MIN = 20 };
static const double PROFILER_SHARE = 1.10;
static const double PYTHON_COST_MAX_NS = 2000, PYTHON_COST_DEFAULT_NS = 500;
static const double OP_COST_MAX_NS = 4000, OP_COST_DEFAULT_NS = 1000;
enum { SHORT_NS = 1000 }; /* Python functions shorter than this are samples */
/* The least share of host time before a point, and of a call, that remains. */
static const double LEAST_BEFORE = 0.3, LEAST_OWN = 0.5;

/* ---- the cost of one event ---- */

typedef struct samples {
    double *values;
    size_t count, capacity;
} samples;

static double cost_of(samples *list, double most, double otherwise)
{
    double cost = otherwise;
    if (list->count >= SAMPLES_MIN) {
        cost = gt_select(list->values, list->count, list->count / 10);
        cost = (cost < most ? cost : most) * PROFILER_SHARE;
    }
    gt_free(list->values);
    return cost;
}

static bool is_built_in(const gt_schedule *schedule, const gt_host_event *event)
{
    return event->kind == GT_KIND_PYTHON && gt_name_has(schedule, event->name, GT_NAME_BUILT_IN);
}

/* Whether an event and the next one on its thread are built-in functions called one after the other, the
 * first of them short. */
static bool is_sample(const gt_schedule *schedule, const gt_host_event *event, const gt_host_event *next)
{
    return event->end_ns - event->start_ns < SHORT_NS && next->start_ns >= event->end_ns &&
           is_built_in(schedule, event) && is_built_in(schedule, next);
}

/* What the events of a trace tell about costs. */
typedef struct cost_samples {
    samples python, ops;
} cost_samples;

static void add_samples(cost_samples *found, const gt_schedule *schedule, const gt_host_event *event,
                        bool is_last)
{
    if (event->kind == GT_KIND_PYTHON) {
        if (!is_last && is_sample(schedule, event, event + 1))
            GT_PUSH(found->python.values, found->python.count, found->python.capacity,
                    (double)(event[1].start_ns - event->start_ns));
    } else if (event->kind == GT_KIND_CPU_OP && event->parent != GT_NONE &&
               gt_name_has(schedule, event->name, GT_NAME_AS_STRIDED)) {
        const gt_host_event *parent = &schedule->events[event->parent];
        if (parent->kind == GT_KIND_CPU_OP)
            GT_PUSH(found->ops.values, found->ops.count, found->ops.capacity,
                    (double)((parent->end_ns - parent->start_ns) - (event->end_ns - event->start_ns)));
    }
}

/* ---- the cost before each point ---- */

/* How many events start in the host time before each point. */
typedef struct event_counts {
    uint32_t python, other;
} event_counts;

/* The first point from `from` on that starts after `ns`, in steps that grow, so that a thread with few events
 * does not visit all points. */
static size_t first_point_after(const gt_schedule *schedule, size_t from, int64_t ns)
{
    const gt_host_point *points = schedule->points;
    size_t step = 1, low = from, high = from;
    while (high < schedule->point_count && points[high].start_ns <= ns) {
        low = high + 1;
        high += step;
        step *= 2;
    }
    if (high > schedule->point_count) high = schedule->point_count;
    size_t at;
    GT_BISECT(at, low, high, points[at].start_ns <= ns);
    return at;
}

/* One pass over the events of a thread: samples, and if the thread launches, the events before each point. */
static void look_at_thread(const gt_schedule *schedule, const gt_host_thread *thread, cost_samples *found,
                           event_counts *counts)
{
    size_t at = thread->launches ? 0 : schedule->point_count;
    int64_t until = at < schedule->point_count ? INT64_MIN : INT64_MAX; /* the host time before point `at` */
    int64_t since = INT64_MAX;
    for (size_t i = thread->first; i < thread->end; i++) {
        const gt_host_event *event = &schedule->events[i];
        add_samples(found, schedule, event, i + 1 == thread->end);
        if (event->start_ns >= until) {
            at = first_point_after(schedule, at, event->start_ns);
            bool is_after_all = at == schedule->point_count;
            until = is_after_all ? INT64_MAX : schedule->points[at].start_ns;
            since = is_after_all ? INT64_MAX : until - schedule->points[at].before_ns;
        }
        if (event->start_ns < since) continue;
        if (event->kind == GT_KIND_PYTHON)
            counts[at].python++;
        else
            counts[at].other++;
    }
}

static double profiler_time(const gt_schedule *schedule, const gt_host_point *point)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < point->piece_count; i++) {
        const gt_piece *piece = &schedule->pieces[point->first_piece + i];
        if (piece->label == GT_CAUSE_PROFILER) sum += piece->end_ns - piece->start_ns;
    }
    return (double)sum;
}

/* The share of `ns` that remains without `cost`. */
static double keep(double ns, double cost, double least)
{
    if (ns <= 0) return 1;
    double share = 1 - cost / ns;
    return share > least ? share : least;
}

void gt_build_overhead(gt_schedule *schedule)
{
    cost_samples found = {0};
    event_counts *counts = gt_alloc_zero(schedule->point_count, sizeof *counts);
    for (size_t i = 0; i < schedule->thread_count; i++)
        look_at_thread(schedule, &schedule->threads[i], &found, counts);
    schedule->python_cost_ns = cost_of(&found.python, PYTHON_COST_MAX_NS, PYTHON_COST_DEFAULT_NS);
    schedule->op_cost_ns = cost_of(&found.ops, OP_COST_MAX_NS, OP_COST_DEFAULT_NS);
    schedule->profiler_ns = schedule->host_ns = 0;
    for (size_t i = 0; i < schedule->point_count; i++) {
        gt_host_point *point = &schedule->points[i];
        double before = (double)point->before_ns, own = (double)point->own_ns;
        double cost = counts[i].python * schedule->python_cost_ns + counts[i].other * schedule->op_cost_ns;
        if (before > 0) cost += profiler_time(schedule, point);
        point->keep_before = keep(before, cost, LEAST_BEFORE);
        point->keep_own = keep(own, schedule->op_cost_ns, LEAST_OWN);
        if (!gt_window_has(&schedule->window, point->start_ns) && point->step < 0) continue;
        schedule->profiler_ns += before * (1 - point->keep_before) + own * (1 - point->keep_own);
        schedule->host_ns += before + own;
    }
    gt_free(counts);
}
