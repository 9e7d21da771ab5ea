/* Sheet gpu_timeline: for how long did at least one event of each bucket run? And gpu_timeline_by_device: the
 * same for the events of each device.
 *
 *     computation_time     kernels and memsets that are neither of the others
 *     exposed_comm_time    communication without computation at the same time
 *     exposed_memcpy_time  copies without computation and without communication
 *     busy_time            any of them
 *     idle_time            total_time - busy_time, or instead of it, by the length of each idle interval,
 *     micro_idle_time        intervals shorter than the threshold, and
 *     macro_idle_time        the others
 *     total_time           from the first start to the last end
 *     total_comm_time      communication, whatever else ran
 *     total_memcpy_time    copies, whatever else ran
 *
 * time ms = microseconds / 1000; percent = time / total_time * 100, empty if total_time is 0.
 *
 * Per device, total_time goes from the first start to the last end on this device, so the rows of a device
 * are the gpu_timeline of a trace that holds only its events. Before them, the columns device and, where the
 * number does not identify the device, rank and pid (devices.h). */
#include "analysis/pytorch/sheets.h"

#include "analysis/sheet_parts.h"
#include "trace/pytorch/event_rows.h"
#include "trace/pytorch/gpu_events.h"

_Static_assert(GT_NO_DEVICE == GT_NO_GROUP, "events without a device are in no group");

typedef enum bucket { UNKNOWN, COMPUTATION, COMMUNICATION, MEMCPY, BUCKETS } bucket;

static bucket bucket_of_event(const gt_linked_view *trace, uint32_t row)
{
    static const bucket buckets[GT_GPU_TYPES] = {
        [GT_GPU_COMPUTATION] = COMPUTATION, [GT_GPU_COMMUNICATION] = COMMUNICATION, [GT_GPU_MEMCPY] = MEMCPY};
    return buckets[gt_gpu_type_of(&trace->events, row)];
}

/* ---- times ---- */

/* Which events a timeline covers. */
typedef struct selection {
    bool include_unlinked;
    bool by_recompute, recompute;
} selection;

static bool is_selected(const gt_linked_view *trace, size_t row, selection events)
{
    if (!events.include_unlinked && trace->parent[row] == GT_NO_EVENT) return false;
    return !events.by_recompute || (trace->recompute && trace->recompute[row]) == events.recompute;
}

/* The bucket of each name, found when it is first needed. */
typedef struct bucket_cache {
    uint8_t *buckets;
} bucket_cache;

/* Several threads may find the bucket of a name at the same time. */
static bucket bucket_of(const gt_linked_view *trace, const bucket_cache *known, uint32_t row)
{
    if (trace->kind[row] == GT_KIND_MEMCPY) return MEMCPY;
    uint8_t *found = &known->buckets[trace->name[row]], of = __atomic_load_n(found, __ATOMIC_RELAXED);
    if (of != UNKNOWN) return of;
    of = (uint8_t)bucket_of_event(trace, row);
    __atomic_store_n(found, of, __ATOMIC_RELAXED);
    return of;
}

/* GPU events, in file order: the rows of a trace or of one device. */
typedef struct gpu_events {
    const uint32_t *rows;
    size_t count;
} gpu_events;

/* Events being put into the lists of their buckets: each range of events counts its own, then it knows where
 * they go. */
typedef struct collection {
    const gt_linked_view *trace;
    const bucket_cache *known;
    gpu_events all;
    selection events;
    uint8_t *in;               /* by event: its bucket; UNKNOWN: not selected */
    size_t (*places)[BUCKETS]; /* by range */
    gt_intervals *running;     /* by bucket */
} collection;

static void count_buckets(void *context, size_t begin, size_t end)
{
    const collection *c = context;
    size_t counts[BUCKETS] = {0};
    for (size_t i = begin; i < end; i++) {
        uint32_t row = c->all.rows[i];
        c->in[i] =
            is_selected(c->trace, row, c->events) ? (uint8_t)bucket_of(c->trace, c->known, row) : UNKNOWN;
        counts[c->in[i]]++;
    }
    memcpy(c->places[begin / GT_ROWS_GRAIN], counts, sizeof counts);
}

static void fill_buckets(void *context, size_t begin, size_t end)
{
    const collection *c = context;
    size_t places[BUCKETS];
    memcpy(places, c->places[begin / GT_ROWS_GRAIN], sizeof places);
    for (size_t i = begin; i < end; i++) {
        if (c->in[i] == UNKNOWN) continue;
        uint32_t row = c->all.rows[i];
        c->running[c->in[i]].items[places[c->in[i]]++] =
            (gt_interval){c->trace->start_us[row], gt_event_end_us(&c->trace->events, row)};
    }
}

