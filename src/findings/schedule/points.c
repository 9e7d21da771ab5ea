/* When does the host reach each point, how long does it wait there, and which calls take long because code is
 * used for the first time?
 *
 * The threads of the process are merged into one serial host. It is at the latest end of the points so far,
 * the cursor, and goes on from there:
 *
 *     thread 1   |launch A|           |synchronise, from its start_ns ...               ... to its end_ns|
 *     thread 2              |launch B, ends last|
 *     host       |--------|-|-------------------|<- base_ns of the synchronisation       own_ns|
 *                   own_ns ^ before_ns of B     |<------------- wait_ns: until C ends -->|<--->|
 *     GPU                                          |CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC|
 *
 * A call that may block waits for the op that ends last among those that were launched before the call and
 * have ended when it returns. A synchronisation that found the GPU idle waits for that op, too, though not
 * for any time: it would wait if the calls before it did not. A copy waits for itself, if it has ended by
 * then; one from pageable memory returns while it runs, because the call only feeds it, and can wait only
 * for its own stream. A launch waits for its own op, which then starts at once, or for room in a full queue:
 * then it returns soon after an op has ended, and others are left. One that still runs when nothing is left,
 * or long after the last end, takes the time for itself: it loads code or prepares a graph.
 *
 * If the host runs ahead, it may start to be recorded while the GPU still executes ops that the trace does
 * not have. Calls that take long in this time wait for these ops, because the queue is full. */
#include "findings/schedule/build.h"

/* A copy or a launch that takes longer than this may have waited: for its op, or for room in the queue. */
enum { COPY_BLOCKS_NS = 50000, LAUNCH_BLOCKS_NS = 100000 };
/* The GPU's clock and the host's may differ by this much when a call returns after an op. */
enum { CLOCK_ERROR_NS = 1000 };

/* Places the points one after the other. */
static void place_points(gt_schedule *schedule)
{
    int64_t cursor = schedule->point_count ? schedule->points[0].start_ns : 0;
    for (size_t i = 0; i < schedule->point_count; i++) {
        gt_host_point *point = &schedule->points[i];
        point->before_ns = point->start_ns > cursor ? point->start_ns - cursor : 0;
        point->base_ns = point->start_ns > cursor ? point->start_ns : cursor;
        point->own_ns = point->end_ns > point->base_ns ? point->end_ns - point->base_ns : 0;
        point->wait_ns = 0;
        point->awaited = GT_NONE;
        if (point->end_ns > cursor) cursor = point->end_ns;
    }
}

/* Whether a placed point may have waited. */
static bool may_wait(const gt_host_point *point)
{
    switch (point->kind) {
    case GT_API_SYNC:
    case GT_API_FREE:
        return point->own_ns > 0;
    case GT_API_COPY:
        return point->own_ns > COPY_BLOCKS_NS;
    case GT_API_LAUNCH:
        return point->own_ns > LAUNCH_BLOCKS_NS;
    default:
        return false;
    }
}

static bool any_may_wait(const gt_schedule *schedule)
{
    for (size_t i = 0; i < schedule->point_count; i++)
        if (may_wait(&schedule->points[i])) return true;
    return false;
}

/* The ops in the order of their ends, from which those that start too late are removed one by one.
 * Each entry of `at_or_before` leads to the last op that is left at or before it (1 + its place; 0: none), as
 * in a disjoint-set forest, so that all searches together take about linear time. */
typedef struct ends {
    uint32_t *ops;
    int64_t *end_ns;
    uint32_t *place_of_op;
    uint32_t *at_or_before; /* entry 0 stands for "none" */
    size_t count;
} ends;

