/* Performance models: how many floating-point operations an op performs and how many bytes it must move,
 * computed from the shapes and types of its arguments alone; and what follows from this together with the
 * time of its kernels (rates) and the peak rates of a GPU (roofline).
 *
 *     gt_models *models = gt_models_new(strings);
 *     const gt_model *model = gt_model_find(models, &event);
 *     if (model) result = gt_model_evaluate(models, model, &event, false);
 *     gt_metrics metrics = gt_metrics_of(result, kernel_us, arch);
 *
 * Events with equal arguments share one result, so evaluating them again costs one look-up.
 *
 * This is the interface for other folders. The files that implement models use family.h, which also says how
 * to add an op. */
#pragma once

#include "json/values.h"
#include "model/arch.h"

/* ---- ops that are known by name ---- */

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

/* As in the names of the sheets: "GEMM", "MoE_comm"; "" for GT_FAMILY_NONE. */
const char *gt_op_family_name(gt_op_family family);

/* How a model treats the backward pass of its op. */
typedef enum gt_backward {
    GT_BACKWARD_FAIL,  /* it has no formulas for it */
    GT_BACKWARD_SKIP,  /* such rows are omitted from the sheets */
    GT_BACKWARD_KNOWN, /* it has formulas for it */
} gt_backward;

typedef struct gt_reader gt_reader; /* family.h */

/* An op: one row of its family's table. */
typedef struct gt_model {
    const char *name; /* of the op */
    gt_op_family family;
    const char *category;
    const char *backward_category; /* NULL: none */
    gt_backward backward;
    const char *unit; /* which units of the GPU compute the op, "matrix" or "vector"; NULL: neither */
    /* Reads the arguments and sets the result, with the functions of family.h. NULL: the op has a category
     * but no model. */
    void (*evaluate)(gt_reader *reader, const void *variant);
    const void *variant; /* how this op differs from others with the same function; passed to evaluate */
    unsigned uses;       /* GT_USES_* */
} gt_model;

/* What a model reads in addition to the arguments. */
enum {
    GT_USES_KERNELS = 1,   /* the names of the op's kernels: the first, and the first that gt_gemm_transpose
                              understands; others need not be given */
    GT_USES_SEQUENCE = 2,  /* the Sequence number, and the arguments of earlier ops with the same number */
    GT_USES_EXTENSION = 4, /* a model of an extension, evaluated elsewhere (analysis/pytorch/extension.h) */
};

/* Names are compared exactly; NULL if there is no such op. Thread-safe. */
const gt_model *gt_op_find(gt_str name);
/* All rows, including those without a model. */
const gt_model *const *gt_op_list(size_t *count);

/* ---- evaluating a model ---- */

/* An op of a trace. Strings are ids in the interner given to gt_models_new; GT_STR_NONE if absent. */
typedef struct gt_model_event {
    uint32_t name;
    uint32_t dims, types, strides,
        concrete;            /* Input Dims, Input type, Input Strides, Concrete Inputs: JSON */
    uint32_t extra;          /* rare arguments, as one JSON object: {"MoE topk":4,"MoE GEMM gated":true} */
    uint32_t annotation;     /* name of the enclosing inference step; NONE if it was not searched for */
    int64_t sequence;        /* Sequence number; GT_EVENT_NONE (-1) if absent */
    const uint32_t *kernels; /* names of the op's kernels, in order of start */
    size_t kernel_count;
} gt_model_event;

typedef enum gt_model_outcome {
    GT_MODEL_VALUE,
    GT_MODEL_FAIL, /* arguments are missing, or the model does not support them */
    GT_MODEL_SKIP, /* the op is to be omitted from the sheet */
} gt_model_outcome;

typedef struct gt_parameter {
    const char *name;
    gt_value value;
} gt_parameter;

enum { GT_MODEL_MAX_PARAMETERS = 28, GT_COMPUTE_SPEC_MAX = 32 };

/* If the outcome is not VALUE, only `outcome`, `lacks_arguments`, `misfits` and `id` are set. */
typedef struct gt_model_result {
    gt_model_outcome outcome;
    bool lacks_arguments; /* FAIL because the event has no types, strides or concrete inputs at all */
    bool misfits;         /* FAIL because the shapes do not fit together; only if the models are exact */
    uint32_t id;          /* unique within the gt_models, counted from 0: an index for the caller's caches */
    double flops;         /* computed exactly and rounded once if all terms are integers */
    double bytes;         /* the same; NaN: unknown */
    char compute_spec[GT_COMPUTE_SPEC_MAX]; /* "matrix_bf16"; "" if unit or precision is unknown */
    const gt_parameter *parameters;         /* in the model's order */
    size_t parameter_count;
} gt_model_result;

/* The models of one trace and their results. Not thread-safe. */
typedef struct gt_models gt_models;
gt_models *gt_models_new(const gt_interner *strings); /* borrows the interner, which may still grow */
void gt_models_free(gt_models *models);
/* Reads arguments as the ops define them, where TraceLens does not: an optional tensor that is [] is absent,
 * a reduction over some axes has more than one output element, a bias has the elements of its tensor. Reports
 * do not use this, because their figures are those of TraceLens. To be called before the first evaluation. */
