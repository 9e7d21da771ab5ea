/* What does the GPU execute, and what decides when each op starts? The kernels, copies and memsets of the
 * device that is busy longest, by start.
 *
 * A device is the argument "device" of an event or else its process, within a rank if the trace was fused
 * from those of several ranks. Also decides what time 0 is, and looks at all names (names.h). */
#include "findings/schedule/build.h"

#include "findings/schedule/all_devices.h"
#include "findings/schedule/names.h"
#include "table/stats.h"

/* ---- time 0 ---- */

static bool is_host_event(uint8_t kind)
{
    return gt_kind_is_host(kind) || kind == GT_KIND_ANNOTATION;
}

typedef struct time_span {
    double first_us, last_us; /* of starts */
    size_t count;
} time_span;

static void add_start(time_span *span, double us)
{
    if (!isfinite(us)) return;
    if (us < span->first_us) span->first_us = us;
    if (us > span->last_us) span->last_us = us;
    span->count++;
}

/* Times are counted from the first event. If an event is so far from another that their distance is no time
 * of a profile, such as one without a date among others with one, they are counted around the first GPU
 * event, and what is too far away lies at the borders. */
static void set_base(gt_schedule *schedule, const time_span *span, double first_gpu_us)
{
    schedule->limit_ns = gt_time_limit_ns(span->count);
    schedule->base_us = span->count ? span->first_us : 0;
    double limit_us = (double)schedule->limit_ns / 1000;
    if (span->count && !(span->last_us - span->first_us < limit_us / 2))
        schedule->base_us = first_gpu_us - limit_us / 2;
}

/* ---- names and GPU events ---- */

static uint8_t names_of_kind(uint8_t kind)
{
    return gt_kind_is_gpu(kind)                                ? GT_NAMES_GPU
           : kind == GT_KIND_CPU_OP                            ? GT_NAMES_OP
           : kind == GT_KIND_PYTHON                            ? GT_NAMES_PYTHON
           : kind == GT_KIND_ANNOTATION                        ? GT_NAMES_NOTE
           : kind == GT_KIND_RUNTIME || kind == GT_KIND_DRIVER ? GT_NAMES_CALL
                                                               : 0;
}

gt_frame_run gt_next_frames(const gt_frame_block *block, size_t begin)
{
    gt_frame_run run = {begin, begin + 1, block->process[begin], block->thread[begin]};
    while (run.end < block->count && block->process[run.end] == run.process &&
           block->thread[run.end] == run.thread)
        run.end++;
    return run;
}

/* Adds the frames of a run that have a start to those of their thread. */
static void count_run(gt_frame_threads *threads, const gt_frame_block *block, gt_frame_run run,
                      time_span *span)
{
    size_t before = span->count, first = run.begin;
    for (size_t i = run.begin; i < run.end; i++) add_start(span, block->start_us[i]);
    if (span->count == before) return;
    while (!isfinite(block->start_us[first])) first++;
    uint32_t *place = gt_map_put(&threads->places, run.process, run.thread);
    if (*place == GT_MAP_NONE) {
        gt_frame_thread thread = {run.process, run.thread, block->uid[first], 0};
        *place = (uint32_t)threads->count;
        GT_PUSH(threads->items, threads->count, threads->capacity, thread);
    }
    gt_frame_thread *thread = &threads->items[*place];
    if (block->uid[first] < thread->first_uid) thread->first_uid = block->uid[first];
    thread->count += (uint32_t)(span->count - before);
}

static void look_at_frames(gt_schedule *schedule, uint8_t *seen, time_span *span, gt_frame_threads *threads)
{
    const unsigned columns = GT_FRAMES_ALL & ~(unsigned)GT_FRAMES_DURATION;
    gt_frame_block *block = gt_alloc(sizeof *block);
    for (size_t first = 0; gt_frames_read(schedule->trace->frames, first, columns, block);
         first += block->count) {
        schedule->has_stacks = true;
        for (size_t i = 0; i < block->count; i++) seen[block->name[i]] |= GT_NAMES_PYTHON;
        for (size_t i = 0; i < block->count;) {
            gt_frame_run run = gt_next_frames(block, i);
            count_run(threads, block, run, span);
            i = run.end;
        }
    }
    gt_free(block);
}

