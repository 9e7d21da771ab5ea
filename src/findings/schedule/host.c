/* What does the host do? Its threads with their events (host_thread.c), and the points: calls that launch or
 * wait. */
#include "findings/schedule/host_parts.h"

#include "findings/schedule/names.h"

/* ---- launches ---- */

/* Which call launched an op? The one with the same correlation id.
 *
 * Ids are unique in one process only. In a trace of several ranks, only the events of the device's rank
 * count. Where several processes make calls, an id that one of them uses is that one's; an id that several
 * use is the one's with most ids of its own. */

typedef struct op_ids {
    int64_t *items; /* by op; GT_EVENT_NONE if it has none */
} op_ids;

/* The correlation, or the external id of ops without one. */
static op_ids ids_of_ops(const gt_schedule *schedule)
{
    size_t count = schedule->op_count;
    uint32_t *rows = gt_alloc(count * sizeof *rows);
    int64_t *external = gt_alloc(count * sizeof *external);
    op_ids ids = {gt_alloc(count * sizeof *ids.items)};
    for (size_t i = 0; i < count; i++) rows[i] = schedule->ops[i].row;
    gt_store_ints_at(schedule->trace->store, GT_EVENT_CORRELATION, rows, count, ids.items);
    gt_store_ints_at(schedule->trace->store, GT_EVENT_EXTERNAL_ID, rows, count, external);
    for (size_t i = 0; i < count; i++)
        if (ids.items[i] == GT_EVENT_NONE) ids.items[i] = external[i];
    gt_free_all(rows, external);
    return ids;
}

static size_t list_ids(const void *context, size_t begin, size_t end, int64_t *out)
{
    const op_ids *ids = context;
    size_t count = 0;
    for (size_t i = begin; i < end; i++)
        if (ids->items[i] != GT_EVENT_NONE) out[count++] = ids->items[i];
    return count;
}

/* Puts the ops of each id together. */
static void group_ops(gt_schedule *schedule, gt_launch_ids *ids, const op_ids *of_ops)
{
    size_t slots = ids->slots.count;
    uint32_t *next = gt_alloc_zero(slots + 1, sizeof *next); /* by slot: the number, then the place of ops */
    ids->first_op = gt_alloc(((size_t)slots + 1) * sizeof *ids->first_op);
    for (size_t i = 0; i < schedule->op_count; i++)
        if (of_ops->items[i] != GT_EVENT_NONE) next[gt_id_slot(&ids->slots, of_ops->items[i])]++;
    uint32_t sum = 0;
    for (size_t slot = 0; slot <= slots; slot++) {
        uint32_t count = slot < slots ? next[slot] : 0;
        ids->first_op[slot] = next[slot] = sum;
        sum += count;
    }
    schedule->point_op_count = sum;
    schedule->point_ops = gt_alloc(sum * sizeof *schedule->point_ops);
    for (uint32_t i = 0; i < schedule->op_count; i++)
        if (of_ops->items[i] != GT_EVENT_NONE)
            schedule->point_ops[next[gt_id_slot(&ids->slots, of_ops->items[i])]++] = i;
    gt_free(next);
}

static bool is_call(const gt_event_view *trace, uint32_t row)
{
    return trace->kind[row] == GT_KIND_RUNTIME || trace->kind[row] == GT_KIND_DRIVER;
}

static bool have_several_processes(const gt_launch_ids *ids)
{
    const gt_event_view *trace = ids->trace;
    uint32_t first = GT_STR_NONE;
    for (uint32_t row = 0; row < trace->recorded; row++) {
        if (!is_call(trace, row) || !gt_launch_ids_counts(ids, row)) continue;
        if (first != GT_STR_NONE && gt_event_process(trace, row) != first) return true;
        first = gt_event_process(trace, row);
    }
    return false;
}

