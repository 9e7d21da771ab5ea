/* Sheets op_gemm, op_fa_bwd, op_fa_fwd, op_fa_v3, op_conv, op_te: what kernels of a class had to do, and how
 * fast they did it. */
#ifndef GT_ANALYSIS_JAX_OP_SHEETS_H
#define GT_ANALYSIS_JAX_OP_SHEETS_H

#include "analysis/jax/kernels.h"

/* The sheet of one class; NULL where it has none: no kernel of it has a model that understands its op. */
gt_table *gt_jax_op_sheet(gt_jax_kernels *kernels, gt_jax_class class);

#endif
