/* The ops known by name: one row an op. Each family's rows stand in the family's file, next to its formulas
 * (gemm.c, sdpa.c, ...); registry.c lists the families and the ops that have a category and no model. */
#ifndef GT_MODEL_REGISTRY_H
#define GT_MODEL_REGISTRY_H

#include "base/interner.h"

#include <stdbool.h>

/* Families of sheets, in the order of the sheets. */
typedef enum gt_op_family {
    GT_FAMILY_NONE,
    GT_FAMILY_GEMM,
    GT_FAMILY_SDPA,
    GT_FAMILY_CONV,
    GT_FAMILY_INFERENCE_ATTENTION,
    GT_FAMILY_BINARY_ELEMENTWISE,
    GT_FAMILY_GROUPED_GEMM,
    GT_FAMILY_MOE_COMM,
    GT_FAMILY_SSM,
    GT_FAMILY_ROPE,
    GT_FAMILY_CROSS_ENTROPY,
    GT_FAMILY_UNARY_ELEMENTWISE,
    GT_FAMILY_MOE_FUSED,
    GT_FAMILY_MOE_UNFUSED,
    GT_FAMILY_MOE_AUX,
    GT_FAMILY_RMSNORM,
    GT_FAMILY_ELEMENTWISE,
    GT_FAMILY_GROUP_QUANT,
    GT_FAMILY_FUSED_ROPE,
    GT_FAMILY_CUSTOM_COLLECTIVE,
    GT_FAMILY_MHC,
    GT_FAMILY_NORMALIZATION,
    GT_FAMILY_REDUCE,
    GT_FAMILY_COUNT
} gt_op_family;

const char *
gt_op_family_name(gt_op_family family); /* as in the sheets' names: "GEMM", "MoE_comm"; NONE: "" */

/* What a model answers when it is asked about the backward pass of the op. */
typedef enum gt_backward {
    GT_BACKWARD_FAIL, /* it has no formulas for it */
    GT_BACKWARD_SKIP, /* such rows are left out altogether */
    GT_BACKWARD_KNOWN,
} gt_backward;

typedef struct gt_reader gt_reader; /* family.h */

typedef struct gt_model {
    const char *name; /* of the op */
    gt_op_family family;
    const char *category;
    const char *backward_category; /* NULL: none */
    gt_backward backward;
    const char *maf; /* which units of the GPU do the work, "matrix" or "vector"; NULL: neither */
    /* Reads the arguments and says what the op does, by the functions of family.h. NULL: the op has a
     * category and no model. */
    void (*evaluate)(gt_reader *reader, const void *variant);
    const void *variant; /* what makes this op different from others with the same function */
    unsigned uses;       /* GT_USES_* */
} gt_model;

/* What a model looks at besides the arguments. */
enum {
    GT_USES_KERNELS = 1,   /* the names of the op's kernels */
    GT_USES_SEQUENCE = 2,  /* the Sequence number, and what ops before said under the same one */
    GT_USES_EXTENSION = 4, /* an extension's model: it is not evaluated here (analysis/extension.h) */
};

/* A family's rows. */
typedef struct gt_model_rows {
    const gt_model *rows;
    size_t count;
} gt_model_rows;

extern const gt_model_rows gt_gemm_models, gt_grouped_gemm_models, gt_convolution_models, gt_sdpa_models,
    gt_inference_attention_models; /* matrix work */
extern const gt_model_rows gt_unary_models, gt_binary_models, gt_reduce_models, gt_norm_models,
    gt_rmsnorm_models, gt_moe_models, gt_moe_routing_models, gt_collective_models, gt_rope_models,
    gt_mhc_models, gt_other_models;

/* Names are compared exactly; NULL where there is none. Any thread may ask. */
const gt_model *gt_op_find(gt_str name);
/* All rows, those without a model too. */
const gt_model *const *gt_op_names(size_t *count);

#endif
