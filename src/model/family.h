/* What the files of the families use: reading arguments, exact arithmetic, saying the result.
 *
 * A family's function reads as its formulas do. Nothing it calls needs a check: what is absent, of the wrong
 * kind or too large makes the whole op FAIL, and reading goes on with zeros until the function returns.
 *
 * In the comments, D, T, S and C are the lists of Input Dims, Input type, Input Strides and Concrete Inputs.
 */
#ifndef GT_MODEL_FAMILY_H
#define GT_MODEL_FAMILY_H

#include "model/model.h"

/* Sizes and counts. Sums and products of them go through GT_SUM and GT_PRODUCT, which see overflow. */
typedef __int128 gt_int;

struct gt_reader {
    const gt_value *dims, *types, *strides, *concrete, *extra; /* MISSING where the event has none */
    const gt_model_event *event;
    gt_str name;
    bool backward;   /* the model is asked about the op's backward pass */
    gt_arena *arena; /* for values that go into parameters */
    gt_models *models;
    gt_model_outcome outcome;
    double flops, bytes;
    const char *maf, *precision; /* maf is the row's at first */
    gt_parameter parameters[GT_MODEL_MAX_PARAMETERS];
    size_t parameter_count;
};

/* ---- outcomes: the first problem decides ---- */

void gt_read_fail(gt_reader *r);
void gt_read_skip(gt_reader *r);
bool gt_require(gt_reader *r, bool condition); /* FAIL where it does not hold; gives the condition back */

/* ---- arguments ---- */

/* D[i]: a list. FAIL where it is absent or no list; then an empty list. */
const gt_value *gt_read_dims(gt_reader *r, int i);
/* D[i] as it is, also when it is no list; MISSING where absent. */
const gt_value *gt_dims_or_missing(gt_reader *r, int i);
bool gt_has_dims(gt_reader *r, int i); /* D[i] exists and is a list that is not empty */
gt_int gt_read_dim(gt_reader *r, int i,
                   int j); /* D[i][j], counted from the end where j is negative; never below 0 */
gt_int gt_shape_dim(gt_reader *r, const gt_value *shape, int j); /* the same of a shape */
gt_int gt_shape_size(gt_reader *r, const gt_value *shape); /* the product of its dims; 1 where it is empty */
gt_int gt_read_size(gt_reader *r, int i);                  /* |D[i]| */

/* T[i]: mostly a text. FAIL where it is absent. */
const gt_value *gt_read_type(gt_reader *r, int i);
const gt_value *gt_type_or(gt_reader *r, int i,
                           const gt_value *otherwise); /* where absent or empty: otherwise */
const gt_value *gt_type_or_default(gt_reader *r, int i,
                                   const gt_value *otherwise); /* where absent; "" stays as it is */

/* Strides as tuples. */
gt_value gt_strict_stride(gt_reader *r, int i); /* FAIL where absent */
void gt_hard_strides(gt_reader *r, int i, int j,
                     gt_value strides[2]); /* None, None without the key; FAIL if short */
void gt_soft_strides(gt_reader *r, int i, int j,
                     gt_value strides[2]);    /* None, None without the key or if short */
gt_value gt_soft_stride(gt_reader *r, int i); /* None without the key or if short */

/* C[i]; MISSING where absent. */
const gt_value *gt_concrete_or_missing(gt_reader *r, int i);
const gt_value *gt_read_concrete(gt_reader *r, int i); /* FAIL where absent */

/* The name of a kernel that the op started, in order of start; i is below r->event->kernel_count. The model's
 * row must say GT_USES_KERNELS. */
gt_str gt_read_kernel(gt_reader *r, size_t i);

/* The annotation of the event; "" where it has none. */
gt_str gt_read_annotation(gt_reader *r);

/* An extra argument of the event; MISSING where absent. */
const gt_value *gt_extra(gt_reader *r, const char *key);

/* ---- texts of Concrete Inputs; a MISSING value counts as "" unless it says otherwise ---- */