/* One look at all events: their first and last start, their names, and which of them are of the GPU. */
static void look_at_events(gt_schedule *schedule, gt_row_list *gpu, gt_frame_threads *threads)
{
    const gt_event_view *trace = schedule->trace;
    time_span span = {INFINITY, -INFINITY, 0};
    uint32_t names = gt_interner_count(schedule->strings);
    uint8_t *seen = gt_alloc_zero(names, 1);
    for (uint32_t row = 0; row < trace->recorded; row++) {
        uint8_t kind = trace->kind[row];
        if (!gt_kind_is_gpu(kind) && !is_host_event(kind)) continue;
        seen[trace->name[row]] |= names_of_kind(kind);
        add_start(&span, trace->start_us[row]);
        if (gt_kind_is_gpu(kind)) GT_PUSH(gpu->items, gpu->count, gpu->capacity, row);
        if (kind == GT_KIND_PYTHON) schedule->has_stacks = true;
    }
    look_at_frames(schedule, seen, &span, threads);
    set_base(schedule, &span, gpu->count ? trace->start_us[gpu->items[0]] : 0);
    gt_find_name_bits(schedule, seen, names);
    gt_free(seen);
}

/* ---- the device ---- */

typedef struct device_use {
    gt_busy_sum busy;
    size_t count; /* of events */
    int64_t rank, number;
} device_use;

/* The number that JSON has; INT64_MAX if it is none. */
static int64_t number_of(gt_str json)
{
    if (json.len && json.bytes[0] == '"') json = (gt_str){json.bytes + 1, json.len - 1};
    return json.len && gt_is_digit(json.bytes[0]) ? strtoll(json.bytes, NULL, 10) : INT64_MAX;
}

static bool is_busier(const device_use *use, const device_use *than)
{
    if (use->busy.sum != than->busy.sum) return use->busy.sum > than->busy.sum;
    if (use->rank != than->rank) return use->rank < than->rank;
    return use->number < than->number;
}

typedef struct device_uses {
    const gt_interner *strings;
    gt_map places; /* from (name, rank) to the index */
    device_use *items;
    size_t count, capacity;
} device_uses;

/* The index of a device. */
static uint32_t place_device(device_uses *uses, uint32_t name, int64_t rank)
{
    uint32_t *place = gt_map_put(&uses->places, name, (uint64_t)rank);
    if (*place != GT_MAP_NONE) return *place;
    int64_t number = number_of(gt_interner_get(uses->strings, name));
    *place = (uint32_t)uses->count;
    GT_PUSH(uses->items, uses->count, uses->capacity, ((device_use){.rank = rank, .number = number}));
    return *place;
}

/* The index of the device that `place` others are busier than. */
static uint32_t device_at(const device_uses *uses, size_t place)
{
    for (uint32_t d = 0; d < uses->count; d++) {
        size_t busier = 0;
        for (uint32_t k = 0; k < uses->count; k++) busier += is_busier(&uses->items[k], &uses->items[d]);
        if (busier == place) return d;
    }
    return 0;
}

/* Sets `device` to the index of each event's device, and returns the index of the one that is to be scheduled
 * by how long it is busy: what runs side by side counts once. Events are sorted by start. */
