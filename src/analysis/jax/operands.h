/* Shapes out of the text of operands: "bf16[8,16]{1,0}" is 8 x 16 values of type bf16. */
#ifndef GT_ANALYSIS_JAX_OPERANDS_H
#define GT_ANALYSIS_JAX_OPERANDS_H

#include "base/memory.h"
#include "base/buffer.h"
#include "trace/jax/jax.h"

typedef struct gt_jax_tensor {
    gt_str type; /* "bf16"; of "f8e5m2" only "m2" */
    const int64_t *dims;
    size_t dim_count;
} gt_jax_tensor;

typedef struct gt_jax_tensors {
    gt_jax_tensor *items;
    size_t count;
} gt_jax_tensors;

/* The first shape in a text that has dimensions, a layout, and a type that ends in digits; of a tuple its
 * first member. False where there is none: scalars, pred, f8e4m3fn, layouts with a memory space. */
bool gt_jax_tensor_of(gt_str text, gt_arena *arena, gt_jax_tensor *tensor);
/* Those of all operands of a record that have one. */
gt_jax_tensors gt_jax_operands_of(const gt_jax *trace, const gt_hlo_record *record, gt_arena *arena);

/* Adds (8, 16): as Python prints a tuple of dims. */
void gt_jax_add_dims(gt_buffer *out, const gt_jax_tensor *tensor);

/* The bytes that the operands of a record hold; those of unknown types count nothing, and *unknown says how
 * many. */
int64_t gt_jax_input_bytes(const gt_jax *trace, const gt_hlo_record *record, size_t *unknown);

#endif
