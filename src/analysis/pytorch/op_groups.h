/* Ops with the same keys as one row of a sheet: which groups there are, what is measured of them, and which
 * kernels they ran.
 *
 *     gt_op_groups groups = gt_op_groups_find(ops, keys, key_count);
 *     gt_table *sheet = gt_op_groups_measure(&groups, measures, measure_count);
 *     ... sort the sheet, limit its rows ...
 *     gt_op_groups_describe(&groups, sheet, &kernels, summary_column, trunc_column, NULL);
 *
 * For example with the keys name and Input Dims, three calls of aten::mm with [[4, 8], [8, 2]] are one group:
 * one row with operation_count 3, the mean of their times, and statistics of their first kernel, second
 * kernel and so on. The column GT_COL_GROUP says which group a row is; the maker of the sheet drops it at the
 * end. */
#pragma once

#include "analysis/pytorch/kernel_stats.h"
#include "schema/columns.h"

/* ---- groups ---- */

typedef struct gt_op_groups {
    const gt_table *ops; /* borrowed */
    gt_col *keys;        /* those that the table has */
    size_t key_count;
    gt_groups groups;
    gt_group_rows rows; /* of each group, ascending */
} gt_op_groups;

/* Groups the rows by keys; null equals null. Ignores keys that the table does not have. */
gt_op_groups gt_op_groups_find(const gt_table *ops, const gt_col *keys, size_t key_count);
void gt_op_groups_free(gt_op_groups *groups);

/* One row per group, in the order first seen: keys, measures, and the number of the group. Ignores measures
 * of columns that the table does not have. */
gt_table *gt_op_groups_measure(const gt_op_groups *groups, const gt_aggregate *measures,
                               size_t measure_count);

/* Adds the cells of gt_kernel_stats_keep for the rows that the sheet still has. */
typedef struct gt_op_groups_observe {
    gt_stack_printer printer;     /* as in gt_kernel_stats */
    bool hide_call_stacks, plain; /* as in gt_kernel_stats */
    void (*shown)(void *context, size_t row,
                  const gt_kernel_stats *stats); /* called after each row; may be NULL */
    void *context;
} gt_op_groups_observe;
void gt_op_groups_describe(const gt_op_groups *a, gt_table *sheet, const gt_kernel_source *source,
                           gt_col summary, gt_col trunc, const gt_op_groups_observe *observe);

/* Sorts a sheet of overlapping kernels: ops that differ only in the key `apart`, the overlapping kernels,
 * stay together. The largest total `time` first, then the least `uid`; within such ops the same. */
void gt_op_groups_sort(gt_table *sheet, const gt_op_groups *a, gt_col apart, gt_col time, gt_col uid);
/* Rounds overlap_pct_* to 0.01; the standard deviation of a single value becomes 0. */
void gt_op_groups_round_overlap(gt_table *sheet);
