/* What the files that implement models use: reading arguments, exact arithmetic, setting the result.
 *
 * To add an op, add a row to the table at the end of its family's file (gemm.c, sdpa.c, ...; struct gt_model
 * in model.h documents the fields). If its arguments or formulas differ from those of the existing ops, also
 * add a function. Then add a case to tests/model/model_cases.txt and the op to the tables in docs/models.md
 * (test_models checks that it is listed). A new file also needs its table declared here and listed in
 * registry.c. An op with a category but without a model is a row of op_names.inc.
 *
 * Such a function reads like the formulas. The calls need no error checks: a value that is missing, of the
 * wrong type or too large sets the outcome of the whole op to FAIL, and reading continues with zeros until
 * the function returns.
 *
 * In comments, D, T, S and C are the lists Input Dims, Input type, Input Strides and Concrete Inputs, |s| is
 * the product of the dims of a shape, and e is the size of an element in bytes. */
#pragma once

#include "model/model.h"

/* Sizes and counts. Their sums and products use GT_SUM and GT_PRODUCT, which detect overflow. */
typedef __int128 gt_int;

/* Initialises a constant: static const gt_value float32 = GT_STRING_VALUE("float32"). */
#define GT_STRING_VALUE(literal)                                                                             \
    {                                                                                                        \
        .type = GT_VALUE_STRING, .text = { literal, sizeof(literal) - 1 }                                    \
    }

struct gt_reader {
    const gt_value *dims, *types, *strides, *concrete, *extra; /* MISSING if the event has none */
    const gt_model_event *event;
    gt_str name;
    bool backward;   /* evaluate the op's backward pass */
    bool exact;      /* gt_models_be_exact */
    gt_arena *arena; /* for values used in parameters */
    gt_models *models;
    gt_model_outcome outcome;
    bool lacks_arguments; /* it failed because a whole list of arguments is MISSING */
    bool misfits;         /* it failed because the shapes do not fit together */
    double flops, bytes;
    const char *unit, *precision; /* unit starts as the row's */
    gt_parameter parameters[GT_MODEL_MAX_PARAMETERS];
    size_t parameter_count;
};

/* ---- outcomes: the first problem decides ---- */

void gt_read_fail(gt_reader *r);
void gt_read_skip(gt_reader *r);
bool gt_require(gt_reader *r, bool condition); /* FAIL if it is false; returns the condition */
/* The same for shapes that must fit together, with that as the reason. Only if `exact`: reports do not
 * check them. */
void gt_require_fit(gt_reader *r, bool condition);
/* Whether D[i] can be broadcast to the shape. */
bool gt_can_broadcast(gt_reader *r, int i, const gt_int *shape, int rank);

/* ---- arguments ---- */

/* D[i], a list. FAIL if it is absent or not a list; then returns an empty list. */
const gt_value *gt_read_dims(gt_reader *r, int i);
/* D[i], whatever its type; MISSING if absent. */
const gt_value *gt_dims_or_missing(gt_reader *r, int i);
bool gt_has_dims(gt_reader *r, int i); /* D[i] is a non-empty list */
/* D[i][j], counted from the end if j is negative. FAIL if it is absent or negative. */
gt_int gt_read_dim(gt_reader *r, int i, int j);
gt_int gt_shape_dim(gt_reader *r, const gt_value *shape, int j); /* shape[j], in the same way */
gt_int gt_shape_size(gt_reader *r, const gt_value *shape);       /* |shape|; 1 if it is empty */
gt_int gt_read_size(gt_reader *r, int i);                        /* |D[i]| */

/* T[i], usually a string. FAIL if it is absent. */
const gt_value *gt_read_type(gt_reader *r, int i);
/* T[i]; `fallback` if it is absent ("" is returned as it is). */
const gt_value *gt_type_or(gt_reader *r, int i, const gt_value *fallback);
/* T[i]; `fallback` if it is absent or empty. */
const gt_value *gt_nonempty_type_or(gt_reader *r, int i, const gt_value *fallback);

/* Strides as tuples. */
gt_value gt_read_stride(gt_reader *r, int i);    /* S[i]; FAIL if it is absent */
gt_value gt_stride_or_none(gt_reader *r, int i); /* S[i]; None if it is absent */
/* S[i] and S[j]; None and None if the event has no strides. FAIL if only one of them is absent. */
void gt_read_stride_pair(gt_reader *r, int i, int j, gt_value strides[2]);
/* S[i] and S[j]; None and None if either of them is absent. */
void gt_stride_pair_or_none(gt_reader *r, int i, int j, gt_value strides[2]);

const gt_value *gt_concrete_or_missing(gt_reader *r, int i); /* C[i]; MISSING if it is absent */
const gt_value *gt_read_concrete(gt_reader *r, int i);       /* C[i]; FAIL if it is absent */

/* The name of the op's i-th kernel in order of start; i < r->event->kernel_count. The model's row must have
 * GT_USES_KERNELS. */
gt_str gt_read_kernel(gt_reader *r, size_t i);

/* The annotation of the event; "" if it has none. */
gt_str gt_read_annotation(gt_reader *r);

/* An extra argument of the event; MISSING if it is absent. */
const gt_value *gt_extra_or_missing(gt_reader *r, const char *key);

/* ---- strings in Concrete Inputs: "0.5", "True", "[2, 2]"; each function accepts what Python accepts ----
 *
 * A MISSING value counts as "". */