static ends ends_new(const gt_schedule *schedule)
{
    size_t count = schedule->op_count;
    ends list = {.ops = gt_alloc(count * sizeof *list.ops),
                 .end_ns = gt_alloc(count * sizeof *list.end_ns),
                 .place_of_op = gt_alloc(count * sizeof *list.place_of_op),
                 .at_or_before = gt_alloc((count + 1) * sizeof *list.at_or_before),
                 .count = count};
    double *times = gt_alloc(count * sizeof *times);
    for (size_t i = 0; i < count; i++) {
        times[i] = (double)schedule->ops[i].end_ns;
        list.ops[i] = (uint32_t)i;
    }
    gt_order_rows(list.ops, count, times);
    gt_free(times);
    list.at_or_before[0] = 0;
    for (size_t i = 0; i < count; i++) {
        list.end_ns[i] = schedule->ops[list.ops[i]].end_ns;
        list.place_of_op[list.ops[i]] = (uint32_t)i;
        /* Nobody waits for the ops of threads in the background, wherever they happen to end. */
        list.at_or_before[i + 1] = (uint32_t)i + !schedule->ops[list.ops[i]].in_background;
    }
    return list;
}

static void ends_free(ends *list)
{
    gt_free_all(list->ops, list->end_ns, list->place_of_op, list->at_or_before);
}

static void ends_remove(ends *list, uint32_t op)
{
    uint32_t place = list->place_of_op[op];
    if (list->at_or_before[place + 1] == place + 1) list->at_or_before[place + 1] = place;
}

/* The op that is left with the largest end not after `ns`; GT_NONE. */
static uint32_t ends_find(ends *list, int64_t ns)
{
    size_t low;
    GT_BISECT(low, 0, list->count, list->end_ns[low] <= ns);
    uint32_t at = (uint32_t)low, *next = list->at_or_before;
    while (next[at] != at) {
        next[at] = next[next[at]]; /* shortens the way for later searches */
        at = next[at];
    }
    return at == 0 ? GT_NONE : list->ops[at - 1];
}

static void link_streams(gt_schedule *schedule)
{
    uint32_t *last = gt_no_events(schedule->stream_count);
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        schedule->ops[i].previous = last[schedule->ops[i].stream];
        last[schedule->ops[i].stream] = i;
    }
    gt_free(last);
}

/* The op that a copy waited for, if the copy itself tells: sets *op, which may be GT_NONE. */
static bool find_awaited_by_copy(const gt_schedule *schedule, const gt_host_point *point, uint32_t *op)
{
    if (point->kind != GT_API_COPY || !point->op_count) return false;
    uint32_t own = schedule->point_ops[point->first_op];
    const gt_gpu_op *copy = &schedule->ops[own];
    if (copy->end_ns <= point->end_ns + CLOCK_ERROR_NS)
        *op = own;
    else if (copy->start_ns < point->end_ns)
        *op = copy->previous;
    else
        return false;
    return true;
}

static void set_wait(const gt_schedule *schedule, gt_host_point *point, uint32_t op)
{
    if (op == GT_NONE) return;
    int64_t until = schedule->ops[op].end_ns < point->end_ns ? schedule->ops[op].end_ns : point->end_ns;
    bool waits = until > point->base_ns;
    if (!waits && point->kind != GT_API_SYNC && point->kind != GT_API_FREE) return;
    point->awaited = op;
    point->wait_ns = waits ? until - point->base_ns : 0;
    point->own_ns -= point->wait_ns;
}

/* Removes the ops of a point. Returns whether all of them had ended by `ns`. */
static bool remove_own(const gt_schedule *schedule, uint32_t point_index, ends *left, int64_t ns)
{
    const gt_host_point *point = &schedule->points[point_index];
    bool all_ended = true;
    for (uint32_t k = 0; k < point->op_count; k++) {
        uint32_t op = schedule->point_ops[point->first_op + k];
        if (schedule->ops[op].point != point_index) continue;
        ends_remove(left, op);
        all_ended &= schedule->ops[op].end_ns <= ns;
    }
    return all_ended;
}

/* The op that a launch waited for; GT_NONE. Its own ops, if they all ended before it returned and did not
 * start late, or the op whose end made room in the queue, if others are left. */