/* Decides which process's calls launch the ops of each id, and which processes do so at all. */
static void find_owners(gt_launch_ids *ids)
{
    enum { SEVERAL = UINT32_MAX };
    const gt_event_view *trace = ids->trace;
    uint32_t strings = gt_interner_count(trace->strings), most = GT_STR_NONE;
    uint32_t *owners = gt_alloc_zero(ids->slots.count, sizeof *owners);
    uint32_t *own = gt_alloc_zero(strings, sizeof *own); /* by process: ids that no other one uses */
    for (uint32_t row = 0; row < trace->recorded; row++) {
        if (!is_call(trace, row) || !gt_launch_ids_counts(ids, row)) continue;
        uint32_t slot = gt_launch_ids_slot(ids, row), process = gt_event_process(trace, row);
        if (slot == GT_NO_SLOT) continue;
        owners[slot] = owners[slot] == GT_STR_NONE || owners[slot] == process ? process : (uint32_t)SEVERAL;
        if (most == GT_STR_NONE) most = process;
    }
    for (size_t slot = 0; slot < ids->slots.count; slot++)
        if (owners[slot] != GT_STR_NONE && owners[slot] != SEVERAL) own[owners[slot]]++;
    for (uint32_t process = 0; process < strings; process++)
        if (own[process] > own[most]) most = process;
    if (most != GT_STR_NONE) {
        ids->is_used = gt_alloc_zero(strings, 1);
        for (size_t slot = 0; slot < ids->slots.count; slot++) {
            if (owners[slot] == SEVERAL) owners[slot] = most;
            if (owners[slot] != GT_STR_NONE) ids->is_used[owners[slot]] = 1;
        }
    }
    ids->owners = owners;
    gt_free(own);
}

static gt_launch_ids new_launch_ids(gt_schedule *schedule)
{
    const gt_event_view *trace = schedule->trace;
    gt_launch_ids ids = {.trace = trace, .rank = GT_EVENT_NONE};
    op_ids of_ops = ids_of_ops(schedule);
    ids.slots = gt_id_slots_new(schedule->op_count, list_ids, &of_ops);
    group_ops(schedule, &ids, &of_ops);
    gt_free(of_ops.items);
    ids.ids = gt_store_ints(trace->store, GT_EVENT_CORRELATION);
    if (schedule->op_count)
        gt_store_ints_at(trace->store, GT_EVENT_RANK, &schedule->ops[0].row, 1, &ids.rank);
    if (ids.rank != GT_EVENT_NONE) ids.ranks = gt_store_ints(trace->store, GT_EVENT_RANK);
    if (have_several_processes(&ids)) find_owners(&ids);
    return ids;
}

static void free_launch_ids(gt_launch_ids *ids)
{
    gt_id_slots_free(&ids->slots);
    gt_free_all(ids->first_op, ids->ids, ids->ranks, ids->owners, ids->is_used);
}

/* ---- threads ---- */

static uint32_t look_up_thread(gt_host_builder *b, uint32_t process, uint32_t thread, uint32_t uid)
{
    gt_schedule *schedule = b->schedule;
    uint32_t *index = gt_map_put(&b->thread_ids, process, thread);
    if (*index == GT_MAP_NONE) {
        *index = (uint32_t)schedule->thread_count;
        size_t count = schedule->thread_count;
        GT_PUSH(b->sources, count, b->source_capacity, (gt_thread_source){.first_uid = uid});
        GT_PUSH(schedule->threads, schedule->thread_count, b->thread_capacity,
                ((gt_host_thread){.process = process, .thread = thread}));
    }
    if (uid < b->sources[*index].first_uid) b->sources[*index].first_uid = uid;
    b->last_process = process;
    b->last_thread = thread;
    return b->last_index = *index;
}

static inline bool is_last_thread(const gt_host_builder *b, uint32_t process, uint32_t thread)
{
    return b->last_index != GT_NONE && b->last_process == process && b->last_thread == thread;
}

/* The index of a thread that has an event with this uid. */
static inline uint32_t thread_of(gt_host_builder *b, uint32_t process, uint32_t thread, uint32_t uid)
{
    return is_last_thread(b, process, thread) ? b->last_index : look_up_thread(b, process, thread, uid);
}

