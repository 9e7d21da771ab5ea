/* Sheet diff_stats: the GPU work of both traces by the lowest call that they have in common.
 *
 *     name                          of the kernel or copy
 *     cpu_op_name, cpu_op_uid       the nearest op above it; GPU work without one is left out
 *     source                        trace1 or trace2; not there where the traces are identical
 *     Input Dims, Input Strides, Input type, Concrete Inputs    of that op, as Python prints them
 *     kernel_time                   its duration in µs
 *     busy_time                     µs in which any GPU work of that common call and trace ran, to 3 decimals
 *     lowest_common_ancestor_name, lowest_common_ancestor_id    the common call, and its node in the merged
 * tree gpu_op_uid nn_module_stack, nn_module_parent    modules around the op, joined by ';', and the
 * innermost; "root" for none [lca_children_t1, lca_children_t2, root_index, callstack]    for finding out why
 *
 * A common call is one below which the traces go different ways, or a kernel that both have. */
#ifndef GT_ANALYSIS_DIFF_STATS_H
#define GT_ANALYSIS_DIFF_STATS_H

#include "analysis/diff/tree.h"
#include "table/table.h"

typedef struct gt_diff_stats {
    gt_table *table; /* owned; its texts are those of the first trace. No columns where there are no rows. */
    bool identical;  /* the traces do the same in the same time */
    uint32_t *gpu_rows; /* by row of the table: the event, in ... */
    uint8_t *sides;     /* ... trace 0 or 1 */
} gt_diff_stats;

gt_diff_stats gt_diff_stats_make(const gt_diff_tree *merged, bool explain);
void gt_diff_stats_free(gt_diff_stats *stats);

/* The sheet as it is written: of identical traces the first alone, without `source`. Takes the table. */
gt_table *gt_diff_stats_sheet(gt_diff_stats *stats);

/* Rounded as numpy does. */
double gt_diff_round_3(double value);

#endif
