/* From lists of ops and calls to a schedule.
 *
 * Ops are sorted by start; calls thread by thread, each thread by start, longer calls first. One pass over a
 * thread with a stack finds the call around each call. Calls that launched an op, or whose name says that
 * they wait, allocate or load code, become points. All of it is linear after sorting. */
#include "findings/formats/plain.h"

#include "findings/schedule/build.h"
#include "findings/schedule/names.h"

typedef struct plain_builder {
    gt_schedule *schedule;
    gt_plain_trace *trace;
    int64_t base_ns;    /* the time of the trace that is 0 in the schedule */
    gt_map launches;    /* (process, launch id) to slot */
    uint32_t *op_slot;  /* by op: the slot of its launch; GT_NONE */
    uint32_t *first_op; /* by slot: where its ops begin in point_ops; one entry more than slots */
    size_t slot_count;
    size_t stream_capacity;
} plain_builder;

/* ---- time 0 ---- */

/* The distance of two times, which may be too large for an int64. */
static double distance(int64_t from_ns, int64_t to_ns)
{
    return (double)to_ns - (double)from_ns;
}

/* The same as set_base in schedule/ops.c for whole nanoseconds, which a double of microseconds may round:
 * times are counted from the first event, or around the first op if others are absurdly far away. */
static void set_base(plain_builder *b)
{
    const gt_plain_trace *trace = b->trace;
    int64_t limit = gt_time_limit_ns(trace->op_count + trace->call_count);
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < trace->op_count; i++) {
        first = trace->ops[i].start_ns < first ? trace->ops[i].start_ns : first;
        last = trace->ops[i].start_ns > last ? trace->ops[i].start_ns : last;
    }
    for (size_t i = 0; i < trace->call_count; i++) {
        first = trace->calls[i].start_ns < first ? trace->calls[i].start_ns : first;
        last = trace->calls[i].start_ns > last ? trace->calls[i].start_ns : last;
    }
    b->base_ns = first <= last ? first : 0;
    if (first <= last && !(distance(first, last) < (double)limit / 2)) {
        int64_t middle = trace->op_count ? trace->ops[0].start_ns : trace->calls[0].start_ns;
        b->base_ns = middle > INT64_MIN + limit / 2 ? middle - limit / 2 : INT64_MIN;
    }
    b->schedule->limit_ns = limit;
    b->schedule->base_us = (double)b->base_ns / 1e3;
}

static int64_t relative_ns(const plain_builder *b, int64_t ns)
{
    if (ns <= b->base_ns) return 0;
    uint64_t after = (uint64_t)ns - (uint64_t)b->base_ns;
    return after < (uint64_t)b->schedule->limit_ns ? (int64_t)after : b->schedule->limit_ns;
}

/* The same for what only has to be shown: times before the schedule's first event stay there. */
static int64_t signed_ns(const plain_builder *b, int64_t ns)
{
    if (ns >= b->base_ns) return relative_ns(b, ns);
    uint64_t before = (uint64_t)b->base_ns - (uint64_t)ns;
    return before < (uint64_t)b->schedule->limit_ns ? -(int64_t)before : -b->schedule->limit_ns;
}

/* ---- ops ---- */

GT_ORDER_BY(by_start, gt_plain_op, GT_UP(start_ns) GT_UP(end_ns) GT_UP(kind) GT_UP(row))

static void order_ops(const plain_builder *b, gt_plain_op *ops, size_t count,
                      int64_t (*time_of)(const plain_builder *b, int64_t ns))
{
    bool in_order = true;
    for (size_t i = 0; i < count; i++) {
        gt_plain_op *op = &ops[i];
        op->start_ns = time_of(b, op->start_ns);
        op->end_ns = time_of(b, op->end_ns);
        if (op->end_ns < op->start_ns) op->end_ns = op->start_ns;
        in_order &= i == 0 || by_start(op - 1, op) <= 0;
    }
    if (!in_order) qsort(ops, count, sizeof *ops, by_start);
}

/* Notes how people call the stream of an op, the next that has no name yet. */
static void name_stream(plain_builder *b, const gt_plain_op *op)
{
    gt_schedule *schedule = b->schedule;
    if (!b->trace->name_stream) return;
    gt_stream_names names = b->trace->name_stream(b->trace->context, op);
    GT_PUSH(schedule->streams, schedule->all_stream_count, b->stream_capacity, names);
}