/* Fills the merged intervals of each bucket and returns the number of events. */
static size_t collect(const gt_linked_view *trace, const bucket_cache *known, gpu_events all,
                      selection events, gt_intervals running[BUCKETS])
{
    size_t ranges = gt_range_count(all.count, GT_ROWS_GRAIN), count = 0;
    collection c = {trace, known, all, events, .running = running};
    c.in = gt_alloc(all.count);
    c.places = gt_alloc_zero(ranges, sizeof *c.places);
    gt_parallel_ranges(all.count, GT_ROWS_GRAIN, count_buckets, &c);
    for (size_t in = COMPUTATION; in < BUCKETS; in++) {
        size_t total = 0;
        for (size_t range = 0; range < ranges; range++) {
            size_t here = c.places[range][in];
            c.places[range][in] = total;
            total += here;
        }
        gt_intervals_reserve(&running[in], total);
        running[in].count = total;
        count += total;
    }
    gt_parallel_ranges(all.count, GT_ROWS_GRAIN, fill_buckets, &c);
    gt_free_all(c.in, c.places);
    for (size_t in = COMPUTATION; in < BUCKETS; in++) gt_intervals_merge(&running[in]);
    return count;
}

typedef struct times {
    double computation, communication, memcpy, exposed_communication, exposed_memcpy;
    double total, busy, idle, micro_idle, macro_idle;
} times;

/* The questions about the buckets are independent of each other, and each adds up in order. */
typedef struct measuring {
    const gt_intervals *running;
    double micro_idle_max_us;
    gt_intervals uncopied; /* computation or communication */
    times t;
} measuring;

static void measure_all(measuring *m)
{
    gt_intervals all = gt_intervals_union(&m->uncopied, &m->running[MEMCPY]);
    m->t.busy = gt_intervals_length(&all);
    m->t.total = all.items[all.count - 1].end - all.items[0].start;
    m->t.idle = m->t.total - m->t.busy;
    for (size_t i = 1; i < all.count; i++) { /* an event of length 0 still splits an idle interval */
        double idle = all.items[i].start - all.items[i - 1].end;
        *(idle < m->micro_idle_max_us ? &m->t.micro_idle : &m->t.macro_idle) += idle;
    }
    gt_intervals_free(&all);
}

enum { ALL, COMPUTING, COMMUNICATING, COPYING, EXPOSED_COMMUNICATION, EXPOSED_COPYING, QUESTIONS };

static void measure_one(void *context, size_t question)
{
    measuring *m = context;
    const gt_intervals *running = m->running;
    switch (question) {
    case ALL:
        measure_all(m);
        break;
    case COMPUTING:
        m->t.computation = gt_intervals_length(&running[COMPUTATION]);
        break;
    case COMMUNICATING:
        m->t.communication = gt_intervals_length(&running[COMMUNICATION]);
        break;
    case COPYING:
        m->t.memcpy = gt_intervals_length(&running[MEMCPY]);
        break;
    case EXPOSED_COMMUNICATION:
        m->t.exposed_communication =
            gt_intervals_length_without(&running[COMMUNICATION], &running[COMPUTATION]);
        break;
    case EXPOSED_COPYING:
        m->t.exposed_memcpy = gt_intervals_length_without(&running[MEMCPY], &m->uncopied);
        break;
    }
}

static times measure(const gt_intervals running[BUCKETS], double micro_idle_max_us)
{
    measuring m = {.running = running, .micro_idle_max_us = micro_idle_max_us};
    m.uncopied = gt_intervals_union(&running[COMPUTATION], &running[COMMUNICATION]);
    gt_parallel_each(QUESTIONS, measure_one, &m);
    gt_intervals_free(&m.uncopied);
    return m.t;
}

/* ---- the sheet ---- */

static void add_times(gt_table *timeline, const times *t, bool split_idle)
{
    const struct {
        const char *type;
        double time_us;
        bool shown;
    } parts[] = {
        {"computation_time", t->computation, true},
        {"exposed_comm_time", t->exposed_communication, true},
        {"exposed_memcpy_time", t->exposed_memcpy, true},
        {"busy_time", t->busy, true},
        {"idle_time", t->idle, !split_idle},
        {"micro_idle_time", t->micro_idle, split_idle},
        {"macro_idle_time", t->macro_idle, split_idle},
        {"total_time", t->total, true},
        {"total_comm_time", t->communication, true},
        {"total_memcpy_time", t->memcpy, true},
    };
    for (size_t i = 0; i < GT_LENGTH(parts); i++) {
        if (!parts[i].shown) continue;
        double percent = t->total != 0 ? parts[i].time_us / t->total * 100.0 : NAN;
        gt_gpu_timeline_add(timeline, parts[i].type, parts[i].time_us, percent);
    }
}

