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

#include "schema/columns.h"
#include "table/stats.h"
#include "trace/pytorch/event_rows.h"
#include "trace/pytorch/gpu_events.h"

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

/* Whether the starts, or the starts and durations, of all events that are used are integers. */
static bool are_whole(const source *s, unsigned integral)
{
    for (size_t row = 0; row < s->trace->recorded; row++)
        if (counts(s, row) && (s->trace->integral[row] & integral) != integral) return false;
    return true;
}

/* ---- profiler steps ---- */

static bool is_step_row(const source *s, size_t row)
{
    uint8_t kind = s->trace->kind[row];
    return (gt_kind_is_annotation(kind) || kind == GT_KIND_CPU_OP) && counts(s, row) &&
           gt_is_profiler_step(gt_event_name(s->trace, (uint32_t)row));
}

/* Whether a row has a rank or needs none. */
static bool has_rank(const source *s, size_t row)
{
    uint8_t kind = s->trace->kind[row];
    return s->ranks[row] != GT_EVENT_NONE || (!gt_kind_is_gpu(kind) && kind != GT_KIND_RUNTIME &&
                                              kind != GT_KIND_DRIVER && !is_step_row(s, row));
}

/* The ranks by row, if the trace holds several (`gputally fuse`), whose clocks may differ: then all GPU
 * events, calls and steps have a rank. */
