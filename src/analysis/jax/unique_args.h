/* Sheet kernel_launchers_unique_args: kernels of the same name over the same shapes, measured together. */
#ifndef GT_ANALYSIS_JAX_UNIQUE_ARGS_H
#define GT_ANALYSIS_JAX_UNIQUE_ARGS_H

#include "analysis/jax/kernels.h"

gt_table *gt_jax_unique_args(gt_jax_kernels *kernels, const gt_table *launchers);

#endif