static uint32_t find_devices(gt_schedule *schedule, const gt_row_list *gpu, uint32_t *device)
{
    const gt_event_view *trace = schedule->trace;
    uint32_t *names = gt_alloc(gpu->count * sizeof *names);
    int64_t *ranks = gt_alloc(gpu->count * sizeof *ranks);
    gt_store_string_ids_at(trace->store, GT_EVENT_DEVICE, gpu->items, gpu->count, names);
    gt_store_ints_at(trace->store, GT_EVENT_RANK, gpu->items, gpu->count, ranks);
    device_uses uses = {.strings = trace->strings};
    uint32_t chosen = 0, last = GT_STR_NONE; /* `last`: the name of the event before, often the same */
    for (size_t i = 0; i < gpu->count; i++) {
        uint32_t row = gpu->items[i];
        uint32_t name = names[i] != GT_STR_NONE ? names[i] : gt_event_process(trace, row);
        if (i && name == last && ranks[i] == ranks[i - 1])
            device[i] = device[i - 1];
        else
            device[i] = place_device(&uses, name, ranks[i]);
        last = name;
        device_use *use = &uses.items[device[i]];
        int64_t start_ns = gt_schedule_ns(schedule, trace->start_us[row]);
        gt_busy_add(&use->busy, start_ns, gt_schedule_end_ns(schedule, start_ns, trace->dur_us[row]));
        use->count++;
    }
    chosen = device_at(&uses, schedule->device_place);
    schedule->device_count = uses.count;
    schedule->op_count = uses.count ? uses.items[chosen].count : 0;
    gt_free_all(names, ranks, uses.items);
    gt_map_free(&uses.places);
    return chosen;
}

/* ---- ops ---- */

/* Streams are numbered in the order in which they begin. */
static void number_streams(gt_schedule *schedule, const uint32_t *rows)
{
    const gt_event_view *trace = schedule->trace;
    size_t count = schedule->op_count;
    uint32_t *names = gt_alloc(count * sizeof *names);
    gt_map numbers = {0};
    gt_store_string_ids_at(trace->store, GT_EVENT_STREAM, rows, count, names);
    for (size_t i = 0; i < count; i++) {
        if (names[i] == GT_STR_NONE) names[i] = gt_event_thread(trace, rows[i]);
        if (i && names[i] == names[i - 1]) {
            schedule->ops[i].stream = schedule->ops[i - 1].stream;
            continue;
        }
        uint32_t *number = gt_map_put(&numbers, names[i], 0);
        if (*number == GT_MAP_NONE) *number = schedule->stream_count++;
        schedule->ops[i].stream = *number;
    }
    gt_map_free(&numbers);
    gt_free(names);
}

bool gt_build_communicates(const gt_schedule *schedule, uint32_t row, uint8_t *known)
{
    const gt_event_view *trace = schedule->trace;
    uint32_t name = trace->name[row];
    if (!trace->communication) return gt_name_has(schedule, name, GT_NAME_COMMUNICATION);
    if (!known[name]) known[name] = gt_event_communicates(trace, row) ? 2 : 1;
    return known[name] == 2;
}

static void fill_ops(gt_schedule *schedule, const uint32_t *rows)
{
    const gt_event_view *trace = schedule->trace;
    size_t count = schedule->op_count;
    uint8_t *known = gt_alloc_zero(gt_interner_count(trace->strings), 1);
    int64_t *bytes = gt_alloc(count * sizeof *bytes);
    gt_store_ints_at(trace->store, GT_EVENT_BYTES, rows, count, bytes);
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i], name = trace->name[row];
        int64_t start_ns = gt_schedule_ns(schedule, trace->start_us[row]);
        schedule->ops[i] = (gt_gpu_op){
            .start_ns = start_ns,
            .end_ns = gt_schedule_end_ns(schedule, start_ns, trace->dur_us[row]),
            .bytes = bytes[i] > 0 ? bytes[i] : 0,
            .name = name,
            .row = row,
            .point = GT_NONE,
            .host_op = GT_NONE,
            .previous = GT_NONE,
            .dependency = GT_NONE,
            .step = -1,
            .kind = trace->kind[row],
            .begins = GT_START_FIXED,
            .offset_ns = start_ns,
            .communicates = trace->kind[row] == GT_KIND_KERNEL && gt_build_communicates(schedule, row, known),
        };
    }
    gt_free_all(bytes, known);
}

GT_ORDER_BY(by_end, gt_gpu_op, GT_UP(end_ns) GT_UP(row))

/* Rows are sorted by start; among those with the same start the one that ends first comes first. */
static void order_by_end(gt_gpu_op *ops, size_t count)
{
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && ops[end].start_ns == ops[begin].start_ns; end++) {
        }
        if (end - begin > 1) qsort(ops + begin, end - begin, sizeof *ops, by_end);
    }
}

