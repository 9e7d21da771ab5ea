/* Sheets queue_length_summary and launch_stats_summary: how full were the queues, and how long did launches
 * take?
 *
 * queue_length_summary: the length of a stream's queue grows by one when a call that queues an event begins,
 * and shrinks by one when that event starts on the stream. Statistics are over the lengths after each change,
 * however long they lasted.
 *
 *     duration_at_max_queue_length           µs in which the queue had max_queue_length or more entries
 *     relative_duration_at_max_queue_length  that / duration of the whole trace
 *
 * launch_stats_summary: one row per name of a call that queues GPU events, over all its calls whose GPU event
 * is in the trace; times in µs:
 *
 *     cpu_duration           of the call
 *     gpu_duration           of the GPU event
 *     launch_delay           from the end of the call to the start of the GPU event, at least 0
 *     short_gpu_kernels      calls whose GPU event was shorter than the call
 *     runtime_outliers       calls of more than 50 µs
 *     launch_delay_outliers  delays of more than 100 µs */
#include "analysis/hta/hta.h"

#include "schema/columns.h"
#include "table/stats.h"

/* ---- queue_length_summary ---- */

typedef struct change {
    double time_us;
    int by;
} change;

/* The changes of a stream's queue in order of time; at equal times launches come first, so that no queue has
 * a negative length. The kernels of a stream are in order of their starts, so only the launches are sorted.
 */
static size_t list_changes(const gt_hta_events *events, const uint32_t *places, size_t count, change *changes)
{
    double *launches_us = gt_alloc(count * sizeof *launches_us),
           *starts_us = gt_alloc(count * sizeof *starts_us);
    uint32_t *order = gt_alloc(count * sizeof *order);
    size_t queued = 0, listed = 0;
    for (size_t i = 0; i < count; i++) {
        const gt_hta_kernel *kernel = &events->kernels[places[i]];
        if (!kernel->is_queued) continue;
        order[queued] = (uint32_t)queued;
        launches_us[queued] = kernel->launch.start_us;
        starts_us[queued++] = kernel->at.start_us;
    }
    gt_order_rows(order, queued, launches_us);
    for (size_t launch = 0, start = 0; launch < queued || start < queued;) {
        bool launches =
            launch < queued && (start == queued || launches_us[order[launch]] <= starts_us[start]);
        changes[listed++] =
            launches ? (change){launches_us[order[launch++]], 1} : (change){starts_us[start++], -1};
    }
    gt_free_all(launches_us, starts_us, order);
    return listed;
}

/* Fills the lengths after each change. Returns for how long the queue was full. */
static double follow(const change *changes, size_t count, int64_t full, double *lengths)
{
    double full_us = 0;
    int64_t length = 0;
    for (size_t i = 0; i < count; i++) {
        length += changes[i].by;
        lengths[i] = (double)length;
        if (length >= full && i + 1 < count) full_us += changes[i + 1].time_us - changes[i].time_us;
    }
    return full_us;
}

gt_table *gt_hta_queue_length_summary(const gt_hta_events *events, int64_t rank)
{
    gt_table *table = gt_table_new(GT_SHEET_QUEUE_LENGTH_SUMMARY, events->strings);
    gt_table_add_column(table, GT_COL_RANK, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_STREAM, GT_TYPE_INT);
    size_t statistics = gt_hta_add_statistics(table);
    size_t duration = gt_table_add_column(table, GT_COL_DURATION_AT_MAX_QUEUE_LENGTH,
                                          events->whole ? GT_TYPE_INT : GT_TYPE_FLOAT);
    size_t relative = gt_table_add_column(table, GT_COL_RELATIVE_DURATION_AT_MAX_QUEUE_LENGTH, GT_TYPE_FLOAT);

    gt_hta_streams streams = gt_hta_streams_find(events);
    change *changes = gt_alloc(2 * events->count * sizeof *changes);
    double *lengths = gt_alloc(2 * events->count * sizeof *lengths);
    for (size_t i = 0, begin = 0; i < streams.count; begin = streams.ends[i++]) {
        size_t count = list_changes(events, streams.places + begin, streams.ends[i] - begin, changes);
        if (!count) continue;
        double full_us = follow(changes, count, events->options.max_queue_length, lengths);
        size_t row = gt_table_add_row(table);
        gt_table_set_int(table, 0, row, rank);
        gt_table_set_int(table, 1, row, streams.numbers[i]);
        gt_hta_set_statistics(table, statistics, row, lengths, count);
        gt_hta_set_time(table, duration, row, full_us);
        gt_table_set_float(table, relative, row,
                           events->span_us != 0 ? full_us / events->span_us : (double)NAN);
    }
    gt_free_all(changes, lengths);
    gt_hta_streams_free(&streams);
    return table;
}

/* ---- launch_stats_summary ---- */

enum { CPU_DURATION, GPU_DURATION, LAUNCH_DELAY, METRICS };
static const char *const metrics[METRICS] = {"cpu_duration", "gpu_duration", "launch_delay"};
static const gt_col outlier_names[] = {GT_COL_SHORT_GPU_KERNELS, GT_COL_RUNTIME_OUTLIERS,
                                       GT_COL_LAUNCH_DELAY_OUTLIERS};
