/* Rows of one name (short names of different kernels, several processes) are added up; their common standard
 * deviation is not known then. Files hold totals, of which means are made anew. */
#include "analysis/rocprof/stats.h"

#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <stdlib.h>

static gt_table *rows_of(const gt_rocprof *run, int64_t of)
{
    static const struct {
        gt_col name;
        size_t column;
    } ints[] = {{GT_COL_COUNT_TITLE, GT_STATS_COUNT},
                {GT_COL_TOTAL_NS, GT_STATS_TOTAL},
                {GT_COL_MIN_NS, GT_STATS_MIN},
                {GT_COL_MAX_NS, GT_STATS_MAX}};
    size_t count = gt_store_count(run->stats);
    int64_t *kinds = gt_store_ints(run->stats, GT_STATS_OF);
    uint32_t *names = gt_store_string_ids(run->stats, GT_STATS_NAME);
    double *stds = gt_store_times(run->stats, GT_STATS_STD);
    gt_table *rows = gt_table_new(GT_SHEET_STATS, run->strings);
    gt_table_add_rows(rows, count);
    size_t name = gt_table_add_column(rows, GT_COL_NAME, GT_TYPE_STRING),
           std = gt_table_add_column(rows, GT_COL_STD_NS, GT_TYPE_FLOAT);
    for (size_t i = 0; i < count; i++) {
        if (kinds[i] == of) rows->columns[name].texts[i] = names[i];
        rows->columns[std].floats[i] = stds[i];
    }
    for (size_t c = 0; c < GT_LENGTH(ints); c++) {
        size_t at = gt_table_add_zeroed(rows, ints[c].name, GT_TYPE_INT);
        int64_t *values = gt_store_ints(run->stats, ints[c].column);
        for (size_t i = 0; i < count; i++) rows->columns[at].ints[i] = values[i];
        gt_free(values);
    }
    gt_free(kinds);
    gt_free(names);
    gt_free(stds);
    return rows;
}

gt_table *gt_rocprof_stats_by_name(const gt_rocprof *run, int64_t of)
{
    static const gt_col keys[] = {GT_COL_NAME};
    static const gt_aggregate sums[] = {
        {GT_COL_COUNT_TITLE, GT_GROUP_SUM, GT_COL_COUNT_TITLE},
        {GT_COL_TOTAL_NS, GT_GROUP_SUM, GT_COL_TOTAL_NS},
        {GT_COL_MIN_NS, GT_GROUP_MIN, GT_COL_MIN_NS},
        {GT_COL_MAX_NS, GT_GROUP_MAX, GT_COL_MAX_NS},
        {GT_COL_STD_NS, GT_GROUP_FIRST, GT_COL_STD_NS},
        {GT_NO_COL, GT_GROUP_SIZE, GT_COL_ROWS},
    };
    if (!run->stats) return NULL;
    gt_table *rows = rows_of(run, of);
    gt_table *names =
        gt_table_group(rows, keys, 1, sums, GT_LENGTH(sums), (gt_group_options){.sorted = true});
    gt_table_free(rows);
    size_t counts = gt_table_find(names, GT_COL_COUNT_TITLE), totals = gt_table_find(names, GT_COL_TOTAL_NS);
    /* Figures that do not add up within an int64 are no figures of a run. */
    if (!names->row_count || names->columns[counts].type != GT_TYPE_INT ||
        names->columns[totals].type != GT_TYPE_INT) {
        gt_table_free(names);
        return NULL;
    }
    size_t mean = gt_table_add_column(names, GT_COL_MEAN_NS, GT_TYPE_FLOAT);
    gt_table_add_column(names, GT_COL_MEDIAN_NS, GT_TYPE_FLOAT);
    const int64_t *merged = gt_table_column(names, GT_COL_ROWS)->ints;
    gt_column *std = gt_table_column(names, GT_COL_STD_NS);
    for (size_t row = 0; row < names->row_count; row++) {
        int64_t count = names->columns[counts].ints[row];
        if (count > 0)
            gt_table_set_float(names, mean, row, (double)names->columns[totals].ints[row] / (double)count);
        if (merged[row] > 1 || count < 2) std->floats[row] = (double)__builtin_nan("");
    }
    return names;
}