static void fill_ops(plain_builder *b)
{
    gt_schedule *schedule = b->schedule;
    size_t count = b->trace->op_count;
    gt_map streams = {0};
    schedule->ops = gt_alloc(count * sizeof *schedule->ops);
    schedule->categories = gt_alloc(count * sizeof *schedule->categories);
    schedule->op_count = count;
    if (b->trace->has_origins) schedule->origins = gt_alloc(count * sizeof *schedule->origins);
    uint32_t stream = 0; /* of the op before, often the same */
    for (size_t i = 0; i < count; i++) {
        const gt_plain_op *op = &b->trace->ops[i];
        if (!i || op->stream != op[-1].stream || op->process != op[-1].process) {
            uint32_t *number = gt_map_put(&streams, op->process, op->stream);
            if (*number == GT_MAP_NONE) {
                *number = schedule->stream_count++;
                name_stream(b, op);
            }
            stream = *number;
        }
        schedule->categories[i] = op->category;
        if (b->trace->has_origins) schedule->origins[i] = op->origin;
        schedule->ops[i] = (gt_gpu_op){.start_ns = op->start_ns,
                                       .end_ns = op->end_ns,
                                       .offset_ns = op->start_ns,
                                       .bytes = op->bytes > 0 ? op->bytes : 0,
                                       .name = op->name,
                                       .row = op->row,
                                       .stream = stream,
                                       .point = GT_NONE,
                                       .host_op = GT_NONE,
                                       .previous = GT_NONE,
                                       .dependency = GT_NONE,
                                       .step = -1,
                                       .kind = op->kind,
                                       .begins = GT_START_FIXED,
                                       .communicates = op->kind == GT_KIND_KERNEL && op->communicates};
    }
    gt_map_free(&streams);
}

/* Groups the ops by their launches. */
static void group_ops(plain_builder *b)
{
    gt_schedule *schedule = b->schedule;
    size_t count = schedule->op_count;
    b->op_slot = gt_alloc(count * sizeof *b->op_slot);
    for (size_t i = 0; i < count; i++) {
        const gt_plain_op *op = &b->trace->ops[i];
        b->op_slot[i] = GT_NONE;
        if (!op->has_launch || !b->trace->call_count) continue; /* not needed without calls */
        uint32_t *slot = gt_map_put(&b->launches, op->process, op->launch);
        if (*slot == GT_MAP_NONE) *slot = (uint32_t)b->slot_count++;
        b->op_slot[i] = *slot;
    }
    b->first_op = gt_alloc_zero(b->slot_count + 2, sizeof *b->first_op);
    for (size_t i = 0; i < count; i++)
        if (b->op_slot[i] != GT_NONE) b->first_op[b->op_slot[i] + 2]++;
    for (size_t i = 2; i < b->slot_count + 2; i++) b->first_op[i] += b->first_op[i - 1];
    schedule->point_op_count = b->first_op[b->slot_count + 1];
    schedule->point_ops = gt_alloc(schedule->point_op_count * sizeof *schedule->point_ops);
    for (size_t i = 0; i < count; i++)
        if (b->op_slot[i] != GT_NONE) schedule->point_ops[b->first_op[b->op_slot[i] + 1]++] = (uint32_t)i;
}

/* ---- names ---- */

static void find_names(plain_builder *b)
{
    gt_schedule *schedule = b->schedule;
    uint32_t count = gt_interner_count(schedule->strings);
    uint8_t *seen = gt_alloc_zero(count, 1);
    for (size_t i = 0; i < b->trace->op_count; i++) seen[b->trace->ops[i].name] |= GT_NAMES_GPU;
    for (size_t i = 0; i < b->trace->other_count; i++) seen[b->trace->others[i].name] |= GT_NAMES_GPU;
    for (size_t i = 0; i < b->trace->call_count; i++)
        seen[b->trace->calls[i].name] |= b->trace->calls[i].is_range ? GT_NAMES_NOTE : GT_NAMES_CALL;
    gt_find_name_bits(schedule, seen, count);
    gt_free(seen);
}

/* ---- calls ---- */

static int by_thread(const void *left, const void *right)
{
    const gt_plain_call *a = left, *b = right;
    if (a->process != b->process) return a->process < b->process ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns) return a->end_ns > b->end_ns ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static void order_calls(plain_builder *b)
{
    gt_plain_trace *trace = b->trace;
    bool in_order = true;
    for (size_t i = 0; i < trace->call_count; i++) {
        gt_plain_call *call = &trace->calls[i];
        call->start_ns = relative_ns(b, call->start_ns);
        call->end_ns = relative_ns(b, call->end_ns);
        if (call->end_ns < call->start_ns) call->end_ns = call->start_ns;
        in_order &= i == 0 || by_thread(call - 1, call) <= 0;
    }
    if (!in_order) qsort(trace->calls, trace->call_count, sizeof *trace->calls, by_thread);
}