/* That of a row. Most rows are of the thread of the row before, and their uids are not looked up. */
static inline uint32_t thread_of_row(gt_host_builder *b, size_t row)
{
    const gt_event_view *trace = b->trace;
    gt_lane_ids ids = gt_lane_ids_of(trace->lanes, row);
    if (is_last_thread(b, ids.process, ids.thread)) return b->last_index;
    return look_up_thread(b, ids.process, ids.thread, gt_event_uid(trace, row));
}

static bool row_counts(const gt_host_builder *b, uint32_t row)
{
    const gt_event_view *trace = b->trace;
    return (gt_kind_is_host(trace->kind[row]) || trace->kind[row] == GT_KIND_ANNOTATION) &&
           isfinite(trace->start_us[row]) && gt_launch_ids_counts(&b->launches, row);
}

static void add_threads_of_frames(gt_host_builder *b, const gt_frame_threads *threads)
{
    b->last_index = GT_NONE;
    for (size_t i = 0; b->frames && i < threads->count; i++) {
        const gt_frame_thread *from = &threads->items[i];
        if (b->launches.is_used && !b->launches.is_used[from->process]) continue;
        uint32_t thread = thread_of(b, from->process, from->thread, from->first_uid);
        b->sources[thread].frame_count += from->count;
    }
}

static void find_threads_of_rows(gt_host_builder *b)
{
    size_t rows = b->trace->recorded;
    b->row_thread = gt_alloc(rows * sizeof *b->row_thread);
    b->last_index = GT_NONE;
    for (size_t row = 0; row < rows; row++) {
        uint32_t thread = GT_NONE;
        if (row_counts(b, (uint32_t)row)) {
            thread = thread_of_row(b, row);
            b->sources[thread].row_count++;
        }
        b->row_thread[row] = thread;
    }
}

/* place[t] becomes the number of thread t if they are sorted by their first event. */
static void sort_threads(const gt_host_builder *b, uint32_t *place)
{
    size_t count = b->schedule->thread_count;
    uint32_t *order = gt_alloc(count * sizeof *order);
    double *uids = gt_alloc(count * sizeof *uids);
    for (size_t t = 0; t < count; t++) {
        order[t] = (uint32_t)t;
        uids[t] = b->sources[t].first_uid;
    }
    gt_order_rows(order, count, uids);
    for (size_t t = 0; t < count; t++) place[order[t]] = (uint32_t)t;
    gt_free_all(order, uids);
}

/* Gives thread t the number place[t]. */
static void renumber_threads(gt_host_builder *b, const uint32_t *place)
{
    gt_schedule *schedule = b->schedule;
    size_t count = schedule->thread_count;
    gt_thread_source *sources = gt_alloc(count * sizeof *sources);
    gt_host_thread *threads = gt_alloc(count * sizeof *threads);
    memcpy(sources, b->sources, count * sizeof *sources);
    memcpy(threads, schedule->threads, count * sizeof *threads);
    for (size_t t = 0; t < count; t++) {
        b->sources[place[t]] = sources[t];
        schedule->threads[place[t]] = threads[t];
        *gt_map_put(&b->thread_ids, threads[t].process, threads[t].thread) = place[t];
    }
    for (size_t row = 0; row < b->trace->recorded; row++)
        if (b->row_thread[row] != GT_NONE) b->row_thread[row] = place[b->row_thread[row]];
    gt_free_all(sources, threads);
}

/* Numbers the threads in the order of the file. */
static void number_threads(gt_host_builder *b)
{
    size_t count = b->schedule->thread_count, in_order = 1;
    while (in_order < count && b->sources[in_order - 1].first_uid < b->sources[in_order].first_uid)
        in_order++;
    if (in_order < count) {
        uint32_t *place = gt_alloc(count * sizeof *place);
        sort_threads(b, place);
        renumber_threads(b, place);
        gt_free(place);
    }
    b->last_index = GT_NONE;
}

