/* Which part of the trace is judged? The steps of a server (analysis/serving) or of the profiler, what was
 * launched in each, and the window.
 *
 * From the first op of a step to that of the next everything happens once: that is how long a step takes.
 * With only one step there is no next one. The host goes on to the next step when its own step ends, and the
 * GPU when it has executed what the step launched, so a step takes as long as the longer of the two:
 *
 *     host     |<- load ->|<- launch ->|          |<--- load --->|<- launch, synchronise ->| log |
 *     GPU                   |AAAAAAAAAAAAAAAAAAA|                  |AAAAAAAAAAAAAAAAAAAA|
 *     window                |<-- as long as the host's step ... or ... the host's step -->|
 *
 * On the left the GPU ends after the host. So it did in the step before, and executed that one's ops when
 * this step began on the host: the window ends with the last op, and begins later than the step by as much.
 * If the trace shows ops of earlier steps, it does not begin before these have ended either. Two points where
 * the step begins and ends let the host's time at both ends count like any other. */
#include "findings/schedule/build.h"
#include "findings/schedule/names.h"

/* ---- processes ---- */

/* The process that launched most ops, and how many processes launched any. */
static void find_processes(gt_schedule *schedule)
{
    gt_map places = {0};
    uint32_t *processes = NULL, most = 0, last = GT_NONE; /* `last`: the thread of the point before */
    uint32_t at = 0;                                      /* the place of its process */
    size_t *launched = NULL, count = 0, capacity = 0, launched_capacity = 0;
    for (size_t i = 0; i < schedule->point_count; i++) {
        const gt_host_point *point = &schedule->points[i];
        if (!point->op_count) continue;
        if (point->thread != last) {
            uint32_t process = schedule->threads[point->thread].process;
            uint32_t *place = gt_map_put(&places, process, 0);
            if (*place == GT_MAP_NONE) {
                *place = (uint32_t)count;
                launched = gt_grow(launched, &launched_capacity, count + 1, sizeof *launched);
                launched[count] = 0;
                GT_PUSH(processes, count, capacity, process);
            }
            at = *place;
            last = point->thread;
        }
        launched[at] += point->op_count;
    }
    for (uint32_t i = 1; i < count; i++)
        if (launched[i] > launched[most]) most = i;
    schedule->process_count = count;
    schedule->main_process = count ? processes[most] : GT_STR_NONE;
    gt_free_all(processes, launched);
    gt_map_free(&places);
}

static bool is_of_main_process(const gt_schedule *schedule, uint32_t thread)
{
    return schedule->process_count < 2 || schedule->threads[thread].process == schedule->main_process;
}

/* ---- steps ---- */

GT_ORDER_BY(by_start, gt_step_times, GT_UP(start_ns) GT_UP(end_ns) GT_UP(name))

/* A step that was recorded twice, by two threads or two profilers, is one. */
static void join_equal_steps(gt_schedule *schedule)
{
    size_t count = 0;
    for (size_t i = 0; i < schedule->step_count; i++) {
        const gt_step_times *step = &schedule->steps[i];
        gt_step_times *last = count ? &schedule->steps[count - 1] : NULL;
        if (!last || step->name != last->name ||
            (step->start_ns >= last->end_ns && step->start_ns > last->start_ns))
            schedule->steps[count++] = *step;
        else if (step->end_ns > last->end_ns)
            last->end_ns = step->end_ns;
    }
    schedule->step_count = count;
}

/* By row of an annotation in the list: its host event. */
static gt_map events_of_annotations(const gt_schedule *schedule)
{
    gt_map events = {0};
    for (uint32_t i = 0; i < schedule->event_count; i++)
        if (schedule->events[i].kind == GT_KIND_ANNOTATION)
            *gt_map_put(&events, schedule->listed_rows ? schedule->op_count + i : schedule->events[i].row,
                        0) = i;
    return events;
}

