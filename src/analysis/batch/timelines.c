/* The GPU timelines of all ranks side by side:
 *
 *     time_ms_<rank>, percent_<rank>    as in gpu_timeline, one pair a rank; two files of one rank have two
 *     time_ms_avg                       mean of the ranks' times
 *     time_ms_std                       their deviation over n: that over n - 1 of the ranks and their mean
 *
 * A rank without a timeline has empty cells and does not count. */
#include "analysis/batch/batch.h"

#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/stats.h"

#include <math.h>
#include <stdlib.h>

static const char *const types[] = {
    "computation_time", "exposed_comm_time", "exposed_memcpy_time", "busy_time",
    "idle_time",        "total_time",        "total_comm_time",     "total_memcpy_time",
};
enum { TYPES = GT_LENGTH(types) };

static void add_rank(gt_table *sheet, const gt_table *timeline, int64_t rank)
{
    static const struct {
        gt_col of_timeline;
        const char *stem;
    } columns[] = {{GT_COL_TIME_MS, "time_ms"}, {GT_COL_PERCENT, "percent"}};
    for (size_t i = 0; i < GT_LENGTH(columns); i++) {
        char *name = gt_format("%s_%lld", columns[i].stem, (long long)rank);
        size_t column = gt_table_add_column(sheet, gt_col_named(name), GT_TYPE_FLOAT);
        gt_free(name);
        const gt_column *from = timeline ? gt_table_column(timeline, columns[i].of_timeline) : NULL;
        for (size_t row = 0; from && row < TYPES; row++)
            sheet->columns[column].floats[row] = from->floats[row];
    }
}

static size_t first_time_column(size_t rank)
{
    return 1 + 2 * rank;
}

static void add_statistics(gt_table *sheet, size_t ranks)
{
    size_t average = gt_table_add_column(sheet, GT_COL_TIME_MS_AVG, GT_TYPE_FLOAT);
    size_t deviation = gt_table_add_column(sheet, GT_COL_TIME_MS_STD, GT_TYPE_FLOAT);
    double *times = gt_alloc((ranks + 1) * sizeof *times);
    for (size_t row = 0; row < TYPES; row++) {
        size_t count = 0;
        for (size_t i = 0; i < ranks; i++) {
            double time = sheet->columns[first_time_column(i)].floats[row];
            if (!isnan(time)) times[count++] = time;
        }
        if (!count) continue;
        times[count] = gt_mean(times, count);
        sheet->columns[average].floats[row] = times[count];
        sheet->columns[deviation].floats[row] = gt_std_pairwise(times, count + 1, 1);
    }
    gt_free(times);
}

gt_table *gt_batch_timelines(gt_table *const *timelines, const int64_t *ranks, size_t count,
                             gt_interner *strings)
{
    gt_table *sheet = gt_table_new(GT_SHEET_GPU_TIMELINES, strings);
    gt_table_add_column(sheet, GT_COL_TYPE, GT_TYPE_STRING);
    gt_table_add_rows(sheet, TYPES);
    for (size_t row = 0; row < TYPES; row++) gt_table_set_cstr(sheet, 0, row, types[row]);
    for (size_t i = 0; i < count; i++) add_rank(sheet, timelines[i], ranks[i]);
    add_statistics(sheet, count);
    return sheet;
}