void gt_build_ops(gt_schedule *schedule, gt_frame_threads *threads)
{
    gt_row_list gpu = {0};
    look_at_events(schedule, &gpu, threads);
    gt_order_rows(gpu.items, gpu.count, schedule->trace->start_us);
    uint32_t *device = gt_alloc(gpu.count * sizeof *device);
    uint32_t chosen = find_devices(schedule, &gpu, device);
    size_t count = 0;
    for (size_t i = 0; i < gpu.count; i++)
        if (device[i] == chosen) gpu.items[count++] = gpu.items[i];
    gt_free(device);
    schedule->ops = gt_alloc(count * sizeof *schedule->ops);
    fill_ops(schedule, gpu.items);
    number_streams(schedule, gpu.items);
    order_by_end(schedule->ops, count);
    gt_free(gpu.items);
}

/* ---- starts ---- */

/* What decides when an op of the GPU starts?
 *
 *     HOST        its launch: the call came after the op before it on the stream had ended, or came before,
 *                 but still ran then, and the op starts later than a queued op would
 *     QUEUE       the op before it on its stream: the call came before that ended
 *     DEPENDENCY  an op of another stream: it starts late, but then something ended there
 *     FIXED       nothing is known: its launch was not recorded, and it is the first op of its stream
 *
 * The offset is the time from there to the start; that of FIXED is the start itself.
 *
 * The recorded trace does not say which op waits for which of another stream. The op that ended last before
 * the start is taken if it ended after everything else that the op had to wait for. Other ops may still
 * run then: libraries use several streams of their own side by side. */

/* An op that starts later than this after its launch on an idle stream, or after the op before it in the
 * queue, waits for something else. */
enum { LATE_LAUNCH_NS = 100000, LATE_QUEUE_NS = 20000 };
/* The usual time from a call to its op: at least, and if no op was launched on an idle stream. */
enum { LEAST_LAUNCH_NS = 1000, DEFAULT_LAUNCH_NS = 4000 };

/* When everything known that the op had to wait for was over; INT64_MIN: nothing is known. */
typedef struct readiness {
    int64_t stream_ns; /* the op before it ended */
    int64_t host_ns;   /* its call was made */
} readiness;

static readiness readiness_of(const gt_schedule *schedule, const gt_gpu_op *op)
{
    return (readiness){
        .stream_ns = op->previous == GT_NONE ? INT64_MIN : schedule->ops[op->previous].end_ns,
        .host_ns = op->point == GT_NONE ? INT64_MIN : schedule->points[op->point].base_ns,
    };
}

/* The 25th percentile of the time from a call to its op on an idle stream. */
static int64_t usual_launch_ns(const gt_schedule *schedule)
{
    double *times = gt_alloc(schedule->op_count * sizeof *times);
    size_t count = 0;
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        readiness ready = readiness_of(schedule, op);
        if (op->point != GT_NONE && ready.host_ns >= ready.stream_ns)
            times[count++] = (double)(op->start_ns - ready.host_ns);
    }
    int64_t usual = count ? (int64_t)gt_select(times, count, count / 4) : DEFAULT_LAUNCH_NS;
    gt_free(times);
    if (usual > LATE_LAUNCH_NS) usual = DEFAULT_LAUNCH_NS; /* all of them wait for something */
    return usual < LEAST_LAUNCH_NS ? LEAST_LAUNCH_NS : usual;
}

/* The ops that have ended so far: the last of them, and the last of another stream than that one. */
typedef struct ended_ops {
    uint32_t *order; /* all ops by their ends */
    size_t next;     /* the first that has not ended */
    uint32_t last, other;
} ended_ops;

static ended_ops ended_new(const gt_schedule *schedule)
{
    ended_ops ended = {gt_alloc(schedule->op_count * sizeof *ended.order), 0, GT_NONE, GT_NONE};
    double *times = gt_alloc(schedule->op_count * sizeof *times);
    for (size_t i = 0; i < schedule->op_count; i++) {
        times[i] = (double)schedule->ops[i].end_ns;
        ended.order[i] = (uint32_t)i;
    }
    gt_order_rows(ended.order, schedule->op_count, times);
    gt_free(times);
    return ended;
}