static uint32_t slot_of(const plain_builder *b, const gt_plain_call *call)
{
    if (!call->has_launch) return GT_NONE;
    uint32_t slot = gt_map_get(&b->launches, call->process, call->launch);
    return slot == GT_MAP_NONE ? GT_NONE : slot;
}

/* gt_kind_of_call, unless the format itself says what it is. */
static gt_api_kind kind_of_call(const plain_builder *b, const gt_plain_call *call)
{
    if (call->is_range) return GT_API_NONE;
    if (call->waits) return GT_API_SYNC;
    uint32_t slot = slot_of(b, call);
    uint32_t first_op = slot == GT_NONE ? GT_NONE : b->schedule->point_ops[b->first_op[slot]];
    return gt_kind_of_call(b->schedule, call->name, call->end_ns - call->start_ns, first_op);
}

static void start_thread(gt_schedule *schedule, size_t *capacity, const gt_plain_call *call, uint32_t first)
{
    char text[32];
    gt_host_thread thread = {.first = first, .end = first};
    snprintf(text, sizeof text, "%" PRIu64, call->process);
    thread.process = gt_interner_add_cstr(schedule->strings, text);
    snprintf(text, sizeof text, "%" PRIu64, call->thread);
    thread.thread = gt_interner_add_cstr(schedule->strings, text);
    GT_PUSH(schedule->threads, schedule->thread_count, *capacity, thread);
}

/* The event of a call; `around` is the innermost call that has not ended. */
static gt_host_event event_of(const plain_builder *b, const gt_plain_call *call, uint32_t around)
{
    const gt_schedule *schedule = b->schedule;
    gt_host_event event = {.start_ns = call->start_ns,
                           .end_ns = call->end_ns,
                           .name = call->name,
                           .parent = around,
                           .row = call->row,
                           .kind = call->is_range ? GT_KIND_ANNOTATION : GT_KIND_RUNTIME,
                           .call = kind_of_call(b, call) & 0xF};
    if (around != GT_NONE && !call->is_range && event.end_ns > schedule->events[around].end_ns)
        event.end_ns = schedule->events[around].end_ns;
    event.launches = event.call == GT_API_LAUNCH || event.call == GT_API_COPY;
    return event;
}

static void make_events(plain_builder *b)
{
    gt_schedule *schedule = b->schedule;
    const gt_plain_call *calls = b->trace->calls;
    size_t capacity = 0, count = b->trace->call_count;
    schedule->events = gt_alloc(count * sizeof *schedule->events);
    uint32_t around = GT_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || calls[i].process != calls[i - 1].process || calls[i].thread != calls[i - 1].thread) {
            start_thread(schedule, &capacity, &calls[i], i);
            around = GT_NONE;
        }
        while (around != GT_NONE && schedule->events[around].end_ns <= calls[i].start_ns)
            around = schedule->events[around].parent;
        gt_host_event event = event_of(b, &calls[i], around);
        schedule->events[schedule->event_count++] = event;
        gt_host_thread *thread = &schedule->threads[schedule->thread_count - 1];
        thread->end = i + 1;
        thread->launches |= event.call != GT_API_NONE;
        schedule->other_launches += calls[i].is_other && gt_name_has(schedule, event.name, GT_NAME_LAUNCH);
        around = i;
    }
    for (size_t i = count; i-- > 0;) {
        uint32_t parent = schedule->events[i].parent;
        if (parent == GT_NONE) continue;
        uint32_t launches = schedule->events[parent].launches + (uint32_t)schedule->events[i].launches;
        schedule->events[parent].launches =
            (uint16_t)(launches < GT_LAUNCHES_MAX ? launches : GT_LAUNCHES_MAX);
    }
}

/* ---- points ---- */

static void add_point(plain_builder *b, uint32_t event_index, gt_host_point *point)
{
    const gt_host_event *event = &b->schedule->events[event_index];
    uint32_t slot = slot_of(b, &b->trace->calls[event_index]);
    *point = (gt_host_point){.start_ns = event->start_ns,
                             .end_ns = event->end_ns,
                             .base_ns = event->start_ns,
                             .own_ns = event->end_ns - event->start_ns,
                             .keep_before = 1,
                             .keep_own = 1,
                             .event = event_index,
                             .thread = gt_schedule_thread_of(b->schedule, event_index),
                             .awaited = GT_NONE,
                             .sync_site = GT_STR_NONE,
                             .step = -1,
                             .kind = event->call};
    if (slot == GT_NONE) return;
    point->first_op = b->first_op[slot];
    point->op_count = b->first_op[slot + 1] - point->first_op;
}