static void find_ranks(source *s)
{
    s->ranks = gt_store_ints(s->trace->store, GT_EVENT_RANK);
    size_t row = 0;
    while (row < s->trace->recorded && has_rank(s, row)) row++;
    if (row == s->trace->recorded) return;
    gt_free(s->ranks);
    s->ranks = NULL;
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
    size_t row_count;
    uint32_t *rows = gt_rows_of_kinds(
        s->trace->kind, s->trace->recorded,
        1u << GT_KIND_ANNOTATION | 1u << GT_KIND_GPU_ANNOTATION | 1u << GT_KIND_CPU_OP, &row_count);
    for (size_t i = 0; i < row_count; i++) {
        uint32_t row = rows[i];
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
    gt_free_all(greatest, rows);
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
    const source *s;
    gt_launch_calls calls; /* by id */
    last_steps last; /* host events must start before it. If it is infinity, GPU events without a launch are
                        used too */
} launches;

static const gt_hta_span nothing = {INFINITY, -INFINITY, 0};

static void widen(gt_hta_span *range, gt_hta_span by)
{
    range->start_us = fmin(range->start_us, by.start_us);
    range->end_us = fmax(range->end_us, by.end_us);
}

/* Whether a host event is used. */
static bool is_used(const launches *l, size_t row)
{
    const source *s = l->s;
    return counts(s, row) && !is_gpu_event(s, row) &&
           span_of(s, row).start_us < last_step_start(&l->last, s, row);
}

static bool is_call(const source *s, size_t row)
{
    uint8_t kind = s->trace->kind[row];
    return (kind == GT_KIND_RUNTIME || kind == GT_KIND_DRIVER) && s->ids[row] != GT_EVENT_NONE;
}

/* Finds the calls, and the span of all host events that are used. */
static gt_hta_span find_launches(launches *l, const source *s, bool include_last_step)
{
    gt_hta_span all = nothing;
    *l = (launches){.s = s};
    if (!include_last_step) l->last = find_last_steps(s);
    for (uint32_t row = 0; row < s->trace->recorded; row++) {
        if (!is_used(l, row)) continue;
        widen(&all, span_of(s, row));
        if (is_call(s, row))
            gt_launch_calls_add(&l->calls, s->ids[row], 0, row, gt_event_name(s->trace, row));
    }
    return all;
}

static void launches_free(launches *l)
{
    gt_launch_calls_free(&l->calls);
    gt_map_free(&l->last.places);
    gt_free(l->last.starts_us);
}

/* The row of its launch; GT_NO_EVENT if there is none. */
static uint32_t launch_of(const launches *l, const source *s, size_t row)
{
    int64_t id = s->ids[row];
    if (id == GT_EVENT_NONE) return GT_NO_EVENT;
    return gt_launch_calls_find(&l->calls, id, 0, s->trace->kind[row]);
}

/* ---- GPU events ---- */

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

/* Lists the GPU events, and widens the range by them. */
static void list_kernels(gt_hta_events *events, const source *s, const launches *l, gt_hta_span *range)
{
    size_t capacity = 0;
    for (uint32_t row = 0; row < s->trace->recorded; row++) {
        if (!is_gpu_event(s, row) || !counts(s, row)) continue;
        uint32_t launch = launch_of(l, s, row);
        if (launch == GT_NO_EVENT && last_step_start(&l->last, s, row) < INFINITY) continue;
        gt_hta_kernel kernel = kernel_of(s, row, launch);
        widen(range, kernel.at);
        GT_PUSH(events->kernels, events->count, capacity, kernel);
    }
}

gt_hta_events gt_hta_events_find(const gt_event_view *trace, const gt_hta_options *options)
{
    gt_hta_events events = {.strings = trace->strings, .options = *options};
    source s = {.trace = trace, .hta_times = options->hta_times};
    s.ids = find_ids(trace, options->hta_times);
    s.stream = gt_store_string_ids(trace->store, GT_EVENT_STREAM);
    s.types = gt_alloc_zero(gt_interner_count(trace->strings), sizeof *s.types);
    s.rounds = options->hta_times && !are_whole(&s, GT_INTEGRAL_START);
    events.whole = s.rounds || are_whole(&s, GT_INTEGRAL_START | GT_INTEGRAL_DURATION);
    if (!options->hta_times) find_ranks(&s);
    launches l;
    gt_hta_span range = find_launches(&l, &s, options->include_last_step);
    for (size_t i = 0; i < l.last.count; i++) events.without_last_step |= l.last.starts_us[i] < INFINITY;
    list_kernels(&events, &s, &l, &range);
    if (range.end_us > range.start_us) events.span_us = range.end_us - range.start_us;
    launches_free(&l);
    gt_free_all(s.ids, s.ranks, s.stream, s.types);
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
    if (groups == 1) begins[1] = events->count;
    if (groups < 2) return;
    for (size_t i = 0; i < events->count; i++) begins[group_of[events->kernels[i].row] + 1]++;
    for (size_t g = 0; g < groups; g++) begins[g + 1] += begins[g];
    gt_hta_kernel *grouped = gt_alloc(events->count * sizeof *grouped);
    size_t *next = gt_alloc(groups * sizeof *next);
    for (size_t g = 0; g < groups; g++) next[g] = begins[g];
    for (size_t i = 0; i < events->count; i++)
        grouped[next[group_of[events->kernels[i].row]]++] = events->kernels[i];
    gt_free_all(next, events->kernels);
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

gt_hta_streams gt_hta_streams_find(const gt_hta_events *events)
{
    size_t count = 0, number_capacity = 0, end_capacity = 0, ends = 0;
    double *starts_us = gt_alloc(events->count * sizeof *starts_us); /* by kernel, like the next one */
    int64_t *numbers = gt_alloc(events->count * sizeof *numbers);
    gt_hta_streams streams = {.places = gt_alloc(events->count * sizeof *streams.places)};
    for (size_t i = 0; i < events->count; i++) {
        starts_us[i] = events->kernels[i].at.start_us;
        numbers[i] = events->kernels[i].stream;
        if (numbers[i] != GT_HTA_NO_STREAM) streams.places[count++] = (uint32_t)i;
    }
    gt_order_rows(streams.places, count, starts_us);
    gt_order_by_ints(streams.places, count, numbers, NULL, false);
    for (size_t i = 0; i < count; i++) {
        int64_t stream = numbers[streams.places[i]];
        if (i + 1 < count && numbers[streams.places[i + 1]] == stream) continue;
        GT_PUSH(streams.numbers, streams.count, number_capacity, stream);
        GT_PUSH(streams.ends, ends, end_capacity, i + 1);
    }
    gt_free_all(starts_us, numbers);
    return streams;
}

void gt_hta_streams_free(gt_hta_streams *streams)
{
    gt_free_all(streams->numbers, streams->ends, streams->places);
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
    static const double quarters[] = {0, 0.25, 0.5, 0.75, 1};
    double quartiles[GT_LENGTH(quarters)];
    gt_quantiles(values, count, quarters, GT_LENGTH(quarters), quartiles);
    gt_table_set_int(table, first, row, (int64_t)count);
    gt_table_set_float(table, first + 1, row, gt_mean(values, count));
    gt_table_set_float(table, first + 2, row, gt_std_pairwise(values, count, 1));
    for (size_t i = 0; i < GT_LENGTH(quartiles); i++)
        gt_table_set_float(table, first + 3 + i, row, quartiles[i]);
}
