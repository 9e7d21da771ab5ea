/* The steps of a trace: the one list that reports, findings and commands use.
 *
 * A step is one pass of the model: what a server, a training loop or a generation loop does over and over.
 * Annotations of the host say where steps are (trace/step_names.c lists the forms):
 *
 *     execute_context_1(240)_generation_0(0)     vLLM
 *     step[DECODE bs=8]                          SGLang
 *     ProfilerStep#3                             PyTorch's profiler, only if no server has annotated any
 *
 * Without annotations they are inferred from the calls in which the host waits for the GPU (step_waits.c).
 *
 * The host runs ahead of the GPU, so the annotation's length says little about the step's. What the
 * annotation launched is what counts: a step lasts from when the GPU has finished all earlier steps until it
 * has finished this one, its interval.
 *
 *     GPU   |--- step 1 ---|  gap  |- other -| gap |----- step 2 -----|
 *                          |<- interval of step 2 ------------------->|
 *
 * Times are integer nanoseconds since base_ns, so that sums are exact:
 *     interval = span + gap + outside - overlap. */
#pragma once

#include "analysis/kernel_classifier.h"
#include "trace/pytorch/pytorch.h"
#include "trace/step_names.h"

enum { GT_OUTSIDE_STEPS = UINT32_MAX };

/* A kernel, copy or memset. */
typedef struct gt_listed_op {
    int64_t start_ns, end_ns;
    int64_t call_ns; /* start of its call, if there is one */
    uint32_t row;    /* in the trace */
    uint32_t call;   /* the row of the call that launched it; all kernels of a graph have the same.
                        GT_NO_EVENT: not recorded */
    uint32_t lane;   /* of the call (trace/pytorch/lanes.h) */
    uint32_t name;   /* string id */
    uint32_t grid;   /* string id: "[8,1,1]"; GT_STR_NONE: unknown */
    uint32_t step;   /* GT_OUTSIDE_STEPS: outside of all steps */
    uint8_t kind;    /* gt_event_kind: KERNEL, MEMCPY or MEMSET */
    uint8_t class;   /* gt_kernel_class */
    bool in_graph;   /* replayed by a graph */
} gt_listed_op;

typedef struct gt_listed_step {
    int64_t host_start_ns, host_end_ns;
    uint32_t name, lane; /* string id of the annotation, GT_STR_NONE if inferred; of its thread */
    uint32_t row;        /* of the annotation; GT_NO_EVENT if inferred */
    gt_serving_phase phase;
    bool is_inferred; /* by waits or read-backs */
    uint32_t parts;   /* annotations that are steps by their names, this one included: those inside it only
                         give it their numbers */
    gt_step_said said;
    int64_t padded; /* rows of the graph's kernels: the batch size that the graph was captured for;
                       GT_STEP_UNKNOWN */

    /* Its ops are list->of_steps[first_op ... first_op + op_count - 1], by start. The rest is 0 without ops.
     */
    size_t first_op, op_count, graph_ops, graph_launches;
    int64_t gpu_start_ns, gpu_end_ns;
    int64_t busy_ns; /* at least one of its ops ran */
    int64_t comm_ns; /* at least one of its collectives ran */
    /* Of the first step on the GPU, these are 0: */
    bool has_interval;   /* false: there is no step before it */
    int64_t before_ns;   /* when the GPU had finished all steps before it */
    int64_t overlap_ns;  /* it began so long before that */
    int64_t outside_ns;  /* after that and before it began, ops of no step ran */
    int64_t gap_ns;      /* ... and nothing ran */
    int64_t interval_ns; /* from before_ns until it ended */

    /* What it has to read from memory, if that was looked for (analysis/graphs/memory.h); 0: unknown. */
    double weight_bytes, kv_bytes;
    double gemm_ns, weighed_ns; /* of its GEMMs; of those whose weights are known */
    double attention_ns, kv_ns; /* of its attention; of that which reads kv_bytes */
} gt_listed_step;

/* How long a step took: its interval, or its span if there is no step before it. */
static inline int64_t gt_step_took_ns(const gt_listed_step *step)
{
    return step->has_interval ? step->interval_ns : step->gpu_end_ns - step->gpu_start_ns;
}

/* The batch of its graph, else the number of generating requests; 0: unknown. */
static inline int64_t gt_step_batch(const gt_listed_step *step)
{
    int64_t requests = step->said.generation_requests;
    return step->padded > 0 ? step->padded : requests > 0 ? requests : 0;
}

typedef struct gt_step_list {
    int64_t base_ns;       /* the time of the trace that is 0 here */
    gt_listed_step *steps; /* by start on the host */
    size_t count;
    uint32_t *on_gpu; /* those with ops, by their starts on the GPU */
    size_t on_gpu_count;
    gt_listed_op *ops; /* all of the trace, by start */
    size_t op_count;
    uint32_t *of_steps;            /* indexes of ops, step by step */
    gt_row_set rows;               /* of the ops ... */
    uint32_t *op_of_rank;          /* ... and by rank in it, the op */
    gt_kernel_classifier *kernels; /* classes and stems of the ops */
    size_t graph_launches;
    size_t of_phase[GT_SERVING_PHASES]; /* steps, also those without ops */
    bool is_capture;                    /* the trace was made while a graph was captured, so its kernels did
                                           not run */
    int64_t capture_batch;              /* the batch size of that graph; GT_STEP_UNKNOWN */
} gt_step_list;

/* The steps of a PyTorch trace, before or after it was linked. Frames are used if the trace still has them.
 * The list borrows the trace's strings. */
gt_step_list *gt_step_list_find(const gt_event_view *trace);
void gt_step_list_free(gt_step_list *list);

/* Whether a call of this name replays a graph. */
bool gt_is_graph_launch(gt_str call);

/* Whether any step is of a server or of generation: not only those of training loops. */
bool gt_step_list_serves(const gt_step_list *list);
/* The step of an op by its row in the trace; GT_OUTSIDE_STEPS. */
uint32_t gt_step_list_of_row(const gt_step_list *list, uint32_t row);

/* The sum of the lengths of ops that run, each moment once. */
int64_t gt_step_ops_union(const gt_step_list *list, const uint32_t *ops, size_t count);
