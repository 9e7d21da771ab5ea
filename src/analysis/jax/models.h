/* How much does an op of a JAX program have to do? Shapes are read from the strings of the op's record
 * (operands.c); models compute flops, bytes and parameters from them (models.c). */
#pragma once

#include "analysis/jax/sheets.h"
#include "model/model.h"

/* ---- shapes of operands (operands.c) ---- */

/* "bf16[8,16]{1,0}" is a tensor of 8 x 16 elements of type bf16. */
typedef struct gt_jax_tensor {
    gt_str type; /* "bf16"; of "f8e5m2" only "m2" */
    const int64_t *dims;
    size_t dim_count;
} gt_jax_tensor;

typedef struct gt_jax_tensors {
    gt_jax_tensor *items;
    size_t count;
} gt_jax_tensors;

/* The first shape in a string that has dimensions, a layout, and a type that ends in digits; for a tuple, its
 * first such member. False if there is none, as for scalars, pred, f8e4m3fn and layouts with a memory space.
 */
bool gt_jax_tensor_of(gt_str text, gt_arena *arena, gt_jax_tensor *tensor);
/* The shapes of all operands that have one. */
gt_jax_tensors gt_jax_operands_of(const gt_jax *trace, const gt_hlo_record *record, gt_arena *arena);

/* Appends the dimensions as a Python tuple: (8, 16). */
void gt_jax_add_dims(gt_buffer *out, const gt_jax_tensor *tensor);

/* The bytes of all operands. Operands of an unknown type count as 0 and are added to *unknown. */
int64_t gt_jax_input_bytes(const gt_jax *trace, const gt_hlo_record *record, size_t *unknown);

/* ---- sizes of matrix products (operands.c) ---- */

typedef struct gt_jax_gemm {
    int64_t batch, m, n, k;
    bool beta;   /* a bias is added to the product */
    gt_str type; /* of all operands: "bf16" */
} gt_jax_gemm;

/* The sizes from the record of a library call. False and an error if the record does not have them. */
bool gt_jax_gemm_of(const gt_jax *trace, const gt_hlo_record *record, gt_jax_gemm *gemm, gt_error *error);

/* ---- models (models.c) ---- */

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

/* Input Dims, Input type and Concrete Inputs of an op as Python prints them: string ids. `record` may be
 * NULL.
 */
typedef struct gt_jax_arguments {
    uint32_t dims, types, concrete;
} gt_jax_arguments;
gt_jax_arguments gt_jax_arguments_of(const gt_jax *trace, const gt_hlo_record *record, gt_arena *arena);

/* False and an error if the record does not have what the model needs. The parameters live in the arena. */
bool gt_jax_evaluate(const gt_jax *trace, gt_jax_model model, const gt_hlo_record *record, gt_str kernel,
                     gt_arena *arena, gt_model_result *result, gt_error *error);
