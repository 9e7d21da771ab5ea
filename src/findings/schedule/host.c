/* What does the host do? Its events, thread by thread, each with the innermost one around it, and the points:
 * calls that launch or wait.
 *
 * The events of a thread come from two sources, the rows of the trace and its frames (Python functions that
 * are no rows), each nearly in order of time. Both are sorted and merged; then one pass with a stack finds
 * everything else:
 *
 *     train.py(7): step          |--------------------------------|
 *     aten::linear                  |------------------|
 *     cudaLaunchKernel                    |-----|                      parent: aten::linear
 *
 * An event inherits what its parent belongs to (GT_HOST_ bits) when it is pushed, and adds its launches to
 * its parent's when it is popped. An event that ends after its parent is cut there, except for annotations,
 * which programs may end where they like.
 *
 * A CPU op is heavy if it launches nothing, is no metadata op and computes 200 us itself. Calling a metadata
 * op takes time, too, which is none of computing: an op that only cuts tensors into many views is not heavy.
 * The outermost op around a heavy one that launches nothing counts as heavy, too, with all inside. */
#include "findings/schedule/build.h"
#include "findings/schedule/launch_ids.h"
#include "findings/schedule/names.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/team.h"
#include "trace/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t HEAVY_OP_NS = 200000;
static const int64_t VIEW_CALL_NS = 20000; /* calling a metadata op, at most: 11 us with the profiler */
static const int64_t LONG_COPY_NS = 50000; /* a copy call without its copy counts if it is longer */

/* A call that becomes a point. */
typedef struct call_found {
    uint32_t event;
    uint32_t slot;    /* of its ops; GT_NO_SLOT */
    uint32_t host_op; /* the nearest cpu_op around it; GT_NONE */
    uint32_t thread;
} call_found;

/* The events of one thread: rows and indexes of frames, each in order. */
typedef struct thread_source {
    uint32_t *rows, *frames;
    uint32_t row_count, frame_count;
    call_found *calls;
    size_t call_count, call_capacity;
} thread_source;

typedef struct host_builder {
    gt_schedule *schedule;
    const gt_event_view *trace;
    gt_frames frames; /* none if Python functions are rows */
    gt_launch_ids launches;
    gt_map thread_ids;      /* from (process, thread) to the index of the thread */
    thread_source *sources; /* by thread */
    size_t source_capacity, thread_capacity;
    uint32_t *row_thread, *frame_thread; /* by row and by frame; GT_NONE: it does not count */
    uint32_t *row_list, *frame_list;     /* what sources point to. Those of frames are arrays of `frames` */
    uint32_t last_process, last_thread, last_index; /* of the event before, often the same */
} host_builder;

/* ---- threads ---- */

static uint32_t look_up_thread(host_builder *b, uint32_t process, uint32_t thread)
{
    gt_schedule *schedule = b->schedule;
    uint32_t *index = gt_map_put(&b->thread_ids, process, thread);
    if (*index == GT_MAP_NONE) {
        *index = (uint32_t)schedule->thread_count;
        size_t count = schedule->thread_count;
        GT_PUSH(b->sources, count, b->source_capacity, (thread_source){0});
        GT_PUSH(schedule->threads, schedule->thread_count, b->thread_capacity,
                ((gt_host_thread){.process = process, .thread = thread}));
    }
    b->last_process = process;
    b->last_thread = thread;
    return b->last_index = *index;
}

static inline uint32_t thread_of(host_builder *b, uint32_t process, uint32_t thread)
{
    bool is_last = b->last_index != GT_NONE && b->last_process == process && b->last_thread == thread;
    return is_last ? b->last_index : look_up_thread(b, process, thread);
}

static bool row_counts(const host_builder *b, uint32_t row)
{
    const gt_event_view *trace = b->trace;
    return (gt_kind_is_host(trace->kind[row]) || trace->kind[row] == GT_KIND_ANNOTATION) &&
           isfinite(trace->start_us[row]) && gt_launch_ids_counts(&b->launches, row);
}

