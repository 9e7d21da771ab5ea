/* Calls of the runtime and the driver by name, side by side for all ranks: how many, and their shortest,
 * longest and mean duration in microseconds. A rank without a call has empty cells. Two files of one rank
 * count as one.
 *
 * The columns are count_<rank>, min_dur_<rank>, max_dur_<rank>, mean_dur_<rank>; in a workbook the measures
 * stand above the ranks. */
#include "analysis/batch/batch.h"

#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <math.h>
#include <stdlib.h>

static const gt_col keys[] = {GT_COL_NAME, GT_COL_CAT, GT_COL_RANK};
enum { NAME, CATEGORY, CALL_KEYS, RANK = CALL_KEYS };

static const gt_aggregate of_rank[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT},
                                       {GT_COL_DUR, GT_GROUP_MIN, GT_COL_MIN_DUR},
                                       {GT_COL_DUR, GT_GROUP_MAX, GT_COL_MAX_DUR},
                                       {GT_COL_DUR, GT_GROUP_SUM, GT_COL_SUM_DUR}};
static const gt_aggregate of_files[] = {{GT_COL_COUNT, GT_GROUP_SUM, GT_COL_COUNT},
                                        {GT_COL_MIN_DUR, GT_GROUP_MIN, GT_COL_MIN_DUR},
                                        {GT_COL_MAX_DUR, GT_GROUP_MAX, GT_COL_MAX_DUR},
                                        {GT_COL_SUM_DUR, GT_GROUP_SUM, GT_COL_SUM_DUR}};
static const gt_column_head measures[] = {
    {GT_COL_COUNT, GT_TYPE_INT},
    {GT_COL_MIN_DUR, GT_TYPE_FLOAT},
    {GT_COL_MAX_DUR, GT_TYPE_FLOAT},
    {GT_COL_MEAN_DUR, GT_TYPE_FLOAT},
};

gt_table *gt_batch_calls_of_rank(const gt_event_view *trace, int64_t rank)
{
    enum { DURATION = RANK + 1 };
    gt_table *calls = gt_table_new(GT_SHEET_CUDA_EVENTS_SUMMARY, trace->strings);
    gt_table_add_column(calls, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(calls, GT_COL_CAT, GT_TYPE_STRING);
    gt_table_add_column(calls, GT_COL_RANK, GT_TYPE_INT);
    gt_table_add_column(calls, GT_COL_DUR, GT_TYPE_FLOAT);
    uint32_t runtime = gt_interner_add_cstr(trace->strings, "cuda_runtime");
    uint32_t driver = gt_interner_add_cstr(trace->strings, "cuda_driver");
    for (size_t row = 0; row < trace->count; row++) {
        if (trace->kind[row] != GT_KIND_RUNTIME && trace->kind[row] != GT_KIND_DRIVER) continue;
        size_t added = gt_table_add_row(calls);
        gt_table_set_string(calls, NAME, added, trace->name[row]);
        gt_table_set_string(calls, CATEGORY, added, trace->kind[row] == GT_KIND_RUNTIME ? runtime : driver);
        gt_table_set_int(calls, RANK, added, rank);
        gt_table_set_float(calls, DURATION, added, isnan(trace->dur_us[row]) ? 0 : trace->dur_us[row]);
    }
    gt_table *rows =
        gt_table_group(calls, keys, GT_LENGTH(keys), of_rank, GT_LENGTH(of_rank), (gt_group_options){0});
    gt_table_free(calls);
    return rows;
}

static void add_means(gt_table *table)
{
    size_t mean = gt_table_add_zeroed(table, GT_COL_MEAN_DUR, GT_TYPE_FLOAT);
    const int64_t *counts = gt_table_column(table, GT_COL_COUNT)->ints;
    const double *sums = gt_table_column(table, GT_COL_SUM_DUR)->floats;
    for (size_t row = 0; row < table->row_count; row++)
        table->columns[mean].floats[row] = sums[row] / (double)counts[row];
}

/* The different ranks, ascending, as a table of one column. */
static gt_table *find_ranks(const gt_table *table)
{
    return gt_table_group(table, &keys[RANK], 1, NULL, 0, (gt_group_options){.sorted = true});
}

static void add_measure(gt_table *sheet, const gt_table *all, const gt_groups *calls,
                        const gt_groups *of_ranks, const gt_table *ranks, size_t measure)
{
    size_t first = sheet->column_count;
    for (size_t i = 0; i < ranks->row_count; i++) {
        long long rank = (long long)ranks->columns[0].ints[i];
        char *name = gt_format("%s_%lld", measures[measure].name.name, rank),
             *under = gt_format("%lld", rank);
        size_t column = gt_table_add_column(sheet, gt_col_named(name), measures[measure].type);
        gt_table_set_headings(sheet, column, measures[measure].name.name, under);
        gt_free(name);
        gt_free(under);
    }
    const gt_column *values = gt_table_column(all, measures[measure].name);
    for (size_t row = 0; row < all->row_count; row++) {
        size_t column = first + of_ranks->of_row[row];
        if (measures[measure].type == GT_TYPE_INT)
            gt_table_set_int(sheet, column, calls->of_row[row], values->ints[row]);
        else
            gt_table_set_float(sheet, column, calls->of_row[row], values->floats[row]);
    }
}

gt_table *gt_batch_calls(const gt_table *rows)
{
    const gt_group_options sorted = {.sorted = true};
    gt_table *all = gt_table_group(rows, keys, GT_LENGTH(keys), of_files, GT_LENGTH(of_files), sorted);
    add_means(all);
    gt_table *ranks = find_ranks(all);
    gt_groups calls = gt_groups_find(all, keys, CALL_KEYS, sorted),
              of_ranks = gt_groups_find(all, &keys[RANK], 1, sorted);
    gt_table *sheet = gt_table_group(all, keys, CALL_KEYS, NULL, 0, sorted);
    gt_table_rename(sheet, GT_SHEET_CUDA_EVENTS_SUMMARY);
    gt_table_set_headings(sheet, CATEGORY, NULL, "rank");
    for (size_t i = 0; i < GT_LENGTH(measures); i++) add_measure(sheet, all, &calls, &of_ranks, ranks, i);
    gt_groups_free(&calls);
    gt_groups_free(&of_ranks);
    gt_table_free(ranks);
    gt_table_free(all);
    return sheet;
}
