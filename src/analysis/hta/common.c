/* What several of these sheets need: stretches of time by type of work, work by stream, statistics of a list.
 */
#include "analysis/hta/hta.h"
#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "table/stats.h"

#include <math.h>
#include <stdlib.h>

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

/* ---- streams ---- */

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
    size_t count = events->count, number_capacity = 0, end_capacity = 0, ends = 0;
    entry *entries = gt_alloc(count * sizeof *entries);
    gt_hta_streams streams = {.places = gt_alloc(count * sizeof *streams.places)};
    for (size_t i = 0; i < count; i++)
        entries[i] = (entry){events->kernels[i].stream, events->kernels[i].at.start_us, (uint32_t)i};
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

/* ---- cells ---- */

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