double gt_optional_float(const gt_value *v);           /* 0.0 if it is not a number, as "" or "None" */
double gt_read_float(gt_reader *r, const gt_value *v); /* FAIL if it is not a number */
gt_int gt_read_int(gt_reader *r, const gt_value *v);   /* FAIL if it is not an integer */
bool gt_parse_int(const gt_value *v, gt_int *out);     /* false if it is not an integer */
bool gt_is_true_string(const gt_value *v);             /* "true", ignoring case */
bool gt_parse_bool(const gt_value *v);                 /* false, 0, "", None: false; other strings: true */
gt_value gt_read_literal(gt_reader *r, const gt_value *v); /* True, False, None or a number; otherwise FAIL */
gt_value gt_read_tuple(gt_reader *r, const gt_value *v);   /* "[1, 2]", "(1, 2)": a tuple; otherwise FAIL */
gt_value gt_read_list(gt_reader *r, const gt_value *v);    /* "[1, 2]", "[True]": a list; otherwise FAIL */

/* ---- types: dtypes.c ---- */

int gt_type_bytes(const gt_value *type);                         /* bytes per element; 0: unknown */
int gt_type_bytes_or(const gt_value *type, int fallback);        /* bytes per element; fallback if unknown */
int gt_require_type_bytes(gt_reader *r, const gt_value *type);   /* bytes per element; FAIL if unknown */
const char *gt_type_precision(const gt_value *type);             /* "bf16"; NULL: unknown */
double gt_moe_type_bytes(const gt_value *type, double fallback); /* for MoE models, which use other names */

/* ---- lengths of an inference step: annotation.c ---- */

/* Sums over the requests of a step: queries, keys, sq * sq, sq * sk. */
typedef struct gt_length_sums {
    __int128 sq, sk;
    __int128 sqsq, sqsk;
} gt_length_sums;

typedef struct gt_step_lengths {
    gt_length_sums context, generation; /* prefill; decode */
} gt_step_lengths;

/* False if `name` is not the name of a step, or one without these sums. */
bool gt_step_lengths_parse(gt_str name, gt_step_lengths *lengths);

/* ---- arguments of another op with the same Sequence number ----
 *
 * The model's row must have GT_USES_SEQUENCE. */

/* Saves the arguments of this op under its Sequence number and the name of a model. */
void gt_remember_arguments(gt_reader *r, const char *name);
/* Replaces the op's arguments by those saved under its Sequence number and this name. FAIL if there are
 * none. */
void gt_recall_arguments(gt_reader *r, const char *name);

/* ---- arithmetic: FAIL on overflow ---- */

gt_int gt_product_of(gt_reader *r, const gt_int *factors, size_t count);
gt_int gt_sum_of(gt_reader *r, const gt_int *terms, size_t count);
#define GT_INTS(...)       (const gt_int[]){__VA_ARGS__}, sizeof((const gt_int[]){__VA_ARGS__}) / sizeof(gt_int)
#define GT_PRODUCT(r, ...) gt_product_of(r, GT_INTS(__VA_ARGS__)) /* GT_PRODUCT(r, 2, M, N, K) */
#define GT_SUM(r, ...)     gt_sum_of(r, GT_INTS(__VA_ARGS__))
gt_int gt_floor_div(gt_reader *r, gt_int a, gt_int b); /* towards minus infinity; FAIL if b is 0 */
gt_int gt_ceil_div(gt_reader *r, gt_int a, gt_int b);

/* ---- the result ---- */

void gt_set_flops(gt_reader *r, gt_int flops);
void gt_set_bytes(gt_reader *r, gt_int bytes);      /* not called: unknown */
void gt_set_flops_real(gt_reader *r, double flops); /* for formulas with terms that are not integers */
void gt_set_bytes_real(gt_reader *r, double bytes);
void gt_set_precision(gt_reader *r, const char *precision); /* NULL, the default: unknown */

/* Parameters have the order of the calls. */
void gt_add_value(gt_reader *r, const char *name, gt_value value); /* adds None if the value is MISSING */
void gt_add_int(gt_reader *r, const char *name, gt_int integer);   /* FAIL if it does not fit 64 bits */
void gt_add_float(gt_reader *r, const char *name, double number);
void gt_add_bool(gt_reader *r, const char *name, bool boolean);
void gt_add_string(gt_reader *r, const char *name, const char *text);
void gt_add_tuple(gt_reader *r, const char *name, const gt_value *list); /* tuple(list) */
void gt_add_none(gt_reader *r, const char *name);
/* A tuple of `count` values: gt_add_values(r, "dtype_in_out", (gt_value[]){*in, *out}, 2). */
void gt_add_values(gt_reader *r, const char *name, const gt_value *values, size_t count);

/* ---- the families: their rows, and the model of Triton kernels ---- */

typedef struct gt_model_rows {
    const gt_model *rows;
    size_t count;
} gt_model_rows;

extern const gt_model_rows gt_gemm_models, gt_grouped_gemm_models, gt_convolution_models, gt_sdpa_models,
    gt_inference_attention_models, gt_elementwise_models, gt_reduce_models, gt_norm_models, gt_moe_models,
    gt_collective_models, gt_rope_models, gt_mhc_models, gt_other_models;

/* Kernels of torch.compile are recognised by the start of their names, so they have no rows. */
extern const gt_model gt_triton_model;
bool gt_triton_is_kernel(gt_str name);
/* Whether the arguments of such an event can be read; if not, it counts as an op without a model. */
bool gt_triton_is_usable(const gt_value *dims, const gt_value *types, const gt_value *concrete);
