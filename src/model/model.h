/* What an op has to do: its floating-point operations, the bytes it must move, its parameters.
 *
 *     gt_models *models = gt_models_new(strings);
 *     const gt_model *model = gt_model_find(models, &event);
 *     if (model) result = gt_model_evaluate(models, model, &event, false);
 *
 * Events with the same arguments share one result, so asking again costs a look-up. */
#ifndef GT_MODEL_MODEL_H
#define GT_MODEL_MODEL_H

#include "model/registry.h"
#include "json/values.h"

/* An op as the trace has it. Texts are ids in the strings given to gt_models_new, GT_STR_NONE where absent.
 */
typedef struct gt_model_event {
    uint32_t name;
    uint32_t dims, types, strides,
        concrete;            /* Input Dims, Input type, Input Strides, Concrete Inputs: JSON texts */
    uint32_t extra;          /* rare arguments, as one JSON object: {"MoE topk":4,"MoE GEMM gated":true} */
    uint32_t annotation;     /* what the annotation pass found, plain text; NONE where it did not look */
    int64_t sequence;        /* Sequence number; GT_EVENT_NONE (-1) where absent */
    const uint32_t *kernels; /* names of the op's kernels, in order of start */
    size_t kernel_count;
} gt_model_event;

typedef enum gt_model_outcome {
    GT_MODEL_VALUE,
    GT_MODEL_FAIL, /* the arguments do not tell, or not in a way that the model understands */
    GT_MODEL_SKIP, /* the op is to be left out */
} gt_model_outcome;

typedef struct gt_parameter {
    const char *name;
    gt_value value;
} gt_parameter;

enum { GT_MODEL_MAX_PARAMETERS = 28, GT_COMPUTE_SPEC_MAX = 32 };

/* Of outcomes other than VALUE only `outcome` counts. */
typedef struct gt_model_result {
    gt_model_outcome outcome;
    uint32_t id;  /* numbered from 0 as they are made: for caches of callers */
    double flops; /* computed exactly and rounded once, where all its terms are integers */
    double bytes; /* the same; NaN: not known */
    char compute_spec[GT_COMPUTE_SPEC_MAX]; /* "matrix_bf16"; "" where units or precision are not known */
    const gt_parameter *parameters;         /* in the model's order */
    size_t parameter_count;
} gt_model_result;

typedef struct gt_models gt_models;
gt_models *gt_models_new(const gt_interner *strings); /* borrows the strings, which may still grow */
void gt_models_free(gt_models *models);

/* The model of an op, NULL where there is none. Of Triton kernels, only those whose arguments can be read
 * have one. */
const gt_model *gt_model_find(gt_models *models, const gt_model_event *event);

/* Whatever the arguments are, the answer is a number that the formulas give, or FAIL. The result lives as
 * long as `models`. One thread at a time. */
const gt_model_result *gt_model_evaluate(gt_models *models, const gt_model *model,
                                         const gt_model_event *event, bool backward);

/* Numbers for so many results of others (gt_model_result.id); the first of them. */
uint32_t gt_models_reserve(gt_models *models, uint32_t count);

/* MISSING where the result has none of that name. */
const gt_value *gt_model_parameter(const gt_model_result *result, const char *name);

/* Adds {'M': 10, 'N': 512}; nothing where there are no parameters. */
void gt_model_print_parameters(gt_buffer *buffer, const gt_model_result *result);

#endif