/* Lists the rows of each thread, and makes room for all events. */
static void list_rows(gt_host_builder *b)
{
    gt_schedule *schedule = b->schedule;
    size_t rows = 0, events = 0;
    for (size_t t = 0; t < schedule->thread_count; t++) {
        rows += b->sources[t].row_count;
        events += (size_t)b->sources[t].row_count + b->sources[t].frame_count;
    }
    b->row_list = gt_alloc(rows * sizeof *b->row_list);
    schedule->event_count = events;
    schedule->events = gt_alloc(events * sizeof *schedule->events);
    rows = events = 0;
    for (size_t t = 0; t < schedule->thread_count; t++) {
        gt_thread_source *source = &b->sources[t];
        schedule->threads[t].first = schedule->threads[t].end = (uint32_t)events;
        source->rows = b->row_list + rows;
        source->frames = schedule->events + events + source->row_count;
        rows += source->row_count;
        events += (size_t)source->row_count + source->frame_count;
        source->row_count = source->frame_count = 0; /* counted again below and in list_frames */
    }
    for (size_t row = 0; row < b->trace->recorded; row++) {
        if (b->row_thread[row] == GT_NONE) continue;
        gt_thread_source *source = &b->sources[b->row_thread[row]];
        source->rows[source->row_count++] = (uint32_t)row;
    }
}

/* Puts a run of frames that begins with number `first` to its thread. */
static void list_run(gt_host_builder *b, gt_frame_run run, size_t first)
{
    const gt_frame_block *block = b->block;
    size_t i = run.begin;
    while (i < run.end && !isfinite(block->start_us[i])) i++;
    if (i == run.end) return;
    uint32_t thread = thread_of(b, run.process, run.thread, block->uid[i]); /* may move the sources */
    gt_thread_source *source = &b->sources[thread];
    double start_us = source->last_start_us, dur_us = source->last_us;
    bool is_mixed = source->is_mixed;
    gt_host_event *frame = source->frames + source->frame_count;
    if (!source->frame_count) start_us = -INFINITY;
    for (; i < run.end; i++) {
        if (!isfinite(block->start_us[i])) continue;
        is_mixed |= !(start_us < block->start_us[i] ||
                      (start_us == block->start_us[i] && dur_us >= block->dur_us[i]));
        start_us = block->start_us[i];
        dur_us = block->dur_us[i];
        frame->start_ns = gt_schedule_ns(b->schedule, start_us);
        frame->end_ns = gt_schedule_end_ns(b->schedule, frame->start_ns, dur_us);
        frame->name = block->name[i];
        frame->parent = block->uid[i];
        frame->row = (uint32_t)(first + i);
        frame++;
    }
    source->frame_count = (uint32_t)(frame - source->frames);
    source->last_start_us = start_us;
    source->last_us = dur_us;
    source->is_mixed = is_mixed;
}

/* Puts the frames of each thread to the end of its events. */
static void list_frames(gt_host_builder *b)
{
    for (size_t first = 0; gt_frames_read(b->frames, first, GT_FRAMES_ALL, b->block);
         first += b->block->count)
        for (size_t i = 0; i < b->block->count;) {
            gt_frame_run run = gt_next_frames(b->block, i);
            if (!b->launches.is_used || b->launches.is_used[run.process]) list_run(b, run, first);
            i = run.end;
        }
    bool any_mixed = false;
    for (size_t t = 0; t < b->schedule->thread_count; t++) any_mixed |= b->sources[t].is_mixed;
    if (!any_mixed) return;
    b->frame_start_us = gt_store_times(b->frames, GT_EVENT_START);
    b->frame_dur_us = gt_store_times(b->frames, GT_EVENT_DURATION);
}

/* ---- points ---- */

/* The calls of a thread in the background are no points. */
static void leave_out(gt_host_builder *b, uint32_t thread, size_t *capacity)
{
    gt_schedule *schedule = b->schedule;
    gt_thread_source *source = &b->sources[thread];
    for (size_t i = 0; i < source->call_count; i++) {
        const gt_call_found *call = &source->calls[i];
        const gt_host_event *event = &schedule->events[call->event];
        if (event->end_ns - event->start_ns >= GT_LONG_LAUNCH_NS)
            GT_PUSH(schedule->background, schedule->background_count, *capacity, call->event);
        if (call->slot == GT_NO_SLOT) continue;
        for (uint32_t k = b->launches.first_op[call->slot]; k < b->launches.first_op[call->slot + 1]; k++) {
            schedule->ops[schedule->point_ops[k]].host_op = call->host_op;
            schedule->ops[schedule->point_ops[k]].in_background = true;
        }
    }
    source->call_count = 0;
    schedule->threads[thread].launches = false;
    schedule->has_background = true;
}

