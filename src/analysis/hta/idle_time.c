/* idle_time_breakdown and idle_interval_stats: why was a stream idle between two of its kernels?
 *
 * The time from the end of a kernel, copy or memset to the start of the next one on its stream counts as
 *
 *     host_wait    where the next one's launch began only after that end: the host was late
 *     kernel_wait  else, where it is shorter than the usual delay between two kernels
 *     other        else: waiting for another stream or for an event; also the first kernel, without an
 * interval
 *
 *     idle_time        sum of a category's intervals, µs, two decimals
 *     idle_time_ratio  its share of all of the stream's, two decimals; missing where that is 0 */
#include "analysis/hta/hta.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/stats.h"

#include <math.h>
#include <stdlib.h>

enum { HOST_WAIT, KERNEL_WAIT, OTHER, CATEGORIES };
static const char *const category_names[CATEGORIES] = {"host_wait", "kernel_wait", "other"};

typedef struct category {
    bool seen; /* the first kernel of a stream has a category but no interval */
    double *intervals_us;
    size_t count, capacity;
} category;

static int category_of(const gt_hta_kernel *kernel, double previous_end_us, int64_t kernel_delay_us)
{
    if (kernel->has_launch && kernel->launch.start_us > previous_end_us) return HOST_WAIT;
    return kernel->at.start_us - previous_end_us < (double)kernel_delay_us ? KERNEL_WAIT : OTHER;
}

/* Sorts the intervals of one stream into categories, which are empty. False where it has no kernel. */
static bool sort_intervals(const gt_hta_events *events, const uint32_t *places, size_t count,
                           category *categories)
{
    bool any = false;
    double previous_end_us = 0;
    for (size_t i = 0; i < count; i++) {
        const gt_hta_kernel *kernel = &events->kernels[places[i]];
        if (!kernel->is_work) continue;
        category *c = &categories[OTHER];
        if (any) {
            c = &categories[category_of(kernel, previous_end_us, events->options.kernel_delay_us)];
            GT_PUSH(c->intervals_us, c->count, c->capacity, kernel->at.start_us - previous_end_us);
        }
        c->seen = any = true;
        previous_end_us = kernel->at.end_us;
    }
    return any;
}

static size_t add_row(gt_table *table, int64_t rank, int64_t stream, size_t kind)
{
    size_t row = gt_table_add_row(table);
    gt_table_set_int(table, 0, row, rank);
    gt_table_set_int(table, 1, row, stream);
    gt_table_set_cstr(table, 2, row, category_names[kind]);
    return row;
}

static void add_sums(gt_table *table, int64_t rank, int64_t stream, const category *categories)
{
    double sums_us[CATEGORIES], whole_us = 0;
    for (size_t i = 0; i < CATEGORIES; i++) {
        sums_us[i] = gt_sum_pairwise(categories[i].intervals_us, categories[i].count);
        whole_us += sums_us[i];
    }
    for (size_t i = 0; i < CATEGORIES; i++) {
        if (!categories[i].seen) continue;
        size_t row = add_row(table, rank, stream, i);
        gt_table_set_float(table, 3, row, gt_hta_hundredths(sums_us[i]));
        gt_table_set_float(table, 4, row,
                           whole_us != 0 ? gt_hta_hundredths(sums_us[i] / whole_us) : (double)NAN);
    }
}

static void add_statistics(gt_table *table, int64_t rank, int64_t stream, const category *categories)
{
    for (size_t i = 0; i < CATEGORIES; i++) {
        if (!categories[i].seen) continue;
        size_t row = add_row(table, rank, stream, i);
        gt_hta_set_statistics(table, 3, row, categories[i].intervals_us, categories[i].count);
        for (size_t c = 4; c < table->column_count; c++)
            table->columns[c].floats[row] = gt_hta_hundredths(table->columns[c].floats[row]);
    }
}

static gt_table *begin_table(gt_sheet name, const gt_hta_events *events)
{
    gt_table *table = gt_table_new(name, events->strings);
    gt_table_add_column(table, GT_COL_RANK, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_STREAM, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_IDLE_CATEGORY, GT_TYPE_STRING);
    return table;
}

static void add_streams(gt_table *table, const gt_hta_events *events, int64_t rank,
                        void add(gt_table *, int64_t, int64_t, const category *))
{
    gt_hta_streams streams = gt_hta_streams_find(events);
    for (size_t i = 0, begin = 0; i < streams.count; begin = streams.ends[i++]) {
        category categories[CATEGORIES] = {0};
        if (sort_intervals(events, streams.places + begin, streams.ends[i] - begin, categories))
            add(table, rank, streams.numbers[i], categories);
        for (size_t c = 0; c < CATEGORIES; c++) gt_free(categories[c].intervals_us);
    }
    gt_hta_streams_free(&streams);
}

gt_table *gt_hta_idle_time_breakdown(const gt_hta_events *events, int64_t rank)
{
    gt_table *table = begin_table(GT_SHEET_IDLE_TIME_BREAKDOWN, events);
    gt_table_add_column(table, GT_COL_IDLE_TIME, GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL_IDLE_TIME_RATIO, GT_TYPE_FLOAT);
    add_streams(table, events, rank, add_sums);
    return table;
}

gt_table *gt_hta_idle_interval_stats(const gt_hta_events *events, int64_t rank)
{
    gt_table *table = begin_table(GT_SHEET_IDLE_INTERVAL_STATS, events);
    gt_hta_add_statistics(table);
    add_streams(table, events, rank, add_statistics);
    return table;
}