static void make_points(plain_builder *b)
{
    gt_schedule *schedule = b->schedule;
    size_t count = 0;
    uint32_t *order = gt_alloc(schedule->event_count * sizeof *order);
    double *starts = gt_alloc(schedule->event_count * sizeof *starts);
    for (uint32_t i = 0; i < schedule->event_count; i++) {
        starts[i] = (double)schedule->events[i].start_ns;
        if (schedule->events[i].call != GT_API_NONE) order[count++] = i;
    }
    gt_order_rows(order, count, starts);
    schedule->points = gt_alloc(count * sizeof *schedule->points);
    schedule->point_count = count;
    for (uint32_t i = 0; i < count; i++) {
        gt_host_point *point = &schedule->points[i];
        add_point(b, order[i], point);
        for (uint32_t k = 0; k < point->op_count; k++)
            schedule->ops[schedule->point_ops[point->first_op + k]].point = i;
    }
    gt_free_all(order, starts);
}

/* ---- other devices ---- */

/* The calls that launched ops of other devices, by (process, launch id): of several the last. */
static gt_map find_other_calls(const plain_builder *b)
{
    gt_map calls = {0};
    for (size_t i = 0; i < b->trace->call_count && b->trace->other_count; i++) {
        const gt_plain_call *call = &b->trace->calls[i];
        if (call->is_other) *gt_map_put(&calls, call->process, call->launch) = (uint32_t)i;
    }
    return calls;
}

static void fill_others(plain_builder *b)
{
    gt_schedule *schedule = b->schedule;
    size_t count = b->trace->other_count, streams = schedule->stream_count;
    gt_map calls = find_other_calls(b), users = {0}, numbers = {0};
    order_ops(b, b->trace->others, count, signed_ns);
    schedule->others = gt_alloc(count * sizeof *schedule->others);
    schedule->other_count = count;
    for (size_t i = 0; i < count; i++) {
        const gt_plain_op *op = &b->trace->others[i];
        uint32_t next_user = (uint32_t)users.count, *user = gt_map_put(&users, op->process, op->device);
        if (*user == GT_MAP_NONE) *user = next_user;
        uint32_t *number = gt_map_put(&numbers, *user, op->stream);
        if (*number == GT_MAP_NONE) {
            *number = (uint32_t)streams++;
            name_stream(b, op);
        }
        schedule->others[i] = (gt_other_op){
            .start_ns = op->start_ns,
            .end_ns = op->end_ns,
            .bytes = op->bytes > 0 ? op->bytes : 0,
            .name = op->name,
            .row = op->row,
            .stream = *number,
            .event = op->has_launch ? gt_map_get(&calls, op->process, op->launch) : GT_NONE,
            .category = op->category,
            .kind = op->kind,
            .communicates = op->kind == GT_KIND_KERNEL && op->communicates,
            .origin = op->origin,
        };
    }
    gt_map_free(&calls);
    gt_map_free(&users);
    gt_map_free(&numbers);
}

/* ---- all of it ---- */

gt_schedule *gt_schedule_of_plain(gt_plain_trace *trace)
{
    gt_schedule *schedule = gt_alloc_zero(1, sizeof *schedule);
    plain_builder b = {.schedule = schedule, .trace = trace};
    schedule->strings = trace->strings;
    schedule->origin = trace->origin;
    schedule->device = trace->device;
    schedule->device_count = trace->device_count;
    set_base(&b);
    order_ops(&b, trace->ops, trace->op_count, relative_ns);
    fill_ops(&b);
    group_ops(&b);
    find_names(&b);
    order_calls(&b);
    make_events(&b);
    make_points(&b);
    fill_others(&b);
    if (gt_plain_serves(trace)) gt_plain_find_steps(schedule, trace, b.base_ns);
    gt_build_steps(schedule);
    gt_build_points(schedule);
    gt_build_first_use(schedule);
    gt_build_starts(schedule);
    gt_build_labels(schedule);
    gt_map_free(&b.launches);
    gt_free_all(b.op_slot, b.first_op);
    return schedule;
}

void gt_plain_free(gt_plain_trace *trace)
{
    gt_free_all(trace->ops, trace->others, trace->calls);
    *trace = (gt_plain_trace){0};
}
