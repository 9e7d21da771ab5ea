/* Steps of an inference server: how many requests each step has, which steps show the server at full load,
 * and which events of the trace belong to a step.
 *
 * Servers write what a step does into the name of an annotation:
 *
 *     execute_40_context_1(sq3sk5sqsq9sqsk15)_generation_37(sq37sk34489sqsq37sqsk34489)   vLLM
 *     execute_context_2(6144)_generation_3(3)                                             vLLM, short
 *     step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 ...]               SGLang
 *     step[EXTEND bs=2 toks=14721]                                                        SGLang, short
 *     prefill[bs=2 tok=14721 ctx=[7803, 6918]], decode[bs=117/128 tok=117 d=117]          ATOM
 *     execute_diffusion_1_1024x1024                                                       diffusion
 *
 * Context is prefill, generation is decode. */
#pragma once

#include "trace/events.h"

/* ---- names of steps ---- */

typedef struct gt_serving_step {
    int64_t batch_size;
    int64_t context_requests, context_sum; /* requests; tokens */
    int64_t generation_requests, generation_sum;
    int64_t context_length, generation_length; /* sums of sequence lengths (sk), which detailed names tell */
} gt_serving_step;

/* How much a name says. Steps are the annotations whose names say most. */
typedef enum gt_step_name { GT_STEP_NONE, GT_STEP_SHORT, GT_STEP_DETAILED } gt_step_name;

gt_step_name gt_step_name_kind(gt_str name);
/* The same with the forms that TraceLens does not know: TensorRT-LLM, and all modes of SGLang. These are
 * short. */
gt_step_name gt_step_any_name_kind(gt_str name);
/* What the name says; for any other name, a step of one request that generates one token. */
gt_serving_step gt_serving_step_of(gt_str name);

/* The phase that a name tells. GT_STEP_OTHER: a step without prefill and decode, such as one of a diffusion
 * model or one without requests, or a name whose numbers cannot be read. */
typedef enum gt_step_phase { GT_STEP_OTHER, GT_STEP_PREFILL, GT_STEP_DECODE, GT_STEP_MIXED } gt_step_phase;
gt_step_phase gt_step_phase_of(gt_str name);

static inline int64_t gt_step_requests(const gt_serving_step *step)
{
    return step->context_requests + step->generation_requests;
}
static inline bool gt_step_has_context(const gt_serving_step *step)
{
    return step->context_requests > 0;
}
static inline bool gt_step_is_decode(const gt_serving_step *step)
{
    return step->generation_requests > 0 && step->context_requests <= 0;
}

/* Totals of several steps. */
typedef struct gt_step_mix {
    size_t prefill, mixed, decode; /* steps with context only, with both, with generation only */
    int64_t batch_size, requests;  /* means, truncated to integers */
} gt_step_mix;
gt_step_mix gt_step_mix_of(const gt_serving_step *steps, size_t count);

/* ---- full load ---- */

/* Steps [begin, end). */
typedef struct gt_step_range {
    size_t begin, end;
} gt_step_range;

/* Regions in which the server has about as many requests as it ever has: within 10 % of the maximum (20 % if
 * there are fewer than `wanted` steps), and at least within one request. A region begins when six steps were
 * near the maximum and ends at the sixth step in it that is not. If there is none, the result is the middle
 * of the trace. The caller frees it. */
gt_step_range *gt_steady_regions(const gt_serving_step *steps, size_t count, size_t wanted,
                                 size_t *region_count);

typedef enum gt_window_kind {
    GT_WINDOW_MIXED,        /* prefill and decode in the same proportion as in all regions */
    GT_WINDOW_DECODE,       /* the longest run of decode-only steps */
    GT_WINDOW_WITH_PREFILL, /* the longest run of steps that all have prefill */
} gt_window_kind;

typedef struct gt_window_request {
    size_t steps;            /* length of the window */
    double share_of_prefill; /* of the mixed window; NaN: that of all regions */
} gt_window_request;

/* A window of the longest region; empty if no step is of the kind. */
gt_step_range gt_steady_window(const gt_serving_step *steps, const gt_step_range *regions,
                               size_t region_count, gt_window_kind kind, gt_window_request request);

/* ---- events of steps ---- */

/* A step: a span of time on one thread. */
typedef struct gt_step_span {
    uint32_t process, thread, name; /* string ids */
    double start_us, end_us;
} gt_step_span;

/* Annotations that are named like steps, by start; only the detailed ones if there are any. The caller frees
 * them. */
gt_step_span *gt_step_spans_find(const gt_plain_events *events, size_t *count);

typedef struct gt_step_finder gt_step_finder;
/* Borrows the events. */
gt_step_finder *gt_step_finder_new(const gt_plain_events *events);
void gt_step_finder_free(gt_step_finder *finder);

/* The events of several steps. */
typedef struct gt_step_events {
    uint32_t *events; /* in file order, each once; the caller frees them */
    size_t count, capacity;
    size_t gpu_events;
    double gpu_us;      /* sum over the steps of the time from the first GPU start to the last GPU end */
    double gpu_busy_us; /* sum of the durations of GPU events */
    bool is_integral;   /* all times were written as integers */
} gt_step_events;
/* The events that belong to steps: what the step's own thread did during the step, the flow events from
 * there, and the GPU events launched there, whenever these ran. Events without a time, which name processes
 * and threads, belong to all steps. */
gt_step_events gt_step_finder_find(gt_step_finder *finder, const gt_step_span *steps, size_t count);
