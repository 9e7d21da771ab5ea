/* Which GPU events ran, on which stream, what launched them, and of what type are they?
 *
 * A GPU event is a kernel, a copy or a memset, as its category says. Host ops may have a stream too
 * (torch.compile writes one for its Triton ops), so a stream tells nothing. Its launch is the call with the
 * same correlation id, or external id in traces linked by these, that can launch it. Types are those of
 * gpu_timeline. If the trace has several profiler steps, GPU events launched in the last one of their rank
 * are ignored, because that step is often incomplete.
 *
 * With hta_times, times and types are those of HolisticTraceAnalysis; see gt_hta_options. */
#include "analysis/hta/hta.h"

#include "base/map.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "table/stats.h"
#include "trace/pytorch/gpu_events.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Calls that add an entry to a stream's queue. */
static const char *const queueing_calls[] = {
    "cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel",      "cuLaunchKernelEx",
    "cudaMemcpyAsync",  "cudaMemsetAsync",     "hipLaunchKernel",     "hipExtModuleLaunchKernel",
    "hipMemcpyAsync",   "hipMemsetAsync",      "hipMemcpyWithStream",
};

/* HTA's types by name, checked after the names of collectives; if no row fits, the type is computation. */
static const struct {
    const char *text;
    bool anywhere; /* false: at the start of the name */
    gt_hta_type type;
} type_names[] = {
    {"Memcpy", false, GT_HTA_MEMORY},     {"hipMemcpy", false, GT_HTA_MEMORY},
    {"Memset", false, GT_HTA_MEMORY},     {"hipMemset", false, GT_HTA_MEMORY},
    {"dma", false, GT_HTA_MEMORY},        {"Memcpy", true, GT_HTA_OTHER},
    {"Memset", true, GT_HTA_OTHER},       {"dma", true, GT_HTA_OTHER},
    {"Sync", true, GT_HTA_OTHER},         {"Stream Wait Event", false, GT_HTA_OTHER},
    {"runFunction", false, GT_HTA_OTHER}, {"hip", false, GT_HTA_OTHER},
    {"job_exe", false, GT_HTA_OTHER},     {"packet", false, GT_HTA_OTHER},
    {"pe_exe", false, GT_HTA_OTHER},      {"cpum_exe_subgraph", false, GT_HTA_OTHER},
    {"hccl", false, GT_HTA_OTHER},        {"collective_subgraph_execution", false, GT_HTA_OTHER},
};

gt_hta_options gt_hta_options_default(void)
{
    return (gt_hta_options){.kernel_delay_us = 30, .max_queue_length = 1024};
}

static gt_hta_type hta_type_of(const gt_event_view *trace, uint32_t row)
{
    gt_str name = gt_event_name(trace, row);
    if (gt_event_communicates(trace, row)) return GT_HTA_COMMUNICATION;
    for (size_t i = 0; i < GT_LENGTH(type_names); i++) {
        const char *text = type_names[i].text;
        if (type_names[i].anywhere ? gt_str_contains(name, text) : gt_str_starts_with(name, text))
            return type_names[i].type;
    }
    if (gt_str_starts_with(name, "cuda") && memmem(name.bytes + 4, name.len - 4, "LaunchKernel", 12))
        return GT_HTA_OTHER;
    return GT_HTA_COMPUTATION;
}

static gt_hta_type type_of(const gt_event_view *trace, uint32_t row)
{
    static const gt_hta_type types[GT_GPU_TYPES] = {[GT_GPU_COMPUTATION] = GT_HTA_COMPUTATION,
                                                    [GT_GPU_COMMUNICATION] = GT_HTA_COMMUNICATION,
                                                    [GT_GPU_MEMCPY] = GT_HTA_MEMORY};
    return types[gt_gpu_type_of(trace, row)];
}

static bool is_queueing(gt_str name)
{
    for (size_t i = 0; i < GT_LENGTH(queueing_calls); i++)
        if (gt_str_equals(name, queueing_calls[i])) return true;
    return false;
}

/* ---- the trace ---- */

