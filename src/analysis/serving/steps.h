/* Steps of an inference server: how many requests were in each, and which of them show the server at work.
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
#ifndef GT_ANALYSIS_SERVING_STEPS_H
#define GT_ANALYSIS_SERVING_STEPS_H

#include "base/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gt_serving_step {
    int64_t batch_size;
    int64_t context_requests, context_sum; /* requests; tokens */
    int64_t generation_requests, generation_sum;
} gt_serving_step;

/* How much a name tells. Steps are those of the names that tell most. */
typedef enum gt_step_name { GT_STEP_NONE, GT_STEP_SHORT, GT_STEP_DETAILED } gt_step_name;

gt_step_name gt_step_name_kind(gt_str name);
/* What the name says; of another name, a step of one request that generates. */
gt_serving_step gt_serving_step_of(gt_str name);

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

/* What a row of steps has. */
typedef struct gt_step_mix {
    size_t prefill, mixed, decode; /* steps of context alone, of both, of generation alone */
    int64_t batch_size, requests;  /* means, whole numbers */
} gt_step_mix;
gt_step_mix gt_step_mix_of(const gt_serving_step *steps, size_t count);

/* Steps [begin, end). */
typedef struct gt_step_range {
    size_t begin, end;
} gt_step_range;

/* Where the server has about as many requests as it ever has: within a tenth of the most (a fifth where there
 * are fewer than `wanted` steps), and one. A region begins when six steps were so and ends with the sixth in
 * it that is not; without any, it is the middle. The caller frees it. */
gt_step_range *gt_steady_regions(const gt_serving_step *steps, size_t count, size_t wanted,
                                 size_t *region_count);

typedef enum gt_window_kind {
    GT_WINDOW_MIXED,        /* with prefill and decode as they are in all regions */
    GT_WINDOW_DECODE,       /* the longest row of steps that only decode */
    GT_WINDOW_WITH_PREFILL, /* the longest row of steps that all prefill */
} gt_window_kind;

typedef struct gt_window_request {
    size_t steps;            /* how many */
    double share_of_prefill; /* of the mixed window; NaN: that of all regions */
} gt_window_request;

/* A window of the longest region; empty where no step is of the kind. */
gt_step_range gt_steady_window(const gt_serving_step *steps, const gt_step_range *regions,
                               size_t region_count, gt_window_kind kind, gt_window_request wish);

#endif