static int64_t ns_of_listed(const gt_schedule *schedule, int64_t ns)
{
    if (schedule->listed_rows) return schedule->listed_ns + ns;
    return gt_schedule_ns(schedule, (double)(schedule->listed->base_ns + ns) / 1000);
}

static void take_listed_steps(gt_schedule *schedule)
{
    const gt_step_list *list = schedule->listed;
    gt_map events = events_of_annotations(schedule);
    size_t capacity = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const gt_listed_step *listed = &list->steps[i];
        uint32_t event = listed->is_inferred ? GT_MAP_NONE : gt_map_get(&events, listed->row, 0);
        if (!listed->is_inferred && event == GT_MAP_NONE) continue;
        if (event != GT_MAP_NONE && !is_of_main_process(schedule, gt_schedule_thread_of(schedule, event)))
            continue;
        gt_step_times step = {ns_of_listed(schedule, listed->host_start_ns),
                              ns_of_listed(schedule, listed->host_end_ns),
                              GT_NONE,
                              event == GT_MAP_NONE ? listed->name : schedule->events[event].name,
                              event,
                              i};
        GT_PUSH(schedule->steps, schedule->step_count, capacity, step);
    }
    gt_map_free(&events);
    if (schedule->step_count) qsort(schedule->steps, schedule->step_count, sizeof *schedule->steps, by_start);
}

/* Steps of several processes overlap in any way: those of the process that launches most count. */
static void find_steps(gt_schedule *schedule)
{
    size_t capacity = 0;
    if (schedule->listed) {
        take_listed_steps(schedule);
        return;
    }
    for (uint32_t t = 0; t < schedule->thread_count; t++) {
        const gt_host_thread *thread = &schedule->threads[t];
        if (!is_of_main_process(schedule, t)) continue;
        for (size_t i = thread->first; i < thread->end; i++) {
            const gt_host_event *event = &schedule->events[i];
            if (event->kind != GT_KIND_ANNOTATION || !gt_name_has(schedule, event->name, GT_NAME_STEP))
                continue;
            gt_step_times step = {event->start_ns, event->end_ns, GT_NONE, event->name, (uint32_t)i, GT_NONE};
            GT_PUSH(schedule->steps, schedule->step_count, capacity, step);
        }
    }
    if (schedule->step_count) qsort(schedule->steps, schedule->step_count, sizeof *schedule->steps, by_start);
    join_equal_steps(schedule);
}

/* A point belongs to the last step that began before it, unless that has ended. */
static void place_points(gt_schedule *schedule)
{
    size_t next = 0;
    for (size_t i = 0; i < schedule->point_count; i++) {
        gt_host_point *point = &schedule->points[i];
        while (next < schedule->step_count && schedule->steps[next].start_ns <= point->start_ns) next++;
        bool inside = next && point->start_ns < schedule->steps[next - 1].end_ns &&
                      is_of_main_process(schedule, point->thread);
        point->step = inside ? (int32_t)(next - 1) : -1;
    }
}

/* The list says which op belongs to which step. */
static void place_listed_ops(gt_schedule *schedule)
{
    const gt_step_list *list = schedule->listed;
    int32_t *places = gt_alloc(list->count * sizeof *places); /* by number in the list: the step here */
    for (size_t i = 0; i < list->count; i++) places[i] = -1;
    for (size_t i = 0; i < schedule->step_count; i++) places[schedule->steps[i].listed] = (int32_t)i;
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        uint32_t step = gt_step_list_of_row(list, schedule->listed_rows ? i : schedule->ops[i].row);
        schedule->ops[i].step = step == GT_OUTSIDE_STEPS ? -1 : places[step];
    }
    gt_free(places);
}

static void place_ops(gt_schedule *schedule)
{
    if (schedule->listed) {
        place_listed_ops(schedule);
        return;
    }
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        gt_gpu_op *op = &schedule->ops[i];
        if (op->point != GT_NONE) op->step = schedule->points[op->point].step;
    }
}

