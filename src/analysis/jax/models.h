/* What a kernel of a JAX program had to do: flops, bytes and parameters of its op, from the op's record. */
#ifndef GT_ANALYSIS_JAX_MODELS_H
#define GT_ANALYSIS_JAX_MODELS_H

#include "analysis/jax/class.h"
#include "base/error.h"
#include "model/model.h"
#include "trace/jax/jax.h"

typedef enum gt_jax_model {
    GT_JAX_MODEL_NONE,
    GT_JAX_MODEL_GEMM,
    GT_JAX_MODEL_ATTENTION,
    GT_JAX_MODEL_ATTENTION_BWD,
    GT_JAX_MODEL_CONV,
    GT_JAX_MODEL_CONV_BWD,
} gt_jax_model;

/* The model of an op by the library function that it calls; `record` may be NULL. */
gt_jax_model gt_jax_model_of(const gt_jax *trace, const gt_hlo_record *record, gt_jax_class class);

/* Input Dims, Input type, Concrete Inputs of a kernel, as Python prints them: text ids. `record` may be NULL.
 */
typedef struct gt_jax_arguments {
    uint32_t dims, types, concrete;
} gt_jax_arguments;
gt_jax_arguments gt_jax_arguments_of(const gt_jax *trace, const gt_hlo_record *record, gt_arena *arena);

/* False where the record does not tell what the model needs; the error says why. The parameters live in the
 * arena. */
bool gt_jax_evaluate(const gt_jax *trace, gt_jax_model model, const gt_hlo_record *record, gt_str kernel,
                     gt_arena *arena, gt_model_result *result, gt_error *error);

#endif
