/* What the performance sheets ask of an event: its model, its kernels, how fast it ran.
 *
 * Everything that must be looked up or unpacked for that is here once, for all of these sheets. */
#ifndef GT_ANALYSIS_PYTORCH_PERF_H
#define GT_ANALYSIS_PYTORCH_PERF_H

#include "analysis/pytorch/extension.h"
#include "analysis/pytorch/launchers.h"
#include "analysis/pytorch/op_overlap.h"
#include "analysis/pytorch/op_metrics.h"
#include "model/simulator.h"
#include "trace/pytorch/calls.h"
#include "trace/intervals.h"

enum { GT_PERF_DIMS, GT_PERF_TYPES, GT_PERF_STRIDES, GT_PERF_CONCRETE, GT_PERF_ARGUMENTS };

typedef struct gt_perf {
    const gt_linked_view *trace; /* borrowed, as are the next three: */
    const gt_launchers *launchers;
    const gt_overlaps *overlaps; /* NULL: nobody asks what ran beside kernels */
    const gt_gpu_arch *arch;     /* NULL: not known */
    gt_simulator *simulator;     /* NULL: there is none */
    gt_calls *calls;
    gt_gradients *gradients;
    gt_models *models;
    gt_extension *extension;                /* NULL: none */
    uint32_t *arguments[GT_PERF_ARGUMENTS]; /* by row: JSON texts */
    uint32_t *annotations;                  /* by row; NULL: no event has one */
    int64_t *sequences;                     /* by row */
    uint32_t *streams;                      /* by row: JSON texts */
    uint32_t *launcher_at;                  /* by row: the index of the launcher that it is, or GT_NO_EVENT */
    uint8_t *communicates;                  /* by name: 1 no, 2 yes, 0 not asked yet */
    gt_op_overlap_reader *overlap_reader;
    uint32_t asked_launcher; /* the one whose overlap was asked for last, and what it was */
    gt_op_overlap asked_overlap;
    gt_row_list kernels; /* of the event measured last, by start */
    gt_row_list names, functions, spare_rows;
    gt_intervals spare;
} gt_perf;

typedef struct gt_perf_options {
    const gt_gpu_arch *gpu;  /* NULL: not known */
    const char *python;      /* interpreter that runs the GEMM simulator; NULL: "python" */
    gt_extension *extension; /* NULL: none */
} gt_perf_options;

/* Borrows all of its arguments; `overlaps` may be NULL. */
gt_perf *gt_perf_new(const gt_linked_view *trace, const gt_launchers *launchers, const gt_overlaps *overlaps,
                     gt_perf_options options);
void gt_perf_free(gt_perf *perf);

/* The model of an event, here under the given name; NULL where there is none. */
const gt_model *gt_perf_model(gt_perf *perf, uint32_t row, uint32_t name);

/* What the model says of an event, and how fast its kernels were, or those of its backward pass. The kernels
 * are in perf->kernels afterwards. Fills `metrics` where the outcome is VALUE. */
gt_model_outcome gt_perf_measure(gt_perf *perf, const gt_model *model, uint32_t row, uint32_t name,
                                 bool backward, gt_op_metrics *metrics);
/* The figures of an op without a model, with these kernels. */
gt_op_metrics gt_perf_measure_time(gt_perf *perf, const gt_row_list *kernels);

/* The first kernel that an event launched itself, as a name; GT_STR_EMPTY where it launched none. */
uint32_t gt_perf_first_kernel(const gt_perf *perf, uint32_t row);
bool gt_perf_communicates(gt_perf *perf, uint32_t gpu_row);
gt_kernel_detail gt_perf_detail(const gt_perf *perf, uint32_t gpu_row);

/* What ran beside the kernels that an event launched itself; where that was nothing, beside `rows`, given in
 * the order of their launches. */
gt_op_overlap gt_perf_overlap(gt_perf *perf, uint32_t row, const uint32_t *rows, size_t count);

#endif
