/* Ops that are alike, as one row of a sheet: which they are, what is measured of them, which kernels they
 * ran.
 *
 *     gt_op_groups alike = gt_op_groups_find(ops, keys, key_count);
 *     gt_table *sheet = gt_op_groups_measure(&alike, measures, measure_count);
 *     ... sort the sheet, cut it ...
 *     gt_op_groups_describe(&alike, sheet, lists, summary, trunc, watch);
 *
 * The sheet's column GT_COL_GROUP says which group a row is; who made the sheet drops it in the end.
 */
#ifndef GT_ANALYSIS_PYTORCH_OP_GROUPS_H
#define GT_ANALYSIS_PYTORCH_OP_GROUPS_H

#include "analysis/pytorch/kernel_stats.h"
#include "schema/columns.h"
#include "table/operations.h"

/* Lists of kernels, list i being that of the table's row i. */
typedef struct gt_kernel_lists {
    gt_kernel_detail *kernels;
    size_t kernel_count, kernel_capacity;
    size_t *ends; /* of each list in `kernels` */
    size_t count, capacity;
} gt_kernel_lists; /* {0} is empty */

void gt_kernel_lists_push(gt_kernel_lists *lists, gt_kernel_detail kernel); /* to the list that is open */
void gt_kernel_lists_close(gt_kernel_lists *lists); /* it is whole: the next one is open */
/* Adds copies of all lists of another. */
void gt_kernel_lists_append(gt_kernel_lists *lists, const gt_kernel_lists *more);
/* Moves names and streams to another intern table. */
void gt_kernel_lists_use_strings(gt_kernel_lists *lists, const gt_interner *from, gt_interner *to);
void gt_kernel_lists_free(gt_kernel_lists *lists);

typedef struct gt_op_groups {
    const gt_table *ops; /* borrowed */
    gt_col *keys;        /* those that the table has */
    size_t key_count;
    gt_groups groups;
    uint32_t *rows, *begin; /* of group g: rows[begin[g] .. begin[g + 1]), ascending */
} gt_op_groups;

/* Ops with the same keys are alike, missing ones being alike too. Keys that the table lacks are passed over.
 */
gt_op_groups gt_op_groups_find(const gt_table *ops, const gt_col *keys, size_t key_count);
void gt_op_groups_free(gt_op_groups *alike);

/* One row a group, in the order first seen: keys, measures (those of columns that the table lacks are passed
 * over), the group's number. */
gt_table *gt_op_groups_measure(const gt_op_groups *alike, const gt_aggregate *measures, size_t measure_count);

/* Adds the cells of kernel_stats.h for the rows that the sheet still has. */
typedef struct gt_op_groups_observe {
    bool hide_call_stacks, plain;                                           /* as in kernel_stats.h */
    void (*shown)(void *context, size_t row, const gt_kernel_stats *stats); /* after each row; may be NULL */
    void *context;
} gt_op_groups_observe;
void gt_op_groups_describe(const gt_op_groups *a, gt_table *sheet, const gt_kernel_lists *lists,
                           gt_col summary, gt_col trunc, const gt_op_groups_observe *watch);

/* What sheets of overlapping kernels have besides. Ops that differ only in what ran beside them stand
 * together: the longest total `time` first, then the least `uid`, and among themselves the same way. The key
 * by which they differ is `apart`. */
void gt_op_groups_sort(gt_table *sheet, const gt_op_groups *a, gt_col apart, gt_col time, gt_col uid);
/* Rounds overlap_pct_* to 0.01; the deviation of a single value is 0. */
void gt_op_groups_round_overlap(gt_table *sheet);

#endif
