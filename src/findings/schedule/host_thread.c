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

#include "findings/schedule/names.h"

static const int64_t HEAVY_OP_NS = 200000;
static const int64_t VIEW_CALL_NS = 20000; /* calling a metadata op, at most: 11 us with the profiler */
static const int64_t LONG_COPY_NS = 50000; /* a copy call without its copy counts if it is longer */

/* ---- order ---- */

typedef struct tied_event {
    double dur_us;
    uint32_t index;
} tied_event;

GT_ORDER_BY(by_duration, tied_event, GT_DOWN(dur_us) GT_UP(index))

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

/* Frames nearly always are in order. Their times in the trace are more exact than nanoseconds. */
static void order_frames(const gt_host_builder *b, gt_thread_source *source)
{
    size_t count = source->frame_count;
    if (!source->is_mixed) return;
    uint32_t *list = gt_alloc(count * sizeof *list);
    double *start_us = gt_alloc(count * sizeof *start_us), *dur_us = gt_alloc(count * sizeof *dur_us);
    gt_host_event *frames = gt_alloc(count * sizeof *frames);
    for (size_t i = 0; i < count; i++) {
        frames[i] = source->frames[i];
        start_us[i] = b->frame_start_us[frames[i].row];
        dur_us[i] = b->frame_dur_us[frames[i].row];
        list[i] = (uint32_t)i;
    }
    order_events(list, count, start_us, dur_us);
    for (size_t i = 0; i < count; i++) source->frames[i] = frames[list[i]];
    gt_free_all(list, start_us, dur_us, frames);
}

/* ---- one thread ---- */

/* An event that has begun and not ended, with what those inside it need: few events touch another one of the
 * array, which is much larger than the cache. */
typedef struct open_event {
    int64_t start_ns, end_ns;
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
    open_event *open;      /* outermost first; the first one stands for the thread and never ends */
    size_t capacity;
    uint32_t thread;
    uint32_t *heavy; /* ops that compute for long themselves */
    size_t heavy_count, heavy_capacity;
} thread_walk;

/* Makes room for one more after the innermost one, and returns where that is now. */
static __attribute__((noinline)) open_event *grow_open(thread_walk *w, size_t count)
{
    w->open = gt_grow(w->open, &w->capacity, count + 1, sizeof *w->open);
    return &w->open[count - 1];
}

