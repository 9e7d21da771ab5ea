/* What the performance sheets need to know about an event: its model, its kernels, how fast it ran.
 * Everything that must be looked up or unpacked for this is here once, for all of these sheets. */
#pragma once

#include "analysis/pytorch/extension.h"
#include "analysis/pytorch/launchers.h"
#include "analysis/pytorch/overlap.h"

enum { GT_PERF_DIMS, GT_PERF_TYPES, GT_PERF_STRIDES, GT_PERF_CONCRETE, GT_PERF_ARGUMENTS };

/* What is known about one op: the result of its model and the time of its kernels. */
typedef struct gt_op_metrics {
    const gt_model_result
        *result;         /* NULL: no model, or it does not support the op; then only the busy time is valid */
    double busy_us;      /* gt_busy of its kernels */
    double simulated_us; /* NaN: none */
    uint32_t kernel_count;
    bool busy_integral;
    bool
        lacks_arguments; /* no result, because the trace has no types, strides or concrete inputs of the op */
} gt_op_metrics;

static inline void gt_op_metrics_set_busy(gt_op_metrics *metrics, gt_busy busy)
{
    metrics->busy_us = busy.us;
    metrics->busy_integral = busy.integral;
}

/* An op on its way into a sheet. */
typedef struct gt_op_row {
    uint32_t row; /* of the event */
    uint32_t name, uid;
    gt_op_metrics metrics;
} gt_op_row;

typedef struct gt_perf {
    const gt_linked_view *trace; /* borrowed, like the next three */
    const gt_launchers *launchers;
    const gt_overlaps *overlaps; /* NULL: overlap is not reported */
    const gt_gpu_arch *arch;     /* NULL: unknown */
    gt_simulator *simulator;     /* NULL: none */
    gt_calls own_calls;          /* the arrays are those of the launchers, the trace is the one above */
    const gt_calls *calls;       /* these, or those of another one */
    gt_gradients *gradients;
    size_t *gradient_begins; /* by index in gradients->numbers: GPU events of the gradients before it; one
                                entry more */
    gt_models *models;
    gt_extension *extension; /* borrowed; NULL: none */
    uint32_t *annotations;   /* by row; NULL: no event has one */
    gt_row_set launcher_rows;
    uint32_t *launcher_at;           /* by rank in launcher_rows: index of the launcher */
    uint8_t *communicates, *layouts; /* by name: 0 not checked, 1 no, 2 yes */
    gt_op_overlap_reader *overlap_reader;
    uint32_t asked_launcher; /* the launcher of the last overlap, and that overlap */
    gt_op_overlap asked_overlap;
    gt_row_list kernels;                      /* of the event measured last, by start */
    gt_row_list names, functions, spare_rows; /* scratch */
    gt_intervals spare;
    bool params_as_text; /* as in the options */
    bool borrows;        /* see gt_perf_copy */
} gt_perf;

typedef struct gt_perf_options {
    const gt_gpu_arch *gpu;   /* NULL: not known */
    const char *python;       /* interpreter that runs the GEMM simulator; NULL: "python" */
    int64_t python_timeout_s; /* of one run of the simulator; 0: none */
    gt_extension *extension;  /* NULL: none */
    bool params_as_text;      /* see op_params.h */
    bool annotate_all;        /* find the steps of all kinds of attention, not only of vLLM's */
} gt_perf_options;

/* Borrows all of its arguments; `overlaps` may be NULL. */
gt_perf *gt_perf_new(const gt_linked_view *trace, const gt_launchers *launchers, const gt_overlaps *overlaps,
                     gt_perf_options options);
void gt_perf_free(gt_perf *perf);

/* A second one, for sheets that are made at the same time as those of the first: with models and caches of
 * its own, and with the strings of `trace`, which is otherwise the same. Borrows all else from `perf`. Only
 * if no result depends on those before it, and nothing asks another program. */
gt_perf *gt_perf_copy(const gt_perf *perf, const gt_linked_view *trace);
bool gt_perf_can_copy(const gt_perf *perf);

/* The model for an event with the given name; NULL if there is none. */
const gt_model *gt_perf_model(gt_perf *perf, uint32_t row, uint32_t name);
/* The same for several threads, each with its *models: NULL at first; the thread frees it. */
const gt_model *gt_perf_model_for_thread(gt_perf *perf, gt_models **models, uint32_t row, uint32_t name);

/* The arguments of these events: ids[i * GT_PERF_ARGUMENTS + GT_PERF_DIMS] and so on are the JSON of rows[i].
 * Several threads may call this. */
void gt_perf_arguments(const gt_perf *perf, const uint32_t *rows, size_t count, uint32_t *ids);

/* Evaluates the model for an event, or for its backward pass, and measures the kernels. perf->kernels has the
 * kernels afterwards. Fills `metrics` if the outcome is VALUE. */
gt_model_outcome gt_perf_measure(gt_perf *perf, const gt_model *model, uint32_t row, uint32_t name,
                                 bool backward, gt_op_metrics *metrics);

/* Whether the outcome would be VALUE. */
bool gt_perf_has_result(gt_perf *perf, const gt_model *model, uint32_t row, bool backward);

/* gt_perf_measure for many events, on all threads (perf_measure.c). ops[i] becomes the event of items[i],
 * with its metrics; the busy time and `kernel_count` are set for every outcome. */
typedef struct gt_perf_item {
    const gt_model *model; /* NULL: none; the outcome is FAIL */
    uint32_t row, name;
    bool backward;
} gt_perf_item;
void gt_perf_measure_all(gt_perf *perf, const gt_perf_item *items, size_t count, gt_op_row *ops,
                         uint8_t *outcomes); /* gt_model_outcome */

/* For perf_measure.c: evaluates a model that learns from earlier events (GT_USES_SEQUENCE); completes
 * metrics, apart from the kernels, with the result of a model. */
const gt_model_result *gt_perf_evaluate_in_order(gt_perf *perf, const gt_model *model, uint32_t row,
                                                 uint32_t name, bool backward);
gt_model_outcome gt_perf_finish(gt_perf *perf, const gt_model *model, const gt_model_result *result,
                                bool backward, gt_op_metrics *metrics);

/* What follows from the metrics of an op that has a result. */
gt_metrics gt_perf_figures(const gt_perf *perf, const gt_op_metrics *metrics);

/* The GPU events of an event, or of its backward pass: how many, and which, by start. Several threads may
 * call these; `functions` is memory that the caller keeps from call to call. */
size_t gt_perf_count_kernels(const gt_perf *perf, uint32_t row, bool backward);
void gt_perf_find_kernels(const gt_perf *perf, uint32_t row, bool backward, gt_row_list *functions,
                          gt_row_list *kernels);

/* The name of the first kernel that an event launched itself; GT_STR_EMPTY if it launched none. */
uint32_t gt_perf_first_kernel(const gt_perf *perf, uint32_t row);
/* Several threads may call this. */
bool gt_perf_communicates(const gt_perf *perf, uint32_t gpu_row);

/* The overlap of the kernels that an event launched itself; if there is none, that of `rows`, given in the
 * order of their launches. */
gt_op_overlap gt_perf_overlap(gt_perf *perf, uint32_t row, const uint32_t *rows, size_t count);
