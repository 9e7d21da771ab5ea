/* Rows of one name (short names of different kernels, several processes) are added up; their common standard
 * deviation is not known then. Files hold totals, of which means are made anew. */
#include "analysis/rocprof/stats.h"

#include "base/length.h"
#include "base/memory.h"
#include "table/group.h"

#include <stdlib.h>

static gt_table *rows_of(const gt_rocprof *run, int64_t of)
{
    static const struct {
        const char *name;
        size_t column;
    } ints[] = {{"Count", GT_STATS_COUNT},
                {"total_ns", GT_STATS_TOTAL},
                {"min_ns", GT_STATS_MIN},
                {"max_ns", GT_STATS_MAX}};
    size_t count = gt_store_count(run->stats);
    int64_t *kinds = gt_store_ints(run->stats, GT_STATS_OF);
    uint32_t *names = gt_store_string_ids(run->stats, GT_STATS_NAME);
    double *stds = gt_store_times(run->stats, GT_STATS_STD);
    gt_table *rows = gt_table_new("stats", run->strings);
    gt_table_add_rows(rows, count);
    size_t name = gt_table_add_filled(rows, "name", GT_TYPE_STRING),
           std = gt_table_add_filled(rows, "std_ns", GT_TYPE_FLOAT);
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
    static const char *const keys[] = {"name"};
    static const gt_aggregate sums[] = {
        {"Count", GT_GROUP_SUM, "Count"},     {"total_ns", GT_GROUP_SUM, "total_ns"},
        {"min_ns", GT_GROUP_MIN, "min_ns"},   {"max_ns", GT_GROUP_MAX, "max_ns"},
        {"std_ns", GT_GROUP_FIRST, "std_ns"}, {NULL, GT_GROUP_SIZE, "rows"},
    };
    if (!run->stats) return NULL;
    gt_table *rows = rows_of(run, of);
    gt_table *names =
        gt_table_group(rows, keys, 1, sums, GT_LENGTH(sums), (gt_group_options){.sorted = true});
    gt_table_free(rows);
    size_t counts = gt_table_find(names, "Count"), totals = gt_table_find(names, "total_ns");
    /* Figures that do not add up within an int64 are no figures of a run. */
    if (!names->row_count || names->columns[counts].type != GT_TYPE_INT ||
        names->columns[totals].type != GT_TYPE_INT) {
        gt_table_free(names);
        return NULL;
    }
    size_t mean = gt_table_add_filled(names, "mean_ns", GT_TYPE_FLOAT);
    gt_table_add_filled(names, "median_ns", GT_TYPE_FLOAT);
    const int64_t *merged = gt_table_column(names, "rows")->ints;
    gt_column *std = gt_table_column(names, "std_ns");
    for (size_t row = 0; row < names->row_count; row++) {
        int64_t count = names->columns[counts].ints[row];
        if (count > 0)
            gt_table_set_float(names, mean, row, (double)names->columns[totals].ints[row] / (double)count);
        if (merged[row] > 1 || count < 2) std->floats[row] = (double)__builtin_nan("");
    }
    return names;
}