/* The last op of another stream that ended before this one starts; GT_NONE. Asked in order of starts. */
static uint32_t ended_before(ended_ops *ended, const gt_schedule *schedule, const gt_gpu_op *op)
{
    const gt_gpu_op *ops = schedule->ops;
    for (; ended->next < schedule->op_count; ended->next++) {
        uint32_t candidate = ended->order[ended->next];
        if (ops[candidate].end_ns > op->start_ns + GT_CLOCK_ERROR_NS) break;
        if (&ops[candidate] >= op) continue; /* shorter than the clock's error */
        if (ended->last != GT_NONE && ops[ended->last].end_ns == ops[candidate].end_ns) continue;
        if (ended->last != GT_NONE && ops[ended->last].stream != ops[candidate].stream)
            ended->other = ended->last;
        ended->last = candidate;
    }
    if (ended->last != GT_NONE && ops[ended->last].stream != op->stream) return ended->last;
    return ended->other;
}

static void depend(gt_schedule *schedule, gt_gpu_op *op, uint32_t other)
{
    op->begins = GT_START_DEPENDENCY;
    op->offset_ns = op->start_ns - schedule->ops[other].end_ns;
    op->dependency = other;
}

/* Whether an op had to wait for its call: the call was made before free_ns, when all else that the op had to
 * wait for was over, and still ran then. A call that itself waits for ops says nothing. Of the ops of one
 * launch, such as those of a graph, only the first waits for the host. */
static bool waits_for_call(const gt_schedule *schedule, const gt_gpu_op *op, int64_t free_ns)
{
    if (op->point == GT_NONE || op->start_ns - free_ns <= GT_USUAL_GAP_NS) return false;
    const gt_host_point *point = &schedule->points[op->point];
    return point->end_ns > free_ns && point->wait_ns == 0 &&
           &schedule->ops[schedule->point_ops[point->first_op]] == op;
}

static void decide_start(gt_schedule *schedule, gt_gpu_op *op, uint32_t other)
{
    readiness ready = readiness_of(schedule, op);
    bool is_late, is_launched = ready.host_ns >= ready.stream_ns;
    op->dependency = GT_NONE;
    if (op->point == GT_NONE && op->previous == GT_NONE) {
        op->begins = GT_START_FIXED;
        op->offset_ns = op->start_ns;
        /* A stream that a library uses now and then. */
        if (other != GT_NONE && op->start_ns - schedule->ops[other].end_ns <= LATE_QUEUE_NS)
            depend(schedule, op, other);
        return;
    }
    if (is_launched) {
        op->begins = GT_START_HOST;
        op->offset_ns = op->start_ns - ready.host_ns;
        is_late = op->offset_ns > LATE_LAUNCH_NS;
    } else {
        op->begins = GT_START_QUEUE;
        op->offset_ns = op->start_ns - ready.stream_ns;
        is_late = op->offset_ns > LATE_QUEUE_NS;
    }
    int64_t free_ns = ready.stream_ns > ready.host_ns ? ready.stream_ns : ready.host_ns;
    bool has_other = other != GT_NONE && schedule->ops[other].end_ns > free_ns;
    if (has_other) free_ns = schedule->ops[other].end_ns;
    bool is_held = waits_for_call(schedule, op, free_ns);
    if (is_late && has_other && !is_held) {
        depend(schedule, op, other);
    } else if (is_held && !is_launched) {
        op->begins = GT_START_HOST;
        op->offset_ns = op->start_ns - ready.host_ns;
    }
}

void gt_build_starts(gt_schedule *schedule)
{
    schedule->launch_ns = usual_launch_ns(schedule);
    ended_ops ended = ended_new(schedule);
    for (size_t i = 0; i < schedule->op_count; i++) {
        gt_gpu_op *op = &schedule->ops[i];
        decide_start(schedule, op, ended_before(&ended, schedule, op));
    }
    gt_free(ended.order);
}
