/* The busiest stream of one GPU, from a JAX program's Chrome trace.
 *
 * All events with a duration are kept until the end of the file, because the event that names the GPU's
 * process may come after its events. */
#include "input/chrome/chrome.h"
#include "base/progress.h"

enum { PHASE, PID, TID, START, DURATION, NAME, PATH, HLO_OP, FIELDS };

static const gt_field fields[FIELDS] = {
    [PHASE] = {"ph", GT_FIELD_STRING, false},       [PID] = {"pid", GT_FIELD_INT, false},
    [TID] = {"tid", GT_FIELD_INT, false},           [START] = {"ts", GT_FIELD_TIME, false},
    [DURATION] = {"dur", GT_FIELD_TIME, false},     [NAME] = {"name", GT_FIELD_STRING, false},
    [PATH] = {"args/name", GT_FIELD_STRING, false}, [HLO_OP] = {"args/hlo_op", GT_FIELD_STRING, false},
};

typedef struct timed_event {
    gt_stream_event event;
    int64_t pid, tid;
} timed_event;

typedef struct process {
    int64_t pid;
    uint32_t name;
} process;

typedef struct reader {
    gt_interner *strings;
    uint32_t complete, metadata, process_name; /* strings that distinguish the kinds of events */
    timed_event *events;
    size_t count, capacity;
    process *processes;
    size_t process_count, process_capacity;
    gt_map process_of; /* by pid */
} reader;

/* ---- events ---- */

static void add_process(reader *r, const gt_record *record)
{
    int64_t pid = record->cells[PID].integer;
    uint32_t *place = gt_map_put(&r->process_of, (uint64_t)pid, 0);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)r->process_count;
        GT_PUSH(r->processes, r->process_count, r->process_capacity, ((process){.pid = pid}));
    }
    r->processes[*place].name = gt_record_string(record, PATH);
}

static void add_record(reader *r, const gt_record *record)
{
    const uint64_t timed = 1u << START | 1u << DURATION;
    uint32_t phase = gt_record_string(record, PHASE);
    if (!(record->present >> PID & 1)) return;
    if (phase == r->metadata && gt_record_string(record, NAME) == r->process_name) add_process(r, record);
    if (phase != r->complete || (record->present & timed) != timed) return;
    double start = record->cells[START].time, dur = record->cells[DURATION].time;
    if (!isfinite(start) || !isfinite(dur) || dur <= 0) return;
    timed_event e = {
        .event = {start, dur, gt_record_string(record, NAME), gt_record_string(record, PATH),
                  gt_record_string(record, HLO_OP)},
        .pid = record->cells[PID].integer,
        .tid = record->present >> TID & 1 ? record->cells[TID].integer : 0,
    };
    GT_PUSH(r->events, r->count, r->capacity, e);
}

static bool read_events(void *context, gt_json *json)
{
    reader *r = context;
    gt_record_reader *records = gt_record_reader_new(fields, FIELDS, r->strings);
    gt_record record;
    if (gt_json_enter_array(json))
        while (gt_json_next_element(json) && gt_record_read(records, json, &record)) add_record(r, &record);
    gt_record_reader_free(records);
    return !json->failed;
}

/* ---- the stream ---- */

static bool find_pid(const reader *r, int64_t gpu, int64_t *pid)
{
    char wanted[48];
    snprintf(wanted, sizeof wanted, "/device:GPU:%" PRId64, gpu);
    for (int exact = 1; exact >= 0; exact--)
        for (size_t i = 0; i < r->process_count; i++) {
            gt_str name = gt_interner_get(r->strings, r->processes[i].name);
            if (exact ? strcmp(name.bytes, wanted) != 0 : !strstr(name.bytes, wanted)) continue;
            *pid = r->processes[i].pid;
            return true;
        }
    return false;
}

static int by_start(const void *left, const void *right)
{
    const timed_event *a = *(const timed_event *const *)left, *b = *(const timed_event *const *)right;
    if (a->event.start_us != b->event.start_us) return a->event.start_us < b->event.start_us ? -1 : 1;
    if (a->tid != b->tid) return a->tid < b->tid ? -1 : 1;
    return (a > b) - (a < b);
}

/* The thread with the largest sum of durations; if several have it, the one that starts first. */
static int64_t busiest_thread(timed_event *const *events, size_t count)
{
    gt_map places = {0};
    double *sums = NULL, most = -1;
    int64_t *tids = NULL, busiest = 0;
    size_t sum_count = 0, capacity = 0, tid_count = 0, tid_capacity = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t *place = gt_map_put(&places, (uint64_t)events[i]->tid, 0);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)sum_count;
            GT_PUSH(sums, sum_count, capacity, 0.0);
            GT_PUSH(tids, tid_count, tid_capacity, events[i]->tid);
        }
        sums[*place] += events[i]->event.dur_us;
    }
    for (size_t i = 0; i < sum_count; i++)
        if (sums[i] > most) {
            most = sums[i];
            busiest = tids[i];
        }
    gt_free_all(sums, tids);
    gt_map_free(&places);
    return busiest;
}

static void select_stream(reader *r, int64_t pid, gt_gpu_stream *out)
{
    timed_event **gpu_events = gt_alloc((r->count + 1) * sizeof *gpu_events);
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++)
        if (r->events[i].pid == pid) gpu_events[count++] = &r->events[i];
    qsort(gpu_events, count, sizeof *gpu_events, by_start);
    int64_t tid = busiest_thread(gpu_events, count);
    *out = (gt_gpu_stream){.strings = r->strings, .items = gt_alloc((count + 1) * sizeof *out->items)};
    for (size_t i = 0; i < count; i++)
        if (gpu_events[i]->tid == tid) out->items[out->count++] = gpu_events[i]->event;
    gt_free(gpu_events);
}

bool gt_gpu_stream_read(gt_stream *stream, int64_t gpu, gt_interner *strings, const gt_read_options *options,
                        gt_gpu_stream *out, gt_error *error)
{
    reader r = {.strings = strings,
                .complete = gt_interner_add_cstr(strings, "X"),
                .metadata = gt_interner_add_cstr(strings, "M"),
                .process_name = gt_interner_add_cstr(strings, "process_name")};
    gt_json json;
    int64_t pid = 0;
    bool found = false;
    gt_progress_begin(gt_stream_path(stream), gt_stream_size(stream));
    gt_json_begin(&json, stream, 0);
    bool read = gt_chrome_visit(&json, &(gt_chrome_visitor){&r, read_events, NULL}, &found);
    gt_progress_end();
    bool ok = gt_chrome_accept(&json, read, found, r.count, "not a Chrome trace (no 'traceEvents')", options,
                               error);
    if (ok && !find_pid(&r, gpu, &pid))
        ok = gt_fail(error, "%s: no process /device:GPU:%" PRId64 " in this trace", gt_stream_path(stream),
                     gpu);
    if (ok) select_stream(&r, pid, out);
    if (ok && !out->count) {
        gt_gpu_stream_free(out);
        ok = gt_fail(error, "%s: no events on /device:GPU:%" PRId64, gt_stream_path(stream), gpu);
    }
    gt_free_all(r.events, r.processes);
    gt_map_free(&r.process_of);
    return ok;
}
