/* The sizes of a matrix product, out of the record of its library call. */
#ifndef GT_ANALYSIS_JAX_GEMM_H
#define GT_ANALYSIS_JAX_GEMM_H

#include "base/error.h"
#include "trace/jax/jax.h"

typedef struct gt_jax_gemm {
    int64_t batch, m, n, k;
    bool beta;   /* an addend is added to the product */
    gt_str type; /* of all operands: "bf16" */
} gt_jax_gemm;

/* False where the record does not tell; the error says why. */
bool gt_jax_gemm_of(const gt_jax *trace, const gt_hlo_record *record, gt_jax_gemm *gemm, gt_error *error);

#endif