typedef struct source {
    const gt_event_view *trace;
    int64_t *ids;     /* by row: what calls and their GPU events share */
    uint32_t *stream; /* by row: JSON */
    uint8_t *types;   /* by name: 1 + gt_hta_type of kernels and memsets; 0: not computed yet */
    int64_t *ranks;   /* by row; NULL: the trace is one rank's */
    bool hta_times;
    bool rounds; /* to whole microseconds */
} source;

/* Whether an event is used here. Python functions, which other sheets may need, are not. */
static bool counts(const source *s, size_t row)
{
    return s->trace->kind[row] != GT_KIND_PYTHON && s->trace->kind[row] != GT_KIND_OTHER &&
           isfinite(s->trace->start_us[row]) && isfinite(gt_event_end_us(s->trace, row));
}

static int64_t stream_of(const source *s, size_t row)
{
    gt_str text = gt_interner_get(s->trace->strings, s->stream[row]);
    char *end;
    errno = 0;
    if (!text.len || !strchr("-0123456789", text.bytes[0])) return GT_HTA_NO_STREAM;
    int64_t stream = strtoll(text.bytes, &end, 10);
    return end == text.bytes + text.len && !errno ? stream : GT_HTA_NO_STREAM;
}

static bool is_gpu_event(const source *s, size_t row)
{
    uint8_t kind = s->trace->kind[row];
    if (!s->hta_times) return gt_kind_is_gpu(kind);
    return (gt_kind_is_gpu(kind) || kind == GT_KIND_SYNC) && stream_of(s, row) != GT_HTA_NO_STREAM;
}

static gt_hta_span span_of(const source *s, size_t row)
{
    gt_hta_span span = {s->trace->start_us[row], gt_event_end_us(s->trace, row), s->trace->dur_us[row]};
    if (!s->rounds) return span;
    double start_us = ceil(span.start_us), end_us = floor(span.end_us);
    return (gt_hta_span){start_us, end_us, end_us - start_us};
}

/* Whether any event has a start that is not an integer, and whether all times are integers. */
static bool has_fractions(const source *s, bool *all_integers)
{
    bool fractions = false;
    *all_integers = true;
    for (size_t row = 0; row < s->trace->recorded; row++) {
        if (!counts(s, row)) continue;
        fractions |= !(s->trace->integral[row] & GT_INTEGRAL_START);
        *all_integers &= s->trace->integral[row] == (GT_INTEGRAL_START | GT_INTEGRAL_DURATION);
    }
    return fractions;
}

/* ---- profiler steps ---- */

static bool is_step(gt_str name)
{
    if (!gt_str_starts_with(name, "ProfilerStep")) return false;
    size_t at = strlen("ProfilerStep");
    while (at < name.len && name.bytes[at] == ' ') at++;
    if (at == name.len || name.bytes[at++] != '#') return false;
    while (at < name.len && name.bytes[at] == ' ') at++;
    return at < name.len && name.bytes[at] >= '0' && name.bytes[at] <= '9';
}

static bool is_step_row(const source *s, size_t row)
{
    return s->trace->kind[row] == GT_KIND_ANNOTATION && counts(s, row) &&
           is_step(gt_event_name(s->trace, (uint32_t)row));
}

/* By row, if the trace holds several ranks (`gputally fuse`), whose clocks may differ: then all GPU events,
 * calls and steps have a rank. Else NULL. */
static int64_t *find_ranks(const source *s)
{
    int64_t *ranks = gt_store_ints(s->trace->store, GT_EVENT_RANK);
    for (size_t row = 0; row < s->trace->recorded; row++) {
        uint8_t kind = s->trace->kind[row];
        if (ranks[row] != GT_EVENT_NONE) continue;
        if (!gt_kind_is_gpu(kind) && kind != GT_KIND_RUNTIME && kind != GT_KIND_DRIVER &&
            !is_step_row(s, row))
            continue;
        gt_free(ranks);
        return NULL;
    }
    return ranks;
}

static int64_t rank_of(const source *s, size_t row)
{
    return s->ranks ? s->ranks[row] : GT_EVENT_NONE;
}

/* When the last of several steps began on the host, per rank. {0}: all steps are included. */
typedef struct last_steps {
    gt_map places;     /* from a rank to an index into starts */
    double *starts_us; /* infinity if there is only one step */
    size_t count, capacity;
} last_steps;

