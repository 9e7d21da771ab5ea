/* launch_stats_summary: how long do launches take, and how long does work wait after them?
 *
 * One row a call that queues work, over all its calls whose work is in the trace; times in µs:
 *
 *     cpu_duration           of the call
 *     gpu_duration           of the work
 *     launch_delay           from the call's end to the work's start, not below 0
 *     short_gpu_kernels      calls whose work was shorter than the call itself
 *     runtime_outliers       calls of more than 50 µs
 *     launch_delay_outliers  delays of more than 100 µs */
#include "analysis/hta/hta.h"
#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/stats.h"

#include <math.h>
#include <stdlib.h>

enum { CPU_DURATION, GPU_DURATION, LAUNCH_DELAY, METRICS };
static const char *const metrics[METRICS] = {"cpu_duration", "gpu_duration", "launch_delay"};
static const gt_col outlier_names[] = {GT_COL_SHORT_GPU_KERNELS, GT_COL_RUNTIME_OUTLIERS,
                                       GT_COL_LAUNCH_DELAY_OUTLIERS};
enum { OUTLIERS = GT_LENGTH(outlier_names), LONG_CALL_US = 50, LONG_DELAY_US = 100 };

enum { FIRST_METRIC = 3, COLUMNS_A_METRIC = 4, FIRST_OUTLIER = FIRST_METRIC + METRICS * COLUMNS_A_METRIC };

typedef struct named {
    gt_str name;
    uint32_t id, kernel;
} named;

static int by_name(const void *a, const void *b)
{
    const named *one = a, *other = b;
    int order = one->id == other->id ? 0 : gt_str_compare(one->name, other->name);
    return order ? order : one->kernel < other->kernel ? -1 : 1;
}

static gt_table *begin_table(const gt_hta_events *events)
{
    gt_table *table = gt_table_new(GT_SHEET_LAUNCH_STATS_SUMMARY, events->strings);
    gt_type time = events->whole ? GT_TYPE_INT : GT_TYPE_FLOAT;
    const struct {
        const char *name;
        gt_type type;
    } of[COLUMNS_A_METRIC] = {
        {"sum", time}, {"mean", GT_TYPE_FLOAT}, {"median", GT_TYPE_FLOAT}, {"max", time}};
    gt_table_add_column(table, GT_COL_RANK, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_LAUNCH, GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL_COUNT, GT_TYPE_INT);
    for (size_t m = 0; m < METRICS; m++) {
        for (size_t i = 0; i < COLUMNS_A_METRIC; i++) {
            char *name = gt_format("%s_%s", metrics[m], of[i].name);
            gt_table_add_column(table, gt_col_named(name), of[i].type);
            gt_free(name);
        }
    }
    for (size_t i = 0; i < OUTLIERS; i++) gt_table_add_column(table, outlier_names[i], GT_TYPE_INT);
    return table;
}

static void add_call(gt_table *table, const gt_hta_events *events, int64_t rank, const named *calls,
                     size_t count)
{
    double *values[METRICS];
    int64_t outliers[OUTLIERS] = {0};
    for (size_t m = 0; m < METRICS; m++) values[m] = gt_alloc(count * sizeof **values);
    for (size_t i = 0; i < count; i++) {
        const gt_hta_kernel *kernel = &events->kernels[calls[i].kernel];
        double cpu_us = values[CPU_DURATION][i] = kernel->launch.dur_us;
        double gpu_us = values[GPU_DURATION][i] = kernel->at.dur_us;
        double delay_us = values[LAUNCH_DELAY][i] = fmax(0, kernel->at.start_us - kernel->launch.end_us);
        outliers[0] += gpu_us < cpu_us;
        outliers[1] += cpu_us > LONG_CALL_US;
        outliers[2] += delay_us > LONG_DELAY_US;
    }
    size_t row = gt_table_add_row(table);
    gt_table_set_int(table, 0, row, rank);
    gt_table_set_string(table, 1, row, calls[0].id);
    gt_table_set_int(table, 2, row, (int64_t)count);
    for (size_t m = 0; m < METRICS; m++) {
        size_t column = FIRST_METRIC + m * COLUMNS_A_METRIC;
        gt_hta_set_time(table, column, row, gt_sum_pairwise(values[m], count));
        gt_table_set_float(table, column + 1, row, gt_mean(values[m], count));
        gt_hta_set_time(table, column + 3, row, gt_quantile(values[m], count, 1));
        gt_table_set_float(table, column + 2, row, gt_median_in_place(values[m], count));
        gt_free(values[m]);
    }
    for (size_t i = 0; i < OUTLIERS; i++) gt_table_set_int(table, FIRST_OUTLIER + i, row, outliers[i]);
}

gt_table *gt_hta_launch_stats_summary(const gt_hta_events *events, int64_t rank)
{
    gt_table *table = begin_table(events);
    named *calls = gt_alloc(events->count * sizeof *calls);
    size_t count = 0;
    for (size_t i = 0; i < events->count; i++) {
        const gt_hta_kernel *kernel = &events->kernels[i];
        if (!kernel->is_queued) continue;
        calls[count++] =
            (named){gt_interner_get(events->strings, kernel->launch_name), kernel->launch_name, (uint32_t)i};
    }
    if (count) qsort(calls, count, sizeof *calls, by_name);
    for (size_t begin = 0, i = 0; i < count; i++) {
        if (i + 1 < count && calls[i + 1].id == calls[begin].id) continue;
        add_call(table, events, rank, calls + begin, i + 1 - begin);
        begin = i + 1;
    }
    gt_free(calls);
    return table;
}