static bool frame_counts(const host_builder *b, size_t frame)
{
    return isfinite(b->frames.start_us[frame]) &&
           (!b->launches.is_used || b->launches.is_used[b->frames.process[frame]]);
}

/* Finds the thread of each event. Threads are numbered in the order of the file. */
static void find_threads(host_builder *b)
{
    const gt_event_view *trace = b->trace;
    size_t rows = trace->recorded, frames = b->frames.count;
    b->row_thread = gt_alloc(rows * sizeof *b->row_thread);
    b->frame_thread = b->frames.thread; /* what is written replaces what was read */
    b->last_index = GT_NONE;
    for (size_t row = 0, frame = 0; row < rows || frame < frames;) {
        if (frame == frames || (row < rows && trace->uid[row] < b->frames.uid[frame])) {
            uint32_t thread = GT_NONE;
            if (row_counts(b, (uint32_t)row)) {
                thread = thread_of(b, trace->process[row], trace->thread[row]);
                b->sources[thread].row_count++;
            }
            b->row_thread[row++] = thread;
        } else {
            uint32_t thread = GT_NONE;
            if (frame_counts(b, frame)) {
                thread = thread_of(b, b->frames.process[frame], b->frames.thread[frame]);
                b->sources[thread].frame_count++;
            }
            b->frame_thread[frame++] = thread;
        }
    }
}

/* Lists the rows and frames of each thread. */
static void list_events(host_builder *b)
{
    gt_schedule *schedule = b->schedule;
    size_t rows = 0, frames = 0;
    for (size_t t = 0; t < schedule->thread_count; t++) {
        rows += b->sources[t].row_count;
        frames += b->sources[t].frame_count;
    }
    b->row_list = gt_alloc(rows * sizeof *b->row_list);
    b->frame_list = b->frames.process; /* no longer needed */
    schedule->event_count = rows + frames;
    schedule->events = gt_alloc(schedule->event_count * sizeof *schedule->events);
    rows = frames = 0;
    for (size_t t = 0; t < schedule->thread_count; t++) {
        thread_source *source = &b->sources[t];
        schedule->threads[t].first = schedule->threads[t].end = (uint32_t)(rows + frames);
        source->rows = b->row_list + rows;
        source->frames = b->frame_list ? b->frame_list + frames : NULL;
        rows += source->row_count;
        frames += source->frame_count;
        source->row_count = source->frame_count = 0; /* counted again below */
    }
    for (size_t row = 0; row < b->trace->recorded; row++) {
        if (b->row_thread[row] == GT_NONE) continue;
        thread_source *source = &b->sources[b->row_thread[row]];
        source->rows[source->row_count++] = (uint32_t)row;
    }
    for (size_t frame = 0; frame < b->frames.count; frame++) {
        if (b->frame_thread[frame] == GT_NONE) continue;
        thread_source *source = &b->sources[b->frame_thread[frame]];
        source->frames[source->frame_count++] = (uint32_t)frame;
    }
}

/* ---- order ---- */

typedef struct tied_event {
    double dur_us;
    uint32_t index;
} tied_event;