enum { OUTLIERS = GT_LENGTH(outlier_names), LONG_CALL_US = 50, LONG_DELAY_US = 100 };

enum {
    FIRST_METRIC = 3,
    COLUMNS_PER_METRIC = 4,
    FIRST_OUTLIER = FIRST_METRIC + METRICS * COLUMNS_PER_METRIC
};

static gt_table *begin_table(const gt_hta_events *events)
{
    gt_table *table = gt_table_new(GT_SHEET_LAUNCH_STATS_SUMMARY, events->strings);
    gt_type time = events->whole ? GT_TYPE_INT : GT_TYPE_FLOAT;
    const struct {
        const char *name;
        gt_type type;
    } of[COLUMNS_PER_METRIC] = {
        {"sum", time}, {"mean", GT_TYPE_FLOAT}, {"median", GT_TYPE_FLOAT}, {"max", time}};
    gt_table_add_column(table, GT_COL_RANK, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_LAUNCH, GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL_COUNT, GT_TYPE_INT);
    for (size_t m = 0; m < METRICS; m++) {
        for (size_t i = 0; i < COLUMNS_PER_METRIC; i++) {
            char *name = gt_format("%s_%s", metrics[m], of[i].name);
            gt_table_add_column(table, gt_col_named(name), of[i].type);
            gt_free(name);
        }
    }
    for (size_t i = 0; i < OUTLIERS; i++) gt_table_add_column(table, outlier_names[i], GT_TYPE_INT);
    return table;
}

/* The calls of one name, and the statistics of one metric of theirs. */
typedef struct call_group {
    const gt_hta_events *events;
    const uint32_t *kernels; /* in file order */
    size_t count;
    struct {
        double sum, mean, median, max;
    } of[METRICS];
    int64_t outliers[OUTLIERS];
} call_group;

static double delay_of(const gt_hta_kernel *kernel)
{
    return fmax(0, kernel->at.start_us - kernel->launch.end_us);
}

static double metric_of(const gt_hta_kernel *kernel, size_t metric)
{
    return metric == CPU_DURATION   ? kernel->launch.dur_us
           : metric == GPU_DURATION ? kernel->at.dur_us
                                    : delay_of(kernel);
}

static void measure_metric(call_group *g, size_t metric)
{
    double *values = gt_alloc(g->count * sizeof *values);
    for (size_t i = 0; i < g->count; i++) values[i] = metric_of(&g->events->kernels[g->kernels[i]], metric);
    g->of[metric].sum = gt_sum_pairwise(values, g->count);
    g->of[metric].mean = gt_mean(values, g->count);
    g->of[metric].max = gt_quantile(values, g->count, 1);
    g->of[metric].median = gt_median_in_place(values, g->count);
    gt_free(values);
}

static void count_outliers(call_group *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const gt_hta_kernel *kernel = &g->events->kernels[g->kernels[i]];
        g->outliers[0] += kernel->at.dur_us < kernel->launch.dur_us;
        g->outliers[1] += kernel->launch.dur_us > LONG_CALL_US;
        g->outliers[2] += delay_of(kernel) > LONG_DELAY_US;
    }
}

static void add_call(gt_table *table, const gt_hta_events *events, int64_t rank, const uint32_t *kernels,
                     size_t count)
{
    call_group g = {.events = events, .kernels = kernels, .count = count};
    for (size_t m = 0; m < METRICS; m++) measure_metric(&g, m);
    count_outliers(&g);
    size_t row = gt_table_add_row(table);
    gt_table_set_int(table, 0, row, rank);
    gt_table_set_string(table, 1, row, events->kernels[kernels[0]].launch_name);
    gt_table_set_int(table, 2, row, (int64_t)count);
    for (size_t m = 0; m < METRICS; m++) {
        size_t column = FIRST_METRIC + m * COLUMNS_PER_METRIC;
        gt_hta_set_time(table, column, row, g.of[m].sum);
        gt_table_set_float(table, column + 1, row, g.of[m].mean);
        gt_table_set_float(table, column + 2, row, g.of[m].median);
        gt_hta_set_time(table, column + 3, row, g.of[m].max);
    }
    for (size_t i = 0; i < OUTLIERS; i++) gt_table_set_int(table, FIRST_OUTLIER + i, row, g.outliers[i]);
}

gt_table *gt_hta_launch_stats_summary(const gt_hta_events *events, int64_t rank)
{
    gt_table *table = begin_table(events);
    uint32_t *names = gt_alloc(events->count * sizeof *names); /* by kernel */
    uint32_t *calls = gt_alloc(events->count * sizeof *calls);
    size_t count = 0;
    for (size_t i = 0; i < events->count; i++) {
        names[i] = events->kernels[i].launch_name;
        if (events->kernels[i].is_queued) calls[count++] = (uint32_t)i;
    }
    gt_order_by_strings(calls, count, names, events->strings, false);
    for (size_t begin = 0, i = 0; i < count; i++) {
        if (i + 1 < count && names[calls[i + 1]] == names[calls[begin]]) continue;
        add_call(table, events, rank, calls + begin, i + 1 - begin);
        begin = i + 1;
    }
    gt_free_all(names, calls);
    return table;
}