void gt_models_be_exact(gt_models *models);

/* The model of an op; NULL if there is none. Triton kernels have one only if their arguments can be read. */
const gt_model *gt_model_find(gt_models *models, const gt_model_event *event);

/* Any arguments are allowed: the result is what the formulas give, or FAIL. It lives as long as `models`. */
const gt_model_result *gt_model_evaluate(gt_models *models, const gt_model *model,
                                         const gt_model_event *event, bool backward);

/* The same for many events at once, on all threads. The models must not use GT_USES_SEQUENCE or
 * GT_USES_EXTENSION. */
typedef struct gt_model_call {
    const gt_model *model;
    gt_model_event event;
    bool backward;
    const gt_model_result *result; /* set by gt_model_evaluate_many */
} gt_model_call;
void gt_model_evaluate_many(gt_models *models, gt_model_call *calls, size_t count);

/* Finds the model of an op by its name alone. Returns whether that is enough: if not, gt_model_find must look
 * at the arguments as well. Unlike other functions, this may be called by several threads. */
bool gt_model_name_decides(const gt_models *models, uint32_t name, const gt_model **model);
/* For a thread of its own: finds the same models. To be freed before `models`. */
gt_models *gt_models_new_helper(gt_models *models);

/* Reserves `count` values of gt_model_result.id for results made elsewhere; returns the first. */
uint32_t gt_models_reserve(gt_models *models, uint32_t count);

/* One more than the highest gt_model_result.id so far. */
uint32_t gt_models_result_count(const gt_models *models);

/* A parameter by name; MISSING if the result has none of that name. */
const gt_value *gt_model_parameter(const gt_model_result *result, const char *name);

/* Appends {'M': 10, 'N': 512}; nothing if there are no parameters. */
void gt_model_print_parameters(gt_buffer *buffer, const gt_model_result *result);

/* Whether A and B are transposed, each a bool or None, from the name of a GEMM kernel. False if the name does
 * not contain this information. */
bool gt_gemm_transpose(gt_str kernel, gt_value transpose[2]);

/* ---- metrics: how fast an op ran, and how fast it could have run on this GPU ---- */

typedef enum gt_bound { GT_BOUND_UNKNOWN, GT_BOUND_COMPUTE, GT_BOUND_MEMORY } gt_bound;

const char *gt_bound_name(gt_bound bound); /* "COMPUTE_BOUND", "MEMORY_BOUND"; NULL: unknown */

/* NaN if a value is undefined, such as a rate for a time of zero. */
typedef struct gt_metrics {
    double gflops;
    double tflops_per_s;
    double data_moved_mb; /* MiB, despite the name of the column */
    double flops_per_byte;
    double tb_per_s;
    gt_bound bound; /* UNKNOWN: there is no roofline */
    double roofline_us;
    double pct_roofline; /* 100: as fast as the roofline allows */
    double simulated_us; /* from a simulator; NaN: none, and then the following are NaN as well */
    double simulated_tflops_per_s, simulated_tb_per_s, pct_simulated;
} gt_metrics;

/* The minimum time of an op on a GPU is the longer of the two. NaN: unknown. */
typedef struct gt_min_time {
    double compute_us, memory_us;
} gt_min_time;

gt_min_time gt_min_time_of(const gt_model_result *result, const gt_gpu_arch *arch);

/* `result` has the outcome VALUE; the op's kernels ran for kernel_us. If `arch` is NULL, there is no
 * roofline. */
gt_metrics gt_metrics_of(const gt_model_result *result, double kernel_us, const gt_gpu_arch *arch);

/* Sets the values that depend on a simulated time, which may be NaN. */
void gt_metrics_add_simulation(gt_metrics *metrics, const gt_model_result *result, double kernel_us,
                               double simulated_us);

/* Whether the name of an inference step has the lengths that models of attention need (annotation.c). */
bool gt_step_has_lengths(gt_str name);

/* ---- simulated times ----
 *
 * If the environment variable GEMM_SIMULATOR_PATH names a script, Python runs it once per GEMM size of the
 * report, and for the tiles of attention. The script gets the sizes, the precision and the GPU as arguments
 * and prints Time=12.34 (microseconds). */

typedef struct gt_simulator gt_simulator;

/* NULL if no simulator is set or `arch` is NULL. `python` is the interpreter; NULL: "python". Both arguments
 * must outlive the simulator. A run that takes longer than timeout_s (0: any time) is ended, and no other is
 * started. */
gt_simulator *gt_simulator_new(const gt_gpu_arch *arch, const char *python, int64_t timeout_s);
void gt_simulator_free(gt_simulator *simulator);

/* Sets the time of an op in microseconds; NaN if there is none, as for other families than GEMM and SDPA.
 * False if the simulator gave no result for a GEMM: the op then counts as one that its model does not
 * support. */
bool gt_simulator_time(gt_simulator *simulator, const gt_model *model, const gt_model_result *result,
                       bool backward, double *simulated_us);