static int by_duration(const void *left, const void *right)
{
    const tied_event *a = left, *b = right;
    if (a->dur_us != b->dur_us) return a->dur_us > b->dur_us ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Of events that start at the same time, longer ones come first. */
static void order_tied(uint32_t *list, size_t count, const double *dur_us)
{
    tied_event *tied = gt_alloc(count * sizeof *tied);
    for (size_t i = 0; i < count; i++)
        tied[i] = (tied_event){isfinite(dur_us[list[i]]) ? dur_us[list[i]] : 0, list[i]};
    qsort(tied, count, sizeof *tied, by_duration);
    for (size_t i = 0; i < count; i++) list[i] = tied[i].index;
    gt_free(tied);
}

static void order_events(uint32_t *list, size_t count, const double *start_us, const double *dur_us)
{
    gt_order_rows(list, count, start_us);
    for (size_t i = 0; i + 1 < count; i++) {
        if (start_us[list[i]] != start_us[list[i + 1]]) continue;
        size_t end = i + 2;
        bool in_order = dur_us[list[i]] >= dur_us[list[i + 1]];
        for (; end < count && start_us[list[end]] == start_us[list[i]]; end++)
            in_order &= dur_us[list[end - 1]] >= dur_us[list[end]];
        if (!in_order) order_tied(list + i, end - i, dur_us);
        i = end - 1;
    }
}

/* ---- one thread ---- */

/* An event that has begun and not ended, with what those inside it need: few events touch another one of the
 * array, which is much larger than the cache. */
typedef struct open_event {
    int64_t end_ns;
    int64_t children_ns; /* duration of the events directly inside, and of calling metadata ops */
    uint32_t event;
    uint32_t host_op;  /* the innermost cpu_op that is open, itself included; GT_NONE */
    uint32_t launches; /* itself, and of its events inside so far */
    uint8_t kind, flags;
} open_event;

typedef struct thread_walk {
    host_builder *b;
    thread_source *source;
    gt_host_event *events; /* of the schedule */
    open_event *open;
    size_t depth, capacity;
    uint32_t thread;
    uint32_t *heavy; /* ops that compute for long themselves */
    size_t heavy_count, heavy_capacity;
} thread_walk;

static inline void close_event(thread_walk *w)
{
    const open_event *open = &w->open[--w->depth];
    gt_host_event *event = &w->events[open->event];
    if (open->launches) {
        event->launches = (uint16_t)(open->launches < GT_LAUNCHES_MAX ? open->launches : GT_LAUNCHES_MAX);
        if (w->depth) w->open[w->depth - 1].launches += open->launches;
    } else if (open->kind == GT_KIND_CPU_OP &&
               event->end_ns - event->start_ns - open->children_ns >= HEAVY_OP_NS &&
               !gt_name_has(w->b->schedule, event->name, GT_NAME_NO_WORK)) {
        GT_PUSH(w->heavy, w->heavy_count, w->heavy_capacity, open->event);
    }
}

gt_api_kind gt_kind_of_call(const gt_schedule *schedule, uint32_t name, int64_t dur_ns, uint32_t first_op)
{
    uint64_t bits = schedule->name_bits[name];
    if (bits & GT_NAME_SYNC) return GT_API_SYNC;
    if (bits & GT_NAME_FREE) return GT_API_FREE;
    if (bits & GT_NAME_ALLOC) return GT_API_ALLOC;
    if (first_op != GT_NONE)
        return schedule->ops[first_op].kind == GT_KIND_MEMCPY ? GT_API_COPY : GT_API_LAUNCH;
    if (bits & GT_NAME_COPY && dur_ns > LONG_COPY_NS) return GT_API_COPY;
    return bits & GT_NAME_MODULE ? GT_API_MODULE : GT_API_NONE;
}

static void read_call(thread_walk *w, gt_host_event *event, uint32_t host_op)
{
    const gt_launch_ids *launches = &w->b->launches;
    uint32_t slot = gt_launch_ids_slot(launches, event->row);
    const gt_schedule *schedule = w->b->schedule;
    uint32_t first_op = slot == GT_NO_SLOT ? GT_NONE : schedule->point_ops[launches->first_op[slot]];
    event->call = gt_kind_of_call(schedule, event->name, event->end_ns - event->start_ns, first_op) & 15u;
    if (event->call == GT_API_NONE) return;
    call_found call = {(uint32_t)(event - w->events), slot, host_op, w->thread};
    GT_PUSH(w->source->calls, w->source->call_count, w->source->call_capacity, call);
}

/* The bits of an event that is no call, besides those of its parent. */
static uint8_t own_flags(const gt_schedule *schedule, const gt_host_event *event)
{
    uint64_t bits = schedule->name_bits[event->name];
    uint8_t flags = bits & GT_NAME_RECOMPUTE ? GT_HOST_RECOMPUTE : 0;
    if (event->kind != GT_KIND_CPU_OP)
        return (uint8_t)(flags | (bits & GT_NAME_DATA ? GT_HOST_DATA : 0) |
                         (bits & GT_NAME_OPTIMIZER ? GT_HOST_OPTIMIZER : 0));
    if (bits & GT_NAME_BACKWARD) flags |= GT_HOST_BACKWARD;
    if (bits & GT_NAME_FORWARD_ONLY && event->flags & GT_HOST_BACKWARD) flags |= GT_HOST_RECOMPUTE;
    return flags;
}

/* Adds the event's own bits to those of its parent. Reentrant checkpointing runs the backward pass of a
 * part of the model inside the node that repeats its forward pass: nothing is repeated there. */
static void read_flags(const gt_schedule *schedule, gt_host_event *event)
{
    uint8_t own = own_flags(schedule, event);
    if (own & GT_HOST_BACKWARD) event->flags &= (uint8_t)~GT_HOST_RECOMPUTE;
    event->flags |= own;
}

/* Whether the innermost open event ends before the next one. Traces have rounded times, so an event can seem
 * to begin one or two nanoseconds before the end of its predecessor: it is not a part of it. */
static inline bool is_over(thread_walk *w, const gt_host_event *next)
{
    enum { ROUNDING_NS = 2 };
    open_event *open = &w->open[w->depth - 1];
    if (open->end_ns <= next->start_ns) return true;
    if (open->end_ns > next->start_ns + ROUNDING_NS || next->end_ns <= open->end_ns) return false;
    if (w->depth > 1) open[-1].children_ns -= open->end_ns - next->start_ns;
    open->end_ns = next->start_ns; /* not before its start: events come in order of starts */
    w->events[open->event].end_ns = next->start_ns;
    return true;
}

/* Takes from the event around an event what holds for both, and adds to it what the event takes. */
static inline void enter(const thread_walk *w, gt_host_event *event)
{
    event->parent = GT_NONE;
    if (!w->depth) return;
    open_event *around = &w->open[w->depth - 1];
    event->parent = around->event;
    event->flags = around->flags;
    if (event->end_ns > around->end_ns && event->kind != GT_KIND_ANNOTATION) event->end_ns = around->end_ns;
    around->children_ns += event->end_ns - event->start_ns;
    if (event->kind == GT_KIND_CPU_OP && gt_name_has(w->b->schedule, event->name, GT_NAME_NO_WORK))
        around->children_ns += VIEW_CALL_NS;
}

/* Adds the event, of which times, name, kind and row are known, and the rest is 0. */
static inline void open_next(thread_walk *w, gt_host_event *event)
{
    while (w->depth && is_over(w, event)) close_event(w);
    enter(w, event);
    if (w->depth == w->capacity) w->open = gt_grow(w->open, &w->capacity, w->depth + 1, sizeof *w->open);
    open_event *open = &w->open[w->depth++]; /* filled in place: copying it would wait for its parts */
    open->end_ns = event->end_ns;
    open->children_ns = 0;
    open->event = (uint32_t)(event - w->events);
    open->host_op = w->depth > 1 ? open[-1].host_op : GT_NONE;
    open->kind = event->kind;
    if (event->kind == GT_KIND_RUNTIME || event->kind == GT_KIND_DRIVER)
        read_call(w, event, open->host_op);
    else
        read_flags(w->b->schedule, event);
    open->flags = event->flags;
    open->launches = event->call == GT_API_LAUNCH || event->call == GT_API_COPY;
    if (event->kind == GT_KIND_CPU_OP) open->host_op = open->event;
}

/* The next event of a source: what decides which source comes first. */
typedef struct next_event {
    int64_t start_ns, end_ns;
    uint32_t index; /* row or frame */
} next_event;

static inline next_event next_row(const host_builder *b, uint32_t row)
{
    int64_t start_ns = gt_schedule_ns(b->schedule, b->trace->start_us[row]);
    return (next_event){start_ns, gt_schedule_end_ns(b->schedule, start_ns, b->trace->dur_us[row]), row};
}

static inline next_event next_frame(const host_builder *b, uint32_t frame)
{
    int64_t start_ns = gt_schedule_ns(b->schedule, b->frames.start_us[frame]);
    return (next_event){start_ns, gt_schedule_end_ns(b->schedule, start_ns, b->frames.dur_us[frame]), frame};
}

/* Whether the row comes before the frame: it starts earlier, or is longer, or stands first in the file. */
static inline bool row_is_first(const host_builder *b, const next_event *row, const next_event *frame)
{
    if (row->start_ns != frame->start_ns) return row->start_ns < frame->start_ns;
    if (row->end_ns != frame->end_ns) return row->end_ns > frame->end_ns;
    return b->trace->uid[row->index] < b->frames.uid[frame->index];
}

static inline void fill_event(gt_host_event *event, const next_event *from, uint32_t name, uint8_t kind)
{
    event->start_ns = from->start_ns;
    event->end_ns = from->end_ns;
    event->name = name;
    event->row = from->index;
    event->launches = 0;
    event->kind = kind & 15u;
    event->call = GT_API_NONE;
    event->flags = 0;
}

/* Marks the outermost ops without launches around heavy ones, and all inside them. */
static void mark_heavy(const thread_walk *w, uint32_t end)
{
    for (size_t k = 0; k < w->heavy_count; k++) {
        uint32_t top = w->heavy[k], parent = w->events[top].parent;
        for (; parent != GT_NONE && w->events[parent].kind == GT_KIND_CPU_OP && !w->events[parent].launches;
             parent = w->events[top].parent)
            top = parent;
        if (w->events[top].flags & GT_HOST_HEAVY) continue;
        w->events[top].flags |= GT_HOST_HEAVY;
        for (uint32_t i = top + 1; i < end && w->events[i].parent != GT_NONE &&
                                   w->events[w->events[i].parent].flags & GT_HOST_HEAVY;
             i++)
            w->events[i].flags |= GT_HOST_HEAVY;
    }
}

static void build_thread(void *context, size_t index)
{
    host_builder *b = context;
    thread_source *source = &b->sources[index];
    gt_host_thread *thread = &b->schedule->threads[index];
    thread_walk w = {.b = b, .source = source, .events = b->schedule->events, .thread = (uint32_t)index};
    uint32_t row = 0, frame = 0, next = thread->first;
    next_event from_rows = {0}, from_frames = {0};
    order_events(source->rows, source->row_count, b->trace->start_us, b->trace->dur_us);
    order_events(source->frames, source->frame_count, b->frames.start_us, b->frames.dur_us);
    if (source->row_count) from_rows = next_row(b, source->rows[0]);
    if (source->frame_count) from_frames = next_frame(b, source->frames[0]);
    while (row < source->row_count || frame < source->frame_count) {
        gt_host_event *event = &w.events[next++];
        if (frame == source->frame_count ||
            (row < source->row_count && row_is_first(b, &from_rows, &from_frames))) {
            fill_event(event, &from_rows, b->trace->name[from_rows.index], b->trace->kind[from_rows.index]);
            if (++row < source->row_count) from_rows = next_row(b, source->rows[row]);
        } else {
            fill_event(event, &from_frames, b->frames.name[from_frames.index], GT_KIND_PYTHON);
            if (++frame < source->frame_count) from_frames = next_frame(b, source->frames[frame]);
        }
        open_next(&w, event);
    }
    while (w.depth) close_event(&w);
    thread->end = next;
    thread->launches = source->call_count != 0;
    mark_heavy(&w, thread->end);
    gt_free(w.heavy);
    gt_free(w.open);
}

/* ---- points ---- */

/* Notes what launched each op: of several calls with its id the last, thread after thread. */
static void join_ops(host_builder *b, const call_found *calls, const uint32_t *place, size_t count)
{
    gt_schedule *schedule = b->schedule;
    size_t slots = b->launches.slots.count;
    uint32_t *last = gt_no_events(slots); /* by slot: the call */
    for (uint32_t i = 0; i < count; i++)
        if (calls[i].slot != GT_NO_SLOT) last[calls[i].slot] = i;
    for (size_t slot = 0; slot < slots; slot++) {
        if (last[slot] == GT_NO_EVENT) continue;
        for (uint32_t i = b->launches.first_op[slot]; i < b->launches.first_op[slot + 1]; i++) {
            gt_gpu_op *op = &schedule->ops[schedule->point_ops[i]];
            op->point = place[last[slot]];
            op->host_op = calls[last[slot]].host_op;
        }
    }
    gt_free(last);
}

static void fill_point(host_builder *b, const call_found *call, gt_host_point *point)
{
    const gt_host_event *event = &b->schedule->events[call->event];
    *point = (gt_host_point){.start_ns = event->start_ns,
                             .end_ns = event->end_ns,
                             .base_ns = event->start_ns,
                             .own_ns = event->end_ns - event->start_ns,
                             .keep_before = 1,
                             .keep_own = 1,
                             .event = call->event,
                             .thread = call->thread,
                             .awaited = GT_NONE,
                             .sync_site = GT_STR_NONE,
                             .step = -1,
                             .kind = event->call,
                             .flags = event->flags};
    if (call->slot == GT_NO_SLOT) return;
    point->first_op = b->launches.first_op[call->slot];
    point->op_count = b->launches.first_op[call->slot + 1] - point->first_op;
}

/* Makes the calls of all threads points, by start; those that start at once in the order of their threads. */
static void make_points(host_builder *b)
{
    gt_schedule *schedule = b->schedule;
    size_t count = 0, at = 0;
    for (size_t t = 0; t < schedule->thread_count; t++) count += b->sources[t].call_count;
    call_found *calls = gt_alloc(count * sizeof *calls);
    uint32_t *order = gt_alloc(count * sizeof *order);
    uint32_t *place = gt_alloc(count * sizeof *place);
    double *starts = gt_alloc(count * sizeof *starts);
    for (size_t t = 0; t < schedule->thread_count; t++)
        for (size_t i = 0; i < b->sources[t].call_count; i++, at++) {
            calls[at] = b->sources[t].calls[i];
            order[at] = (uint32_t)at;
            starts[at] = (double)schedule->events[calls[at].event].start_ns;
        }
    gt_order_rows(order, count, starts);
    schedule->points = gt_alloc(count * sizeof *schedule->points);
    schedule->point_count = count;
    for (uint32_t i = 0; i < count; i++) {
        fill_point(b, &calls[order[i]], &schedule->points[i]);
        place[order[i]] = i;
    }
    join_ops(b, calls, place, count);
    gt_free(calls);
    gt_free(order);
    gt_free(place);
    gt_free(starts);
}

/* ---- input shapes ---- */

static void count_shapes(host_builder *b)
{
    const gt_event_view *trace = b->trace;
    gt_schedule *schedule = b->schedule;
    uint32_t *shapes = gt_store_string_ids(trace->store, GT_EVENT_INPUT_DIMS);
    for (uint32_t row = 0; row < trace->recorded; row++) {
        if (trace->kind[row] != GT_KIND_CPU_OP) continue;
        schedule->cpu_op_count++;
        schedule->shape_count += shapes[row] != GT_STR_NONE;
    }
    gt_free(shapes);
}

void gt_build_host(gt_schedule *schedule)
{
    host_builder b = {.schedule = schedule, .trace = schedule->trace};
    if (!b.trace->has_python) b.frames = schedule->frames;
    b.launches = gt_launch_ids_new(schedule);
    find_threads(&b);
    list_events(&b);
    gt_parallel_each(schedule->thread_count, build_thread, &b);
    gt_free(b.row_thread);
    gt_free(b.row_list);
    make_points(&b);
    count_shapes(&b);
    for (size_t t = 0; t < schedule->thread_count; t++) gt_free(b.sources[t].calls);
    gt_free(b.sources);
    gt_map_free(&b.thread_ids);
    gt_launch_ids_free(&b.launches);
}
