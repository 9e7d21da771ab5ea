/* The figures of one op: what its model says, how long its kernels took, and what follows from both. */
#ifndef GT_ANALYSIS_PYTORCH_OP_METRICS_H
#define GT_ANALYSIS_PYTORCH_OP_METRICS_H

#include "model/metrics.h"
#include "table/table.h"
#include "trace/pytorch/pytorch.h"

typedef struct gt_op_metrics {
    const gt_model_result *result; /* NULL: no model, or none that understands the op; only `busy` counts */
    gt_busy busy;
    gt_metrics figures;
} gt_op_metrics;

/* Adds the columns that measures are made of, one cell a row of the table:
 *
 *     GFLOPS, Data Moved (MB), FLOPS/Byte, TB/s, TFLOPS/s, Compute Spec    if any row has a result
 *     Roofline Time (µs), Roofline Bound, Pct Roofline                     if any row has a roofline
 *     Origami Time (µs), Origami TFLOPS/s, Origami TB/s, Pct Origami       if any row was simulated
 *     Kernel Time (µs)                                                     INT where all times are whole */
void gt_op_metrics_add_columns(gt_table *table, const gt_op_metrics *metrics);

#endif