static void leave_out_background(gt_host_builder *b)
{
    bool *background = gt_find_background(b);
    size_t capacity = 0;
    for (uint32_t t = 0; background && t < b->schedule->thread_count; t++)
        if (background[t]) leave_out(b, t, &capacity);
    gt_free(background);
}

/* Notes what launched each op: of several calls with its id the last, thread after thread. */
static void join_ops(gt_host_builder *b, const gt_call_found *calls, const uint32_t *place, size_t count)
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
            op->in_background = false;
            op->host_op = calls[last[slot]].host_op;
        }
    }
    gt_free(last);
}

static void fill_point(gt_host_builder *b, const gt_call_found *call, gt_host_point *point)
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
static void make_points(gt_host_builder *b)
{
    gt_schedule *schedule = b->schedule;
    size_t count = 0, at = 0;
    for (size_t t = 0; t < schedule->thread_count; t++) count += b->sources[t].call_count;
    gt_call_found *calls = gt_alloc(count * sizeof *calls);
    uint32_t *order = gt_alloc(count * sizeof *order);
    uint32_t *place = gt_alloc(count * sizeof *place);
    double *starts = gt_alloc(count * sizeof *starts);
    for (size_t t = 0; t < schedule->thread_count; t++)
        for (size_t i = 0; i < b->sources[t].call_count; i++, at++) {
            calls[at] = b->sources[t].calls[i];
            order[at] = (uint32_t)at;
            starts[at] = (double)calls[at].start_ns;
        }
    gt_order_rows(order, count, starts);
    schedule->points = gt_alloc(count * sizeof *schedule->points);
    schedule->point_count = count;
    for (uint32_t i = 0; i < count; i++) {
        if (i + GT_EVENTS_AHEAD < count) gt_event_prefetch(schedule, calls[order[i + GT_EVENTS_AHEAD]].event);
        fill_point(b, &calls[order[i]], &schedule->points[i]);
        place[order[i]] = i;
    }
    join_ops(b, calls, place, count);
    gt_free_all(calls, order, place, starts);
}

/* ---- input shapes ---- */

static void count_shapes(gt_host_builder *b)
{
    const gt_event_view *trace = b->trace;
    gt_schedule *schedule = b->schedule;
    uint32_t *shapes = gt_store_string_ids(trace->store, GT_EVENT_INPUT_DIMS);
    for (uint32_t row = 0; row < trace->recorded; row++) {
        if (trace->kind[row] != GT_KIND_CPU_OP || gt_name_has(schedule, trace->name[row], GT_NAME_STEP))
            continue;
        schedule->cpu_op_count++;
        schedule->shape_count += shapes[row] != GT_STR_NONE;
    }
    gt_free(shapes);
}

void gt_build_host(gt_schedule *schedule, const gt_frame_threads *threads)
{
    gt_host_builder b = {.schedule = schedule, .trace = schedule->trace};
    if (!b.trace->has_python) b.frames = b.trace->frames;
    b.block = gt_alloc(sizeof *b.block);
    b.launches = new_launch_ids(schedule);
    find_threads_of_rows(&b);
    add_threads_of_frames(&b, threads);
    number_threads(&b);
    list_rows(&b);
    list_frames(&b);
    gt_free(b.block);
    gt_parallel_each(schedule->thread_count, gt_build_thread, &b);
    gt_free_all(b.frame_start_us, b.frame_dur_us, b.row_thread, b.row_list);
    leave_out_background(&b);
    make_points(&b);
    count_shapes(&b);
    for (size_t t = 0; t < schedule->thread_count; t++) gt_free(b.sources[t].calls);
    gt_free(b.sources);
    gt_map_free(&b.thread_ids);
    free_launch_ids(&b.launches);
}