/* A step may also have an annotation on the GPU, which begins later. */
static last_steps find_last_steps(const source *s)
{
    typedef struct step {
        int64_t rank;
        double start_us;
    } step;
    last_steps last = {0};
    gt_map places = {0};
    step *steps = NULL;
    size_t count = 0, capacity = 0;
    for (size_t row = 0; row < s->trace->recorded; row++) {
        if (!is_step_row(s, row)) continue;
        double start_us = span_of(s, row).start_us;
        uint32_t *place = gt_map_put(&places, s->trace->name[row], (uint64_t)rank_of(s, row));
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)count;
            GT_PUSH(steps, count, capacity, ((step){rank_of(s, row), start_us}));
        }
        steps[*place].start_us = fmin(steps[*place].start_us, start_us);
    }
    double *greatest = gt_alloc(count * sizeof *greatest); /* by index into starts */
    for (size_t i = 0; i < count; i++) {
        uint32_t *place = gt_map_put(&last.places, (uint64_t)steps[i].rank, 0);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)last.count;
            greatest[last.count] = steps[i].start_us;
            GT_PUSH(last.starts_us, last.count, last.capacity, INFINITY);
        } else {
            last.starts_us[*place] = greatest[*place] = fmax(greatest[*place], steps[i].start_us);
        }
    }
    gt_free(greatest);
    gt_map_free(&places);
    gt_free(steps);
    return last;
}

/* When the last step of the event's rank began; infinity if all its steps are included. */
static double last_step_start(const last_steps *last, const source *s, size_t row)
{
    if (!last->count) return INFINITY;
    if (!s->ranks) return last->starts_us[0];
    uint32_t place = gt_map_get(&last->places, (uint64_t)s->ranks[row], 0);
    return place == GT_MAP_NONE ? INFINITY : last->starts_us[place];
}

/* ---- launches ---- */

/* The ids that ops are linked by (links.c). If no call says that it launches, as in a trace of copies, they
 * are the correlation ids if any call has one. HTA knows only these. */
static int64_t *find_ids(const gt_event_view *trace, bool hta_times)
{
    int64_t *correlations = gt_store_ints(trace->store, GT_EVENT_CORRELATION);
    uint32_t first = gt_first_launch(trace);
    bool usable = hta_times || (first != GT_NO_EVENT && correlations[first] != GT_EVENT_NONE);
    for (size_t row = 0; row < trace->recorded && first == GT_NO_EVENT && !usable; row++)
        usable = (trace->kind[row] == GT_KIND_RUNTIME || trace->kind[row] == GT_KIND_DRIVER) &&
                 correlations[row] != GT_EVENT_NONE;
    if (usable) return correlations;
    gt_free(correlations);
    return gt_store_ints(trace->store, GT_EVENT_EXTERNAL_ID);
}

typedef struct launches {
    gt_launch_calls calls; /* by id */
    last_steps last;   /* host events must start before it. If it is infinity, GPU events without a launch are
                          used too */
    gt_hta_span range; /* of all events used */
} launches;

static void widen(gt_hta_span *range, gt_hta_span by)
{
    range->start_us = fmin(range->start_us, by.start_us);
    range->end_us = fmax(range->end_us, by.end_us);
}

static void find_launches(launches *l, const source *s, bool include_last_step)
{
    *l = (launches){.range = {INFINITY, -INFINITY, 0}};
    if (!include_last_step) l->last = find_last_steps(s);
    for (size_t row = 0; row < s->trace->recorded; row++) {
        if (!counts(s, row) || is_gpu_event(s, row)) continue;
        gt_hta_span span = span_of(s, row);
        if (!(span.start_us < last_step_start(&l->last, s, row))) continue;
        widen(&l->range, span);
        uint8_t kind = s->trace->kind[row];
        if ((kind == GT_KIND_RUNTIME || kind == GT_KIND_DRIVER) && s->ids[row] != GT_EVENT_NONE)
            gt_launch_calls_add(&l->calls, s->ids[row], 0, (uint32_t)row,
                                gt_event_name(s->trace, (uint32_t)row));
    }
}