/* The stream with the most work launched in steps; GT_NONE if there is none. Collectives are no work here:
 * most of their time can be waiting for other ranks, and then each rank would have another main stream. */
static uint32_t main_stream(const gt_schedule *schedule)
{
    int64_t *busy_ns = gt_alloc_zero(schedule->stream_count, sizeof *busy_ns);
    uint32_t main = GT_NONE;
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (op->step < 0) continue;
        if (!op->communicates) busy_ns[op->stream] += gt_op_ns(op);
        if (main == GT_NONE) main = op->stream;
    }
    for (uint32_t stream = 0; stream < schedule->stream_count; stream++)
        if (main != GT_NONE && busy_ns[stream] > busy_ns[main]) main = stream;
    gt_free(busy_ns);
    return main;
}

/* Sets the first op of each step, among those of one stream (GT_NONE: of all). */
static void find_first_ops(gt_schedule *schedule, uint32_t stream)
{
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (op->step < 0 || (stream != GT_NONE && op->stream != stream)) continue;
        uint32_t *first = &schedule->steps[op->step].first_op;
        if (*first == GT_NONE) *first = i;
    }
}

/* A step begins with its first op on the main stream. The host runs ahead, so a copy of the next batch on a
 * side stream runs while the step before it still computes: its start says nothing about the step. If some
 * step has no work on the main stream, the first op of any stream counts for all of them. */
static void begin_steps(gt_schedule *schedule)
{
    uint32_t main = main_stream(schedule);
    bool everywhere = true;
    find_first_ops(schedule, main);
    for (size_t i = 0; i < schedule->op_count && everywhere; i++) {
        int32_t step = schedule->ops[i].step;
        everywhere = step < 0 || schedule->steps[step].first_op != GT_NONE;
    }
    if (everywhere) return;
    for (size_t k = 0; k < schedule->step_count; k++) schedule->steps[k].first_op = GT_NONE;
    find_first_ops(schedule, GT_NONE);
}

static void find_used_steps(gt_schedule *schedule)
{
    uint32_t before = GT_NONE; /* the last used step */
    schedule->used_steps = gt_alloc(schedule->step_count * sizeof *schedule->used_steps);
    for (uint32_t k = 0; k < schedule->step_count; k++) {
        uint32_t first = schedule->steps[k].first_op;
        if (first == GT_NONE) continue;
        bool later = before == GT_NONE ||
                     schedule->ops[first].start_ns > schedule->ops[schedule->steps[before].first_op].start_ns;
        if (!later) continue;
        schedule->used_steps[schedule->used_step_count++] = k;
        before = k;
    }
}

/* Whether an op counts if the trace has fewer than two steps with GPU work. */
static bool is_of_only_step(const gt_schedule *schedule, const gt_gpu_op *op)
{
    return gt_op_is_judged(schedule, op) &&
           (!schedule->used_step_count || op->step == (int32_t)schedule->used_steps[0]);
}

/* ---- the only step ---- */

static size_t points_before(const gt_schedule *schedule, int64_t ns)
{
    size_t count = 0;
    while (count < schedule->point_count && schedule->points[count].start_ns < ns) count++;
    return count;
}

