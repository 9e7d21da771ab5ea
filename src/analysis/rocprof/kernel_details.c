/* One row a dispatch, sorted by duration, columns as rocprofv3 recorded them.
 *
 *     Kernel duration (µs)  (end - start) / 1000.0
 *     grid_x, _y, _z        in work-items, as recorded (not divided by the block)
 *     agent_id              the handle of the GPU
 *
 * Columns are unpacked and put in order one at a time, so that memory holds the sheet and little more. */
#include "analysis/rocprof/kernel_details.h"

#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <stdlib.h>

static const struct {
    gt_col name;
    size_t column; /* of the run's dispatches */
} recorded[] = {
    {GT_COL_STREAM, GT_DISPATCH_STREAM},   {GT_COL_DISPATCH_ID, GT_DISPATCH_ID},
    {GT_COL_GRID_X, GT_DISPATCH_GRID_X},   {GT_COL_GRID_Y, GT_DISPATCH_GRID_Y},
    {GT_COL_GRID_Z, GT_DISPATCH_GRID_Z},   {GT_COL_BLOCK_X, GT_DISPATCH_BLOCK_X},
    {GT_COL_BLOCK_Y, GT_DISPATCH_BLOCK_Y}, {GT_COL_BLOCK_Z, GT_DISPATCH_BLOCK_Z},
    {GT_COL_AGENT_ID, GT_DISPATCH_AGENT},  {GT_COL_THREAD_ID, GT_DISPATCH_THREAD},
};

static void add_recorded(gt_table *details, const gt_store *dispatches, const uint32_t *order, size_t which)
{
    size_t column = gt_table_add_zeroed(details, recorded[which].name, GT_TYPE_INT);
    int64_t *cells = details->columns[column].ints;
    int64_t *values = gt_store_ints(dispatches, recorded[which].column);
    for (size_t row = 0; row < details->row_count; row++) cells[row] = values[order[row]];
    gt_free(values);
}

void gt_rocprof_kernel_details(const gt_rocprof *run, gt_table *kernels, size_t rows_max)
{
    size_t count = kernels->row_count;
    gt_table_rename(kernels, GT_SHEET_KERNEL_DETAILS);
    if (!count) {
        gt_table_select(kernels, NULL, 0);
        return;
    }
    uint32_t *order = gt_order_new(count);
    gt_order_by_ints(order, count, kernels->columns[GT_KERNEL_DUR_NS].ints, NULL, true);
    gt_table_take(kernels, order, count < rows_max ? count : rows_max);
    gt_kernel_times_to_us(kernels, GT_KERNEL_DUR_NS, GT_COL_KERNEL_DURATION_US);
    for (size_t i = 0; i < GT_LENGTH(recorded); i++) add_recorded(kernels, run->dispatches, order, i);
    gt_free(order);
}
