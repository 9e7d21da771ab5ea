/* What does one thread of the host do? Its events, each with the innermost one around it.
 *
 * The events of a thread come from two sources, the rows of the trace and its frames (Python functions that
 * are no rows), each nearly in order of time. Both are sorted and merged, in place; the same pass finds
 * everything else with a stack:
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
#include "findings/schedule/host_parts.h"

#include "base/memory.h"
#include "base/number.h"
#include "findings/schedule/names.h"
#include "trace/rows.h"

#include <math.h>
#include <stdlib.h>

static const int64_t HEAVY_OP_NS = 200000;
static const int64_t VIEW_CALL_NS = 20000; /* calling a metadata op, at most: 11 us with the profiler */
static const int64_t LONG_COPY_NS = 50000; /* a copy call without its copy counts if it is longer */

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

/* Frames nearly always are in order. */
static void order_frames(gt_thread_source *source)
{
    size_t count = source->frame_count;
    if (!source->is_mixed) return;
    uint32_t *list = gt_alloc(count * sizeof *list);
    double *start_us = gt_alloc(count * sizeof *start_us), *dur_us = gt_alloc(count * sizeof *dur_us);
    gt_host_event *frames = gt_alloc(count * sizeof *frames);
    for (size_t i = 0; i < count; i++) {
        frames[i] = source->frames[i];
        start_us[i] = gt_double_of_bits(frames[i].start_ns);
        dur_us[i] = gt_double_of_bits(frames[i].end_ns);
        list[i] = (uint32_t)i;
    }
    order_events(list, count, start_us, dur_us);
    for (size_t i = 0; i < count; i++) source->frames[i] = frames[list[i]];
    gt_free(list);
    gt_free(start_us);
    gt_free(dur_us);
    gt_free(frames);
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
    gt_host_builder *b;
    gt_thread_source *source;
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
    gt_call_found call = {(uint32_t)(event - w->events), slot, host_op, w->thread};
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
    uint32_t index;     /* row or frame */
    uint32_t name, uid; /* of a frame */
} next_event;

static inline void read_row(const gt_host_builder *b, uint32_t row, next_event *next)
{
    next->start_ns = gt_schedule_ns(b->schedule, b->trace->start_us[row]);
    next->end_ns = gt_schedule_end_ns(b->schedule, next->start_ns, b->trace->dur_us[row]);
    next->index = row;
}

static inline void read_frame(const gt_host_builder *b, const gt_host_event *frame, next_event *next)
{
    next->start_ns = gt_schedule_ns(b->schedule, gt_double_of_bits(frame->start_ns));
    next->end_ns = gt_schedule_end_ns(b->schedule, next->start_ns, gt_double_of_bits(frame->end_ns));
    next->index = frame->row;
    next->name = frame->name;
    next->uid = frame->parent;
}

/* Whether the row comes before the frame: it starts earlier, or is longer, or stands first in the file. */
static inline bool row_is_first(const gt_host_builder *b, const next_event *row, const next_event *frame)
{
    if (row->start_ns != frame->start_ns) return row->start_ns < frame->start_ns;
    if (row->end_ns != frame->end_ns) return row->end_ns > frame->end_ns;
    return b->trace->uid[row->index] < frame->uid;
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

void gt_build_thread(void *context, size_t index)
{
    gt_host_builder *b = context;
    gt_thread_source *source = &b->sources[index];
    gt_host_thread *thread = &b->schedule->threads[index];
    thread_walk w = {.b = b, .source = source, .events = b->schedule->events, .thread = (uint32_t)index};
    uint32_t row = 0, frame = 0, next = thread->first;
    next_event from_rows = {0}, from_frames = {0};
    order_events(source->rows, source->row_count, b->trace->start_us, b->trace->dur_us);
    order_frames(source);
    if (source->row_count) read_row(b, source->rows[0], &from_rows);
    if (source->frame_count) read_frame(b, source->frames, &from_frames);
    while (row < source->row_count || frame < source->frame_count) {
        gt_host_event *event = &w.events[next++];
        if (frame == source->frame_count ||
            (row < source->row_count && row_is_first(b, &from_rows, &from_frames))) {
            fill_event(event, &from_rows, b->trace->name[from_rows.index], b->trace->kind[from_rows.index]);
            if (++row < source->row_count) read_row(b, source->rows[row], &from_rows);
        } else {
            fill_event(event, &from_frames, from_frames.name, GT_KIND_PYTHON);
            if (++frame < source->frame_count) read_frame(b, source->frames + frame, &from_frames);
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
