/* One row a kernel name, in order of names; one column a counter, in order of theirs.
 *
 *     name, Count     the kernel, and how many of its dispatches were counted
 *     COUNTER         the mean over the dispatches that it was collected of, each the sum over the hardware's
 *                     instances; empty where it was not collected of this kernel */
#include "analysis/rocprof/counters.h"

#include "base/length.h"
#include "base/map.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <stdlib.h>

static gt_table *rows_of(gt_rocprof *run)
{
    size_t count = gt_store_count(run->counters);
    int64_t *kernels = gt_store_ints(run->counters, GT_COUNTER_KERNEL_ID);
    int64_t *dispatches = gt_store_ints(run->counters, GT_COUNTER_DISPATCH);
    int64_t *processes = gt_store_ints(run->counters, GT_COUNTER_PROCESS);
    uint32_t *names = gt_store_string_ids(run->counters, GT_COUNTER_NAME);
    double *values = gt_store_times(run->counters, GT_COUNTER_VALUE);
    gt_table *rows = gt_table_new(GT_SHEET_COUNTERS, run->strings);
    gt_table_add_column(rows, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(rows, GT_COL_PROCESS, GT_TYPE_INT);
    gt_table_add_column(rows, GT_COL_DISPATCH, GT_TYPE_INT);
    gt_table_add_column(rows, GT_COL_COUNTER, GT_TYPE_STRING);
    gt_table_add_column(rows, GT_COL_VALUE, GT_TYPE_FLOAT);
    gt_table_add_rows(rows, count);
    for (size_t i = 0; i < count; i++) {
        rows->columns[0].texts[i] = i && kernels[i] == kernels[i - 1]
                                        ? rows->columns[0].texts[i - 1]
                                        : gt_rocprof_kernel_name(run, kernels[i]);
        rows->columns[1].ints[i] = processes[i];
        rows->columns[2].ints[i] = dispatches[i];
        rows->columns[3].texts[i] = names[i];
        rows->columns[4].floats[i] = values[i];
    }
    gt_free(kernels);
    gt_free(dispatches);
    gt_free(processes);
    gt_free(names);
    gt_free(values);
    return rows;
}

gt_table *gt_rocprof_counters_by_kernel(gt_rocprof *run)
{
    if (!run->counters || !gt_store_count(run->counters)) return NULL;
    static const gt_col of_dispatch[] = {GT_COL_NAME, GT_COL_PROCESS, GT_COL_DISPATCH, GT_COL_COUNTER};
    static const gt_col of_counter[] = {GT_COL_NAME, GT_COL_COUNTER};
    static const gt_col of_one[] = {GT_COL_NAME, GT_COL_PROCESS, GT_COL_DISPATCH};
    static const gt_col of_kernel[] = {GT_COL_NAME};
    static const gt_aggregate sum[] = {{GT_COL_VALUE, GT_GROUP_SUM, GT_COL_VALUE}};
    static const gt_aggregate mean[] = {{GT_COL_VALUE, GT_GROUP_MEAN, GT_COL_VALUE}};
    static const gt_aggregate none[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNTED}};
    static const gt_aggregate count[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT_TITLE}};
    gt_group_options sorted = {.sorted = true}, first_seen = {0};

    gt_table *rows = rows_of(run);
    gt_table *sums = gt_table_group(rows, of_dispatch, 4, sum, 1, first_seen);
    gt_table *means = gt_table_group(sums, of_counter, 2, mean, 1, sorted);
    gt_table *dispatches = gt_table_group(sums, of_one, 3, none, 1, first_seen);
    gt_table *sheet = gt_table_group(dispatches, of_kernel, 1, count, 1, sorted);
    gt_table_rename(sheet, GT_SHEET_COUNTERS_BY_KERNEL);

    /* Both tables are in order of kernel names: the rows of a kernel's counters follow each other. */
    gt_table *counters = gt_table_group(means, (gt_col[]){GT_COL_COUNTER}, 1, NULL, 0, sorted);
    gt_map column_of = {0};
    for (size_t i = 0; i < counters->row_count; i++) {
        uint32_t id = counters->columns[0].texts[i];
        *gt_map_put(&column_of, id, 0) = (uint32_t)gt_table_add_column(
            sheet, gt_col_named(gt_interner_get(run->strings, id).bytes), GT_TYPE_FLOAT);
    }
    for (size_t i = 0, row = 0; i < means->row_count; i++) {
        while (sheet->columns[0].texts[row] != means->columns[0].texts[i]) row++;
        gt_table_set_float(sheet, gt_map_get(&column_of, means->columns[1].texts[i], 0), row,
                           means->columns[2].floats[i]);
    }
    gt_map_free(&column_of);
    gt_table *done[] = {rows, sums, means, dispatches, counters};
    for (size_t i = 0; i < GT_LENGTH(done); i++) gt_table_free(done[i]);
    return sheet;
}
