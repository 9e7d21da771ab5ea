/* Ops that launched kernels, as a table: what the ops sheets group, count and add up.
 *
 * One row a launcher, in launch order. Columns:
 *
 *     name, op category
 *     process_name, process_label, thread_name
 *     Input Dims, Input type, Input Strides, Concrete Inputs    as Python prints them, lists as tuples
 *     num_kernels                   INT
 *     is_recompute                  BOOL; only where recomputation was looked for
 *     ts                            start, in microseconds
 *     total_direct_kernel_time      microseconds in which one of its kernels ran
 *     total_subtree_kernel_time     the same with the kernels of the ops that it called
 *     UID                           INT
 *
 * Times are INT where the trace gives all of them as integers, else FLOAT. */
#ifndef GT_ANALYSIS_PYTORCH_OPS_H
#define GT_ANALYSIS_PYTORCH_OPS_H

#include "analysis/pytorch/extension.h"
#include "analysis/pytorch/launchers.h"
#include "table/table.h"

typedef struct gt_ops {
    const gt_linked_view *trace;
    const gt_launchers *launchers;
    const gt_extension *extension; /* NULL: none */
    gt_table *table;
    uint32_t *streams; /* by event row: the JSON text of a GPU event's stream */
} gt_ops;

/* Borrows its arguments. The table's texts are the trace's. */
gt_ops *gt_ops_new(const gt_linked_view *trace, const gt_launchers *launchers, const gt_extension *extension);
void gt_ops_free(gt_ops *ops);

/* Adds the column total_direct_kernel_time to another table with one row a launcher. */
void gt_table_add_direct_times(gt_table *table, const gt_linked_view *trace, const gt_launchers *launchers);

#endif