static void add_timeline(gt_table *timeline, const gt_linked_view *trace, const bucket_cache *known,
                         gpu_events all, selection events, const gt_pytorch_timeline_options *options)
{
    gt_intervals running[BUCKETS] = {0};
    if (collect(trace, known, all, events, running)) {
        times t = measure(running, (double)options->micro_idle_max_us);
        size_t first = timeline->row_count;
        add_times(timeline, &t, options->split_idle);
        for (size_t row = first; events.by_recompute && row < timeline->row_count; row++)
            gt_table_set_bool(timeline, gt_table_find(timeline, GT_COL_IS_RECOMPUTE), row, events.recompute);
    }
    for (size_t in = 0; in < BUCKETS; in++) gt_intervals_free(&running[in]);
}

/* Without rows if no event is selected. */
static gt_table *make_timeline(const gt_linked_view *trace, const bucket_cache *known, gpu_events all,
                               const gt_pytorch_timeline_options *options)
{
    gt_table *timeline = gt_gpu_timeline_new(trace->strings);
    selection events = {options->include_unlinked, options->split_recompute, false};
    if (options->split_recompute) gt_table_add_column(timeline, GT_COL_IS_RECOMPUTE, GT_TYPE_BOOL);
    add_timeline(timeline, trace, known, all, events, options);
    if (options->split_recompute) {
        events.recompute = true;
        add_timeline(timeline, trace, known, all, events, options);
    }
    return timeline;
}

static void fail_without_events(const gt_linked_view *trace, const char *how_to_include, gt_error *error)
{
    size_t unlinked = 0;
    for (size_t row = 0; row < trace->count; row++) unlinked += gt_kind_is_gpu(trace->kind[row]);
    if (unlinked)
        gt_fail(
            error,
            "No GPU events found in the trace that are linked to a launch; %zu %s not linked; %s to include "
            "%s",
            unlinked, gt_noun(unlinked, "is", "are"),
            how_to_include ? how_to_include : "use --include_unlinked_kernels",
            gt_noun(unlinked, "it", "them"));
    else
        gt_fail(error, "No GPU events found in the trace");
}

gt_table *gt_pytorch_gpu_timeline(const gt_linked_view *trace, gt_pytorch_timeline_options options,
                                  gt_error *error)
{
    bucket_cache known = {gt_alloc_zero(gt_interner_count(trace->strings), 1)};
    size_t count;
    uint32_t *rows = gt_list_gpu_rows(trace->kind, trace->count, &count);
    gt_table *timeline = make_timeline(trace, &known, (gpu_events){rows, count}, &options);
    gt_free_all(rows, known.buckets);
    if (timeline->row_count) return timeline;
    gt_table_free(timeline);
    fail_without_events(trace, options.how_to_include, error);
    return NULL;
}

/* ---- by device ---- */

gt_table *gt_pytorch_gpu_timeline_by_device(const gt_linked_view *trace, const gt_devices *devices,
                                            gt_pytorch_timeline_options options)
{
    if (devices->count < 2) return NULL;
    if (devices->count > GT_DEVICES_MAX) {
        gt_warn("%s omitted: the trace has %zu devices (limit: %d)", GT_SHEET_GPU_TIMELINE_BY_DEVICE.name,
                devices->count, GT_DEVICES_MAX);
        return NULL;
    }
    bucket_cache known = {gt_alloc_zero(gt_interner_count(trace->strings), 1)};
    size_t with_events = 0;
    gt_groups groups = {.of_row = devices->of_row, .row_count = trace->count, .count = devices->count};
    gt_group_rows rows = gt_group_rows_find(&groups); /* by device */
    gt_table *by_device = gt_gpu_timeline_by_device_new(trace->strings);
    gt_devices_add_columns(devices, by_device, 1);
    for (size_t d = 0; d < devices->count; d++) {
        gpu_events all = {rows.rows + rows.begins[d], rows.begins[d + 1] - rows.begins[d]};
        gt_table *timeline = make_timeline(trace, &known, all, &options);
        size_t first = gt_gpu_timeline_add_device(by_device, 0, timeline);
        gt_devices_fill(devices, d, by_device, first, by_device->row_count);
        with_events += timeline->row_count > 0;
        gt_table_free(timeline);
    }
    gt_group_rows_free(&rows);
    gt_free(known.buckets);
    if (with_events > 1) return by_device;
    gt_table_free(by_device);
    return NULL;
}

/* The first time of a type. */
static double time_of(const gt_table *timeline, const char *type)
{
    const gt_column *types = gt_table_column(timeline, GT_COL_TYPE),
                    *times_ms = gt_table_column(timeline, GT_COL_TIME_MS);
    uint32_t wanted = gt_interner_find(timeline->strings, type, strlen(type));
    for (size_t row = 0; row < timeline->row_count; row++)
        if (types->texts[row] == wanted) return times_ms->floats[row];
    return 0;
}

double gt_pytorch_total_time_ms(const gt_table *timeline)
{
    return time_of(timeline, "total_time");
}

double gt_pytorch_computation_time_ms(const gt_table *timeline)
{
    return time_of(timeline, "computation_time");
}
