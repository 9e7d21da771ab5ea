/* Sheets of op families (GEMM, SDPA_fwd, CONV_bwd, ...): every op that has a model, by its parameters: what
 * it had to do, how long its kernels took, how fast that was. */
#ifndef GT_ANALYSIS_PYTORCH_OP_SHEETS_H
#define GT_ANALYSIS_PYTORCH_OP_SHEETS_H

#include "analysis/pytorch/perf.h"
#include "table/table.h"

typedef struct gt_op_sheets_options {
    bool by_num_kernels; /* ops with different numbers of kernels are apart */
    bool limited;        /* only the first `rows` rows of each sheet */
    int64_t rows;
} gt_op_sheets_options;

typedef struct gt_op_sheets {
    gt_table **items; /* in the order of the report; only sheets that have rows. The owner frees each, and the
                         list */
    size_t count, capacity;
} gt_op_sheets;

/* With perf->overlaps each sheet is there a second time, as *_kl_overlap: ops beside which other kernels ran
 * are apart. */
gt_op_sheets gt_op_sheets_make(gt_perf *perf, gt_op_sheets_options options);

#endif