/* Adds the points at which the only step begins and ends. */
static void add_step_points(gt_schedule *schedule)
{
    const gt_step_times *step = &schedule->steps[schedule->used_steps[0]];
    size_t count = schedule->point_count, enter = points_before(schedule, step->start_ns);
    size_t end = points_before(schedule, step->end_ns); /* both are places in the old points */
    gt_host_point *points = gt_alloc((count + 2) * sizeof *points), *old = schedule->points;
    gt_host_point border = {.event = step->event,
                            .thread = gt_schedule_thread_of(schedule, step->event),
                            .awaited = GT_NONE,
                            .sync_site = GT_STR_NONE,
                            .step = (int32_t)schedule->used_steps[0],
                            .kind = GT_API_STEP};
    if (enter) memcpy(points, old, enter * sizeof *points);
    if (end > enter) memcpy(points + enter + 1, old + enter, (end - enter) * sizeof *points);
    if (count > end) memcpy(points + end + 2, old + end, (count - end) * sizeof *points);
    border.start_ns = border.end_ns = step->start_ns;
    points[enter] = border;
    border.start_ns = border.end_ns = step->end_ns;
    points[end + 1] = border;
    for (size_t i = 0; i < schedule->op_count; i++) {
        uint32_t *point = &schedule->ops[i].point;
        if (*point != GT_NONE) *point += (uint32_t)(*point >= enter) + (uint32_t)(*point >= end);
    }
    gt_free(old);
    schedule->points = points;
    schedule->point_count = count + 2;
    schedule->window.enter = (uint32_t)enter;
    schedule->window.leave = (uint32_t)end + 1;
    schedule->window.is_one_step = true;
}

/* Makes the window, which is from the first to the last op so far, as long as the step on the host, less the
 * time at its beginning in which the GPU executes earlier steps. */
static void lengthen_window(gt_schedule *schedule)
{
    const gt_step_times *step = &schedule->steps[schedule->used_steps[0]];
    gt_step_window *window = &schedule->window;
    int64_t start_ns = step->start_ns, end_ns = step->end_ns, skipped_ns = 0;
    if (window->end_ns > end_ns) start_ns += window->end_ns - end_ns;
    for (uint32_t i = 0; i < window->first_op; i++) {
        int64_t earlier_ns = schedule->ops[i].end_ns; /* of an earlier step: the window has all of this one */
        if (earlier_ns <= start_ns) continue;
        skipped_ns += earlier_ns - start_ns;
        start_ns = earlier_ns;
    }
    window->host_start_ns = step->start_ns + skipped_ns;
    window->host_end_ns = step->end_ns;
    if (start_ns < window->start_ns) window->start_ns = start_ns;
    if (end_ns > window->end_ns) window->end_ns = end_ns;
}

/* ---- the window ---- */

static void set_window(gt_schedule *schedule)
{
    gt_step_window *window = &schedule->window;
    *window = (gt_step_window){.first_op = GT_NONE, .end_op = GT_NONE, .steps = 1};
    if (schedule->used_step_count >= 2) {
        window->first_op = schedule->steps[schedule->used_steps[0]].first_op;
        window->end_op = schedule->steps[schedule->used_steps[schedule->used_step_count - 1]].first_op;
        window->start_ns = schedule->ops[window->first_op].start_ns;
        window->end_ns = schedule->ops[window->end_op].start_ns;
        /* Those without GPU work in between count: the window has their time, too. */
        window->steps = schedule->used_steps[schedule->used_step_count - 1] - schedule->used_steps[0];
        window->host_start_ns = schedule->steps[schedule->used_steps[0]].start_ns;
        window->host_end_ns = schedule->steps[schedule->used_steps[schedule->used_step_count - 1]].start_ns;
        return;
    }
    bool any = false;
    for (size_t i = 0; i < schedule->op_count && !any; i++)
        any = is_of_only_step(schedule, &schedule->ops[i]);
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (any && !is_of_only_step(schedule, op)) continue;
        if (window->first_op == GT_NONE) {
            window->first_op = i;
            window->start_ns = op->start_ns;
        }
        if (op->end_ns > window->end_ns) window->end_ns = op->end_ns;
    }
    if (!schedule->used_step_count) return;
    if (schedule->steps[schedule->used_steps[0]].event == GT_NONE) return;
    add_step_points(schedule);
    lengthen_window(schedule);
}

void gt_build_steps(gt_schedule *schedule)
{
    find_processes(schedule);
    find_steps(schedule);
    place_points(schedule);
    place_ops(schedule);
    begin_steps(schedule);
    find_used_steps(schedule);
    set_window(schedule);
}