static uint32_t find_awaited_by_launch(const gt_schedule *schedule, uint32_t point_index, ends *left)
{
    const gt_host_point *point = &schedule->points[point_index];
    const gt_gpu_op *ops = schedule->ops;
    int64_t returned_ns = point->end_ns + CLOCK_ERROR_NS;
    uint32_t ended = ends_find(left, returned_ns);
    if (ended == GT_NONE) return GT_NONE;
    bool own_ended = remove_own(schedule, point_index, left, returned_ns);
    uint32_t last = ends_find(left, INT64_MAX);
    if (ops[ended].point == point_index) {
        int64_t free_ns = point->base_ns;
        if (last != GT_NONE && ops[last].end_ns > free_ns) free_ns = ops[last].end_ns;
        int64_t start_ns = ops[schedule->point_ops[point->first_op]].start_ns;
        if (own_ended && start_ns - free_ns <= LAUNCH_BLOCKS_NS) return ended;
        ended = ends_find(left, returned_ns);
    }
    if (ended == GT_NONE || point->end_ns - ops[ended].end_ns > LAUNCH_BLOCKS_NS) return GT_NONE;
    return point->end_ns - ops[last].end_ns > GT_USUAL_GAP_NS ? GT_NONE : ended;
}

/* What each point waited for. Backwards, so that the ops launched after a point are gone when it is asked. */
static void find_waits(gt_schedule *schedule)
{
    ends left = ends_new(schedule);
    size_t launched = schedule->point_count; /* the ops of this point and those after it are removed */
    for (size_t i = schedule->point_count; i-- > 0;) {
        gt_host_point *point = &schedule->points[i];
        if (!may_wait(point)) continue;
        for (; launched > 0 && schedule->points[launched - 1].start_ns > point->start_ns; launched--) {
            const gt_host_point *later = &schedule->points[launched - 1];
            for (uint32_t k = 0; k < later->op_count; k++) {
                uint32_t op = schedule->point_ops[later->first_op + k];
                if (schedule->ops[op].point == launched - 1) ends_remove(&left, op);
            }
        }
        uint32_t op;
        if (point->kind == GT_API_LAUNCH)
            op = find_awaited_by_launch(schedule, (uint32_t)i, &left);
        else if (!find_awaited_by_copy(schedule, point, &op))
            op = ends_find(&left, point->end_ns + CLOCK_ERROR_NS);
        set_wait(schedule, point, op);
    }
    ends_free(&left);
}

/* How long a launch usually takes. */
static int64_t median_launch_ns(const gt_schedule *schedule)
{
    int64_t *own = gt_alloc(schedule->point_count * sizeof *own);
    size_t count = 0;
    for (size_t i = 0; i < schedule->point_count; i++)
        if (schedule->points[i].kind == GT_API_LAUNCH) own[count++] = schedule->points[i].own_ns;
    qsort(own, count, sizeof *own, gt_by_i64);
    int64_t median = count ? own[count / 2] : 0;
    gt_free(own);
    return median;
}

/* The waits for ops that are not in the trace. There are some if the first op of the trace was launched
 * before it began: then the GPU was busy before, too. */
static void find_unseen_waits(gt_schedule *schedule)
{
    if (schedule->ops[0].point != GT_NONE) return;
    int64_t usual_ns = -1;
    for (size_t i = 0; i < schedule->point_count; i++) {
        gt_host_point *point = &schedule->points[i];
        if (point->end_ns > schedule->ops[0].start_ns) break;
        if (!may_wait(point)) continue;
        if (usual_ns < 0) usual_ns = median_launch_ns(schedule);
        if (point->own_ns <= usual_ns) continue;
        point->wait_ns = point->own_ns - usual_ns;
        point->own_ns = usual_ns;
    }
}

void gt_build_points(gt_schedule *schedule)
{
    link_streams(schedule);
    place_points(schedule);
    if (schedule->op_count == 0 || !any_may_wait(schedule)) return;
    find_waits(schedule);
    find_unseen_waits(schedule);
}

/* ---- first use ---- */

/* Which calls take long because code is used for the first time?
 *
 * CUDA and HIP load a kernel's code when it is first launched, and HIP may compile it, so that this launch
 * takes milliseconds instead of microseconds. Launches that take long without waiting are such calls, and
 * those that load modules. But code is loaded once: if launches of the same kernel take long again and again,
 * in most steps or most of the times, each launch is slow for another reason. What is launched is known by
 * the first op: a graph by its first kernel.
 *
 * Linear in points, and nothing to do without long launches. */

