/* Ops on their way into a performance sheet: one row per op, with its figures, its kernels and the kernels
 * that overlap them. */
#pragma once

#include "analysis/pytorch/perf.h"
#include "compat/python_literal.h"

typedef struct gt_op_rows {
    gt_op_row *items;
    size_t count, capacity;
    gt_kernel_lists kernels;     /* one list per op */
    gt_kernel_lists overlapping; /* one list per op: overlapping kernels; empty if perf has no overlaps */
    uint32_t *overlapping_names; /* by op: string id of a Python list */
    double *overlapping_pct;     /* by op: NaN if nothing overlaps */
    size_t names_capacity, pct_capacity;
} gt_op_rows; /* {0} is empty */

void gt_op_rows_push(gt_op_rows *rows, gt_op_row op);
/* Sets the overlapping kernels of the op pushed last. */
void gt_op_rows_set_overlap(gt_op_rows *rows, gt_op_overlap overlap);
void gt_op_rows_free(gt_op_rows *rows);

/* A table with one row per op and the columns
 *
 *     name, UID, process_name, process_label, thread_name
 *     Input Dims, Input type, Input Strides, Concrete Inputs    as Python prints them
 *     is_recompute                             after gt_pytorch_mark_recompute
 *     overlapping_kernel_names, overlap_pct    if perf has overlaps
 *
 * and the figures:
 *
 *     GFLOPS, Data Moved (MB), FLOPS/Byte, TB/s, TFLOPS/s, Compute Spec    if any row has a result
 *     Roofline Time (µs), Roofline Bound, Pct Roofline                     if any row has a roofline
 *     Origami Time (µs), Origami TFLOPS/s, Origami TB/s, Pct Origami       if any row was simulated
 *     Kernel Time (µs)                                                     INT if all times are integers */
gt_table *gt_op_rows_table(const gt_op_rows *rows, const gt_perf *perf, gt_python_form form);