/* The row of its launch; GT_NO_EVENT if there is none. */
static uint32_t launch_of(const launches *l, const source *s, size_t row)
{
    int64_t id = s->ids[row];
    return id == GT_EVENT_NONE ? GT_NO_EVENT : gt_launch_calls_find(&l->calls, id, 0, s->trace->kind[row]);
}

static gt_hta_type known_type(const source *s, size_t row)
{
    gt_hta_type (*find)(const gt_event_view *, uint32_t) = s->hta_times ? hta_type_of : type_of;
    uint8_t *known = &s->types[s->trace->name[row]];
    if (!s->hta_times && s->trace->kind[row] == GT_KIND_MEMCPY) return GT_HTA_MEMORY;
    if (!*known) *known = (uint8_t)(1 + find(s->trace, (uint32_t)row));
    return (gt_hta_type)(*known - 1);
}

static gt_hta_kernel kernel_of(const source *s, size_t row, uint32_t launch)
{
    gt_hta_kernel kernel = {.at = span_of(s, row), .row = (uint32_t)row, .stream = stream_of(s, row)};
    kernel.type = (uint8_t)known_type(s, row);
    kernel.is_work = gt_kind_is_gpu(s->trace->kind[row]);
    if (launch == GT_NO_EVENT) return kernel;
    kernel.has_launch = true;
    kernel.launch = span_of(s, launch);
    kernel.launch_name = s->trace->name[launch];
    kernel.is_queued = is_queueing(gt_event_name(s->trace, launch));
    return kernel;
}

gt_hta_events gt_hta_events_find(const gt_event_view *trace, const gt_hta_options *options)
{
    gt_hta_events events = {.strings = trace->strings, .options = *options};
    source s = {.trace = trace, .hta_times = options->hta_times};
    bool all_integers;
    size_t capacity = 0;
    s.ids = find_ids(trace, options->hta_times);
    s.stream = gt_store_string_ids(trace->store, GT_EVENT_STREAM);
    s.types = gt_alloc_zero(gt_interner_count(trace->strings), sizeof *s.types);
    s.rounds = has_fractions(&s, &all_integers) && options->hta_times;
    events.whole = s.rounds || all_integers;
    if (!options->hta_times) s.ranks = find_ranks(&s);
    launches l;
    find_launches(&l, &s, options->include_last_step);
    for (size_t i = 0; i < l.last.count; i++) events.without_last_step |= l.last.starts_us[i] < INFINITY;
    for (size_t row = 0; row < trace->recorded; row++) {
        if (!counts(&s, row) || !is_gpu_event(&s, row)) continue;
        uint32_t launch = launch_of(&l, &s, row);
        if (launch == GT_NO_EVENT && last_step_start(&l.last, &s, row) < INFINITY) continue;
        gt_hta_kernel kernel = kernel_of(&s, row, launch);
        widen(&l.range, kernel.at);
        GT_PUSH(events.kernels, events.count, capacity, kernel);
    }
    if (l.range.end_us > l.range.start_us) events.span_us = l.range.end_us - l.range.start_us;
    gt_launch_calls_free(&l.calls);
    gt_map_free(&l.last.places);
    gt_free(l.last.starts_us);
    gt_free(s.ids);
    gt_free(s.ranks);
    gt_free(s.stream);
    gt_free(s.types);
    return events;
}

void gt_hta_events_free(gt_hta_events *events)
{
    gt_free(events->kernels);
    *events = (gt_hta_events){0};
}

void gt_hta_events_group(gt_hta_events *events, const uint32_t *group_of, size_t groups, size_t *begins)
{
    for (size_t g = 0; g <= groups; g++) begins[g] = 0;
    for (size_t i = 0; i < events->count; i++) begins[group_of[events->kernels[i].row] + 1]++;
    for (size_t g = 0; g < groups; g++) begins[g + 1] += begins[g];
    if (groups < 2) return;
    gt_hta_kernel *grouped = gt_alloc(events->count * sizeof *grouped);
    size_t *next = gt_alloc(groups * sizeof *next);
    for (size_t g = 0; g < groups; g++) next[g] = begins[g];
    for (size_t i = 0; i < events->count; i++)
        grouped[next[group_of[events->kernels[i].row]]++] = events->kernels[i];
    gt_free(next);
    gt_free(events->kernels);
    events->kernels = grouped;
}

