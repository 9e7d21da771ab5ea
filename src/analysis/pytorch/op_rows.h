/* Ops on their way into a performance sheet: one row an op, with its figures, its kernels, and what ran
 * beside them. */
#ifndef GT_ANALYSIS_PYTORCH_OP_ROWS_H
#define GT_ANALYSIS_PYTORCH_OP_ROWS_H

#include "analysis/pytorch/op_groups.h"
#include "analysis/pytorch/op_metrics.h"
#include "analysis/pytorch/perf.h"
#include "compat/python_literal.h"

typedef struct gt_op_row {
    uint32_t row; /* of the event */
    uint32_t name, uid;
    gt_op_metrics metrics;
} gt_op_row;

typedef struct gt_op_rows {
    gt_op_row *items;
    size_t count, capacity;
    gt_kernel_lists kernels; /* one list an op */
    gt_kernel_lists beside;  /* the same, if anybody asks what ran beside kernels */
    uint32_t *beside_names;  /* by op: text id of a Python list */
    double *beside_pct;      /* by op: NaN where nothing did */
    size_t names_capacity, pct_capacity;
} gt_op_rows; /* {0} is empty */

void gt_op_rows_push(gt_op_rows *rows, gt_op_row op);
/* What ran beside the kernels of the op pushed last. */
void gt_op_rows_set_overlap(gt_op_rows *rows, gt_op_overlap overlap);
void gt_op_rows_free(gt_op_rows *rows);

/* A table with the columns
 *
 *     name, UID, process_name, process_label, thread_name
 *     Input Dims, Input type, Input Strides, Concrete Inputs    as Python prints them
 *     is_recompute                             where recomputation was looked for
 *     overlapping_kernel_names, overlap_pct    where anybody asks what ran beside kernels
 *     and those of op_metrics.h */
gt_table *gt_op_rows_table(const gt_op_rows *rows, const gt_perf *perf, gt_python_form form);

#endif
