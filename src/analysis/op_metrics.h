/* The figures of one op: what its model says, how long its kernels took, and what follows from both. */
#ifndef GT_ANALYSIS_OP_METRICS_H
#define GT_ANALYSIS_OP_METRICS_H

#include "model/model.h"
#include "table/table.h"
#include "trace/busy.h"

/* Of an op without a result only `busy` counts. NaN: not known. */
typedef struct gt_op_metrics {
    const gt_model_result *result; /* NULL: no model, or none that understands the op */
    gt_busy busy;
    double gflops, moved_mb, flops_per_byte, tb_per_s, tflops_per_s;
    double roofline_us, pct_roofline;
    const char *roofline_bound; /* NULL: no roofline */
    double simulated_us, simulated_tflops_per_s, simulated_tb_per_s, pct_simulated;
} gt_op_metrics;

gt_op_metrics gt_op_metrics_of(const gt_model_result *result, gt_busy busy);

/* Adds the columns that measures are made of, one cell a row of the table:
 *
 *     GFLOPS, Data Moved (MB), FLOPS/Byte, TB/s, TFLOPS/s, Compute Spec    if any row has a result
 *     Roofline Time (µs), Roofline Bound, Pct Roofline                     if any row has a roofline
 *     Origami Time (µs), Origami TFLOPS/s, Origami TB/s, Pct Origami       if any row was simulated
 *     Kernel Time (µs)                                                     INT where all times are whole */
void gt_op_metrics_add_columns(gt_table *table, const gt_op_metrics *metrics);

#endif
