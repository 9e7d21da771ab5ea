/* Kernel names and durations of a run as a table. */
#include "analysis/rocprof/kernel_times.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <stdlib.h>
#include <string.h>

gt_table *gt_rocprof_kernel_times(gt_rocprof *run, gt_error *error)
{
    int64_t *durations = gt_rocprof_dispatch_durations(run, error);
    if (!durations) return NULL;
    uint32_t *names = gt_rocprof_dispatch_names(run);
    size_t count = gt_store_count(run->dispatches);

    gt_table *kernels = gt_table_new(GT_SHEET_KERNELS, run->strings);
    gt_table_add_column(kernels, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(kernels, GT_COL_DUR_NS, GT_TYPE_INT);
    gt_table_add_rows(kernels, count);
    if (count) {
        memcpy(kernels->columns[GT_KERNEL_NAME].texts, names, count * sizeof *names);
        memcpy(kernels->columns[GT_KERNEL_DUR_NS].ints, durations, count * sizeof *durations);
    }
    gt_free(names);
    gt_free(durations);
    return kernels;
}

static void scale_down(gt_table *table, size_t column, double divisor, gt_col name)
{
    gt_table_make_float(table, column);
    for (size_t row = 0; row < table->row_count; row++) table->columns[column].floats[row] /= divisor;
    gt_table_rename_column(table, column, name);
}

void gt_kernel_times_to_us(gt_table *table, size_t column, gt_col name)
{
    scale_down(table, column, 1e3, name);
}

void gt_kernel_times_to_ms(gt_table *table, size_t column, gt_col name)
{
    scale_down(table, column, 1e6, name);
}
