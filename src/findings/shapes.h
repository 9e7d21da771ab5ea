/* What the arguments of an op say about its work: sizes of matrix products, convolutions and attention,
 * types, alignment.
 *
 * Many ops have equal arguments, so each combination is parsed once and gets an index. Sizes are doubles:
 * products of sizes from a file never overflow, and below 2^53 they are exact. */
#pragma once

#include "json/values.h"
#include "trace/pytorch/pytorch.h"

/* What an op computes, by its name. */
typedef enum gt_work_kind {
    GT_WORK_OTHER,
    GT_WORK_GEMM,
    GT_WORK_CONVOLUTION,
    GT_WORK_ATTENTION,      /* in one op, mostly with one kernel */
    GT_WORK_ATTENTION_MATH, /* composed of simple ops */
    GT_WORK_SOFTMAX,
    GT_WORK_COPY, /* aten::copy_ */
    GT_WORK_BATCH_NORM,
} gt_work_kind;
gt_work_kind gt_work_kind_of(gt_str op_name);

/* The type of a tensor's elements: a number; 0 if it is not recorded or unknown. */
enum { GT_ELEMENT_BOOL = 1 };
uint8_t gt_element_of(const gt_value *type);
double gt_element_bytes(uint8_t element);  /* 0: unknown */
bool gt_element_is_whole(uint8_t element); /* of truth values and whole numbers */

typedef enum gt_operand_type {
    GT_OPERAND_NONE, /* no tensor, or not recorded */
    GT_OPERAND_FLOAT,
    GT_OPERAND_BFLOAT16,
    GT_OPERAND_HALF,
    GT_OPERAND_OTHER,
} gt_operand_type;

static inline bool gt_operand_is_half(gt_operand_type type)
{
    return type == GT_OPERAND_BFLOAT16 || type == GT_OPERAND_HALF;
}
const char *gt_operand_name(gt_operand_type type); /* "BFloat16", as PyTorch calls it */

typedef enum gt_copy_change {
    GT_CHANGE_UNKNOWN, /* the types are not recorded */
    GT_CHANGE_LAYOUT,  /* source and target have one type */
    GT_CHANGE_TYPE,    /* it converts */
} gt_copy_change;

typedef struct gt_op_shape {
    gt_work_kind kind;
    bool is_known; /* of GEMM, CONVOLUTION, ATTENTION* and BATCH_NORM: the fields below are valid */
    bool has_dims, has_types; /* the op has any */
    bool is_all_float;    /* the first argument is a float tensor, and no tensor has another number type */
    bool is_aligned;      /* GEMM: all rows of its matrices start at multiples of 16 bytes */
    gt_operand_type type; /* of the operands */
    gt_copy_change copy;
    bool keeps_strides;     /* COPY: both tensors have the same strides */
    bool is_channels_first; /* CONVOLUTION, BATCH_NORM: channels are not the innermost dimension of the input
                             */
    uint8_t rank, tensors;  /* dimensions of the first argument; arguments that have dimensions */
    double batch, m, n, k;  /* GEMM */
    double flops;           /* 0: unknown */
    double elements;        /* read and written: GEMM, CONVOLUTION, BATCH_NORM */
    double out_channels, in_channels; /* CONVOLUTION: of the weight */
    double head;                      /* ATTENTION*: the size of a head */
    double size, last;                /* of the first argument: elements, and its last dimension */
    double odd_bytes; /* what the op reads and writes if the first argument is a half-precision tensor whose
                         contiguous dimension is no multiple of 8; otherwise 0 */
    uint32_t name, dims, types; /* string ids; GT_STR_NONE */
} gt_op_shape;

/* Parses one combination: JSON texts as the store has them, "" if absent. Fields `name` and `dims` stay 0. */
gt_op_shape gt_op_shape_parse(gt_str name, gt_str dims, gt_str types, gt_str strides, gt_str concrete);

typedef struct gt_shapes gt_shapes;
gt_shapes *gt_shapes_new(const gt_event_view *trace);
void gt_shapes_free(gt_shapes *shapes);
/* The indexes of the shapes of cpu_ops, by their rows in the trace. */
void gt_shapes_find(gt_shapes *shapes, const uint32_t *rows, size_t count, uint32_t *found);
const gt_op_shape *gt_shapes_get(const gt_shapes *shapes, uint32_t index);
/* The recorded dimensions and types of the arguments: lists, or MISSING. */
const gt_value *gt_shapes_dims(const gt_shapes *shapes, uint32_t index);
const gt_value *gt_shapes_types(const gt_shapes *shapes, uint32_t index);
/* Appends the dims of arguments [first, first + count), cut where they are long: "[32, 1024]" for one,
 * "[[32, 64, 56, 56], [64, 64, 3, 3]]" for several. */
void gt_shapes_add_dims(const gt_shapes *shapes, uint32_t index, uint32_t first, uint32_t count,
                        gt_buffer *out);