/* ---- intervals, streams and statistics ---- */

gt_intervals gt_hta_running(const gt_hta_events *events, int type)
{
    gt_intervals list = {0};
    for (size_t i = 0; i < events->count; i++) {
        const gt_hta_kernel *kernel = &events->kernels[i];
        if (type == GT_HTA_ANY_TYPE || kernel->type == type)
            gt_intervals_add(&list, kernel->at.start_us, kernel->at.end_us);
    }
    gt_intervals_merge(&list);
    return list;
}

typedef struct entry {
    int64_t stream;
    double start_us;
    uint32_t place;
} entry;

static int by_stream(const void *a, const void *b)
{
    const entry *one = a, *other = b;
    if (one->stream != other->stream) return one->stream < other->stream ? -1 : 1;
    if (one->start_us != other->start_us) return one->start_us < other->start_us ? -1 : 1;
    return one->place < other->place ? -1 : 1;
}

gt_hta_streams gt_hta_streams_find(const gt_hta_events *events)
{
    size_t count = 0, number_capacity = 0, end_capacity = 0, ends = 0;
    entry *entries = gt_alloc(events->count * sizeof *entries);
    gt_hta_streams streams = {.places = gt_alloc(events->count * sizeof *streams.places)};
    for (size_t i = 0; i < events->count; i++) {
        const gt_hta_kernel *kernel = &events->kernels[i];
        if (kernel->stream != GT_HTA_NO_STREAM)
            entries[count++] = (entry){kernel->stream, kernel->at.start_us, (uint32_t)i};
    }
    if (count) qsort(entries, count, sizeof *entries, by_stream);
    for (size_t i = 0; i < count; i++) {
        streams.places[i] = entries[i].place;
        if (i + 1 < count && entries[i + 1].stream == entries[i].stream) continue;
        GT_PUSH(streams.numbers, streams.count, number_capacity, entries[i].stream);
        GT_PUSH(streams.ends, ends, end_capacity, i + 1);
    }
    gt_free(entries);
    return streams;
}

void gt_hta_streams_free(gt_hta_streams *streams)
{
    gt_free(streams->numbers);
    gt_free(streams->ends);
    gt_free(streams->places);
    *streams = (gt_hta_streams){0};
}

static const double MOST_INT = 9.2e18;

double gt_hta_hundredths(double value)
{
    return rint(value * 100) / 100;
}

void gt_hta_set_time(gt_table *table, size_t column, size_t row, double value_us)
{
    if (table->columns[column].type == GT_TYPE_INT)
        gt_table_set_int(table, column, row, fabs(value_us) < MOST_INT ? (int64_t)value_us : INT64_MAX);
    else
        gt_table_set_float(table, column, row, value_us);
}

size_t gt_hta_add_statistics(gt_table *table)
{
    static const gt_col names[] = {
        GT_COL_MEAN,          GT_COL_STD,           GT_COL_MIN, GT_COL_PERCENTILE_25,
        GT_COL_PERCENTILE_50, GT_COL_PERCENTILE_75, GT_COL_MAX};
    size_t first = gt_table_add_column(table, GT_COL_COUNT, GT_TYPE_INT);
    for (size_t i = 0; i < GT_LENGTH(names); i++) gt_table_add_column(table, names[i], GT_TYPE_FLOAT);
    return first;
}

void gt_hta_set_statistics(gt_table *table, size_t first, size_t row, const double *values, size_t count)
{
    gt_table_set_int(table, first, row, (int64_t)count);
    gt_table_set_float(table, first + 1, row, gt_mean(values, count));
    gt_table_set_float(table, first + 2, row, gt_std_pairwise(values, count, 1));
    for (size_t quarter = 0; quarter <= 4; quarter++)
        gt_table_set_float(table, first + 3 + quarter, row, gt_quantile(values, count, (double)quarter / 4));
}