double gt_optional_float(const gt_value *v);               /* "", "None", None and what is no number: 0.0 */
double gt_read_float(gt_reader *r, const gt_value *v);     /* FAIL where it is no number */
gt_int gt_read_int(gt_reader *r, const gt_value *v);       /* int(text); FAIL where it is none */
bool gt_parse_int(const gt_value *v, gt_int *out);         /* false where it is none */
bool gt_str_is_true(const gt_value *v);                    /* "true" in any case */
bool gt_parse_bool(const gt_value *v);                     /* false, 0, "", None: false; other texts: true */
gt_value gt_read_literal(gt_reader *r, const gt_value *v); /* True, False, None or a number; else FAIL */
gt_value gt_read_tuple(gt_reader *r,
                       const gt_value *v); /* "[1, 2]" or "(1, 2)" as a tuple of ints; else FAIL */
gt_value gt_read_list(gt_reader *r, const gt_value *v); /* "[1, 2]" or "[True, False]" as a list; else FAIL */

/* ---- types ---- */

int gt_type_bytes(const gt_value *type);                          /* bytes an element; 0: not known */
int gt_need_type_bytes(gt_reader *r, const gt_value *type);       /* FAIL where not known */
const char *gt_type_precision(const gt_value *type);              /* "bf16"; NULL: not known */
double gt_moe_type_bytes(const gt_value *type, double otherwise); /* the map of the MoE models */

/* ---- ops that are matched by their Sequence number; the model's row must say GT_USES_SEQUENCE ---- */

/* Keeps the arguments of this op under its Sequence number and the name of the model. */
void gt_remember_arguments(gt_reader *r, const char *name);
/* Puts the arguments kept under this name and the op's Sequence number in the place of the op's own; FAIL
 * where there are none. */
void gt_recall_arguments(gt_reader *r, const char *name);

/* ---- arithmetic ---- */

gt_int gt_product_of(gt_reader *r, const gt_int *factors, size_t count);
gt_int gt_sum_of(gt_reader *r, const gt_int *terms, size_t count);
#define GT_INTS(...)       (const gt_int[]){__VA_ARGS__}, sizeof((const gt_int[]){__VA_ARGS__}) / sizeof(gt_int)
#define GT_PRODUCT(r, ...) gt_product_of(r, GT_INTS(__VA_ARGS__)) /* GT_PRODUCT(r, 2, M, N, K) */
#define GT_SUM(r, ...)     gt_sum_of(r, GT_INTS(__VA_ARGS__))
gt_int gt_floor_div(gt_reader *r, gt_int a, gt_int b); /* towards minus infinity; FAIL where b is 0 */
gt_int gt_ceil_div(gt_reader *r, gt_int a, gt_int b);

/* ---- the result: parameters in the order of the calls ---- */

void gt_set_flops(gt_reader *r, gt_int flops);
void gt_set_bytes(gt_reader *r, gt_int bytes);
void gt_set_flops_real(gt_reader *r, double flops); /* where the formula has parts that are no integers */
void gt_set_bytes_real(gt_reader *r, double bytes);
void gt_set_precision(gt_reader *r, const char *precision); /* NULL: none, as it is at first */

void gt_add_value(gt_reader *r, const char *name, gt_value value); /* a MISSING value is added as None */
void gt_add_int(gt_reader *r, const char *name, gt_int integer);   /* FAIL beyond 64 bits */
void gt_add_float(gt_reader *r, const char *name, double number);
void gt_add_bool(gt_reader *r, const char *name, bool boolean);
void gt_add_string(gt_reader *r, const char *name, const char *text);
void gt_add_tuple(gt_reader *r, const char *name, const gt_value *list); /* tuple(list) */
void gt_add_none(gt_reader *r, const char *name);
/* A tuple of `count` values: gt_add_values(r, "dtype_in_out", (gt_value[]){*in, *out}, 2). */
void gt_add_values(gt_reader *r, const char *name, const gt_value *values, size_t count);

#endif