/* Long launches that occur in more than half of the steps, but at least in so many, or that are more than
 * half of all launches of a kernel, but at least so many. */
enum { REPEATED_STEPS = 2, REPEATED_LAUNCHES = 3 };

/* The launches of one kernel. */
typedef struct launch_counts {
    uint32_t launches, long_launches;
    uint32_t steps;      /* with long launches */
    uint32_t after_step; /* 1 + the last of them; 0: none */
} launch_counts;

static bool is_long_launch(const gt_host_point *point)
{
    return point->kind == GT_API_LAUNCH && point->wait_ns == 0 &&
           point->end_ns - point->start_ns > GT_LONG_LAUNCH_NS && !(point->flags & GT_POINT_HELD);
}

/* The name of what a launch launches; its own, if that was not recorded. */
static uint32_t launched_name(const gt_schedule *schedule, const gt_host_point *point)
{
    if (!point->op_count) return schedule->events[point->event].name;
    return schedule->ops[schedule->point_ops[point->first_op]].name;
}

static void count_launch(launch_counts *kernel, const gt_host_point *point)
{
    kernel->launches++;
    if (!is_long_launch(point)) return;
    kernel->long_launches++;
    if (point->step < 0 || kernel->after_step == (uint32_t)point->step + 1) return;
    kernel->after_step = (uint32_t)point->step + 1; /* points are in order of time, and so are their steps */
    kernel->steps++;
}

static bool repeats(const launch_counts *kernel, size_t steps)
{
    if (kernel->steps >= REPEATED_STEPS && 2 * (size_t)kernel->steps > steps) return true;
    return kernel->long_launches >= REPEATED_LAUNCHES && kernel->long_launches > kernel->launches / 2;
}

/* Marks those of the long launches that are slow every time, and the others as first use. */
static void mark_long_launches(gt_schedule *schedule)
{
    launch_counts *kernels =
        gt_alloc_zero(gt_interner_count(schedule->strings), sizeof *kernels); /* by name */
    size_t steps = 0;
    int32_t step = -1;
    for (size_t i = 0; i < schedule->point_count; i++) {
        const gt_host_point *point = &schedule->points[i];
        if (point->kind != GT_API_LAUNCH) continue;
        count_launch(&kernels[launched_name(schedule, point)], point);
        if (point->step > step) {
            step = point->step;
            steps++;
        }
    }
    for (size_t i = 0; i < schedule->point_count; i++) {
        gt_host_point *point = &schedule->points[i];
        if (!is_long_launch(point)) continue;
        bool is_slow = repeats(&kernels[launched_name(schedule, point)], steps);
        point->flags |= is_slow ? GT_POINT_SLOW : GT_POINT_FIRST_USE;
    }
    gt_free(kernels);
}

/* A copy from pageable memory, and other calls, keep the driver to themselves: launches of other threads
 * wait. */
static void mark_held(gt_schedule *schedule)
{
    for (size_t i = 0; i < schedule->background_count; i++) {
        const gt_host_event *call = &schedule->events[schedule->background[i]];
        size_t p = gt_points_before(schedule, schedule->point_count, call->start_ns);
        for (; p < schedule->point_count && schedule->points[p].start_ns < call->end_ns; p++) {
            gt_host_point *point = &schedule->points[p];
            int64_t until = point->end_ns < call->end_ns ? point->end_ns : call->end_ns;
            if (is_long_launch(point) && 2 * (until - point->start_ns) >= point->end_ns - point->start_ns)
                point->flags |= GT_POINT_HELD;
        }
    }
}

void gt_build_first_use(gt_schedule *schedule)
{
    bool any_long = false;
    mark_held(schedule);
    for (size_t i = 0; i < schedule->point_count; i++) {
        gt_host_point *point = &schedule->points[i];
        if (point->kind == GT_API_MODULE) point->flags |= GT_POINT_FIRST_USE;
        any_long |= is_long_launch(point);
    }
    if (any_long) mark_long_launches(schedule);
}