/* Ends the innermost event. */
static inline void close_event(thread_walk *w, open_event *open)
{
    if (open->launches) {
        w->events[open->event].launches =
            (uint16_t)(open->launches < GT_LAUNCHES_MAX ? open->launches : GT_LAUNCHES_MAX);
        open[-1].launches += open->launches;
    } else if (open->kind == GT_KIND_CPU_OP &&
               open->end_ns - open->start_ns - open->children_ns >= HEAVY_OP_NS &&
               !gt_name_has(w->b->schedule, w->events[open->event].name, GT_NAME_NO_WORK)) {
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

/* An event of a source: what is known of it before its place among the others. */
typedef struct next_event {
    int64_t start_ns, end_ns;
    uint32_t name, row;
    uint8_t kind;
} next_event;

/* What a call does. Notes it if that makes it a point. */
static gt_api_kind read_call(thread_walk *w, uint32_t event, const next_event *call, uint32_t host_op)
{
    const gt_launch_ids *launches = &w->b->launches;
    uint32_t slot = gt_launch_ids_slot(launches, call->row);
    const gt_schedule *schedule = w->b->schedule;
    uint32_t first_op = slot == GT_NO_SLOT ? GT_NONE : schedule->point_ops[launches->first_op[slot]];
    gt_api_kind kind = gt_kind_of_call(schedule, call->name, call->end_ns - call->start_ns, first_op);
    if (kind == GT_API_NONE) return kind;
    gt_call_found found = {call->start_ns, event, slot, host_op, w->thread};
    GT_PUSH(w->source->calls, w->source->call_count, w->source->call_capacity, found);
    return kind;
}

/* The bits of an event that is no call, in addition to those of its parent, which are `above`. */
static inline uint8_t own_flags(uint64_t bits, uint8_t kind, uint8_t above)
{
    uint8_t flags = bits & GT_NAME_RECOMPUTE ? GT_HOST_RECOMPUTE : 0;
    if (bits & GT_NAME_PROFILER) flags |= GT_HOST_PROFILER;
    if (bits & GT_NAME_COMPILER) flags |= GT_HOST_COMPILER;
    if (kind != GT_KIND_CPU_OP)
        return (uint8_t)(flags | (bits & GT_NAME_DATA ? GT_HOST_DATA : 0) |
                         (bits & GT_NAME_OPTIMIZER ? GT_HOST_OPTIMIZER : 0));
    if (bits & GT_NAME_BACKWARD) flags |= GT_HOST_BACKWARD;
    if (bits & GT_NAME_FORWARD_ONLY && above & GT_HOST_BACKWARD) flags |= GT_HOST_RECOMPUTE;
    return flags;
}

/* The event's own bits and those of its parent. Reentrant checkpointing runs the backward pass of a part of
 * the model inside the node that repeats its forward pass: nothing is repeated there. */
static inline uint8_t flags_of(uint64_t bits, uint8_t kind, uint8_t above)
{
    uint8_t own = own_flags(bits, kind, above);
    if (own & GT_HOST_BACKWARD) above &= (uint8_t)~GT_HOST_RECOMPUTE;
    return above | own;
}

/* Whether the innermost open event ends before the next one. Traces have rounded times, so an event can seem
 * to begin one or two nanoseconds before the end of its predecessor: it is not a part of it. */
static inline bool is_over(thread_walk *w, open_event *open, const next_event *next)
{
    enum { ROUNDING_NS = 2 };
    if (open->end_ns <= next->start_ns) return true;
    if (open->end_ns > next->start_ns + ROUNDING_NS || next->end_ns <= open->end_ns) return false;
    open[-1].children_ns -= open->end_ns - next->start_ns;
    open->end_ns = next->start_ns; /* not before its start: events come in order of starts */
    w->events[open->event].end_ns = next->start_ns;
    return true;
}

/* Adds an event as the one with this index, and returns where it stands among the open ones; `open` is the
 * innermost. */
static inline __attribute__((always_inline)) open_event *open_next(thread_walk *w, open_event *open,
                                                                   uint32_t index, next_event next)
{
    while (is_over(w, open, &next)) close_event(w, open--);
    const uint64_t bits = w->b->schedule->name_bits[next.name];
    if (bits & GT_NAME_STEP && next.kind == GT_KIND_CPU_OP) next.kind = GT_KIND_ANNOTATION;
    if (next.end_ns > open->end_ns && next.kind != GT_KIND_ANNOTATION) next.end_ns = open->end_ns;
    open->children_ns += next.end_ns - next.start_ns;
    if (next.kind == GT_KIND_CPU_OP && bits & GT_NAME_NO_WORK) open->children_ns += VIEW_CALL_NS;
    bool is_call = next.kind == GT_KIND_RUNTIME || next.kind == GT_KIND_DRIVER;
    gt_api_kind call = is_call ? read_call(w, index, &next, open->host_op) : GT_API_NONE;
    uint8_t flags = is_call ? open->flags : flags_of(bits, next.kind, open->flags);

    gt_host_event *event = &w->events[index]; /* filled in place: copying it would wait for its parts */
    event->start_ns = next.start_ns;
    event->end_ns = next.end_ns;
    event->name = next.name;
    event->parent = open->event;
    event->row = next.row;
    event->launches = 0;
    event->kind = next.kind & 15u;
    event->call = call & 15u;
    event->flags = flags;

    size_t count = (size_t)(open - w->open) + 1;
    if (count == w->capacity) open = grow_open(w, count);
    open++; /* filled in place, too */
    open->start_ns = next.start_ns;
    open->end_ns = next.end_ns;
    open->children_ns = 0;
    open->event = index;
    open->host_op = next.kind == GT_KIND_CPU_OP ? index : open[-1].host_op;
    open->launches = call == GT_API_LAUNCH || call == GT_API_COPY;
    open->kind = next.kind;
    open->flags = flags;
    return open;
}

static inline next_event read_row(const gt_host_builder *b, uint32_t row)
{
    int64_t start_ns = gt_schedule_ns(b->schedule, b->trace->start_us[row]);
    int64_t end_ns = gt_schedule_end_ns(b->schedule, start_ns, b->trace->dur_us[row]);
    return (next_event){start_ns, end_ns, b->trace->name[row], row, b->trace->kind[row]};
}

/* Whether the row comes before the frame: it starts earlier, or is longer, or stands first in the file. */
static inline bool row_is_first(const gt_host_builder *b, const next_event *row, const gt_host_event *frame)
{
    if (row->start_ns != frame->start_ns) return row->start_ns < frame->start_ns;
    if (row->end_ns != frame->end_ns) return row->end_ns > frame->end_ns;
    return gt_event_uid(b->trace, row->row) < frame->parent;
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

/* Merges the rows and frames of the thread. Returns the end of its events. */
static uint32_t merge_events(thread_walk *w, uint32_t next)
{
    const gt_host_builder *b = w->b;
    const gt_thread_source *source = w->source;
    const gt_host_event *frame = source->frames, *frame_end = frame + source->frame_count;
    const uint32_t *row = source->rows, *row_end = row + source->row_count;
    next_event from_rows = {0};
    open_event *open = grow_open(w, 1);
    *open = (open_event){.end_ns = INT64_MAX, .event = GT_NONE, .host_op = GT_NONE};
    if (row < row_end) from_rows = read_row(b, *row);
    while (row < row_end || frame < frame_end) {
        if (frame == frame_end || (row < row_end && row_is_first(b, &from_rows, frame))) {
            open = open_next(w, open, next++, from_rows);
            if (++row < row_end) from_rows = read_row(b, *row);
        } else {
            next_event from_frames = {frame->start_ns, frame->end_ns, frame->name, frame->row,
                                      GT_KIND_PYTHON};
            frame++;
            open = open_next(w, open, next++, from_frames);
        }
    }
    while (open > w->open) close_event(w, open--);
    return next;
}

void gt_build_thread(void *context, size_t index)
{
    gt_host_builder *b = context;
    gt_thread_source *source = &b->sources[index];
    gt_host_thread *thread = &b->schedule->threads[index];
    thread_walk w = {.b = b, .source = source, .events = b->schedule->events, .thread = (uint32_t)index};
    order_events(source->rows, source->row_count, b->trace->start_us, b->trace->dur_us);
    order_frames(b, source);
    thread->end = merge_events(&w, thread->first);
    thread->launches = source->call_count != 0;
    mark_heavy(&w, thread->end);
    gt_free_all(w.heavy, w.open);
}
