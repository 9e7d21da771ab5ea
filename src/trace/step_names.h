/* What the names of steps say: annotations and ranges in which servers write what a step does, such as
 * "step[DECODE bs=8]". Context is prefill, generation is decode. */
#pragma once

#include "base/base.h"

/* In the order of reports. */
typedef enum gt_serving_phase {
    GT_SERVING_PREFILL,
    GT_SERVING_MIXED,
    GT_SERVING_DECODE,
    GT_SERVING_VERIFY, /* the model checks what a smaller one has drafted */
    GT_SERVING_DRAFT,
    GT_SERVING_DIFFUSION,
    GT_SERVING_STEP, /* of the profiler, or of unknown phase */
    GT_SERVING_IDLE,
    GT_SERVING_PHASES
} gt_serving_phase;

/* What says that there is a step. */
typedef enum gt_step_kind {
    GT_STEP_VLLM_DETAILED,
    GT_STEP_VLLM,
    GT_STEP_VLLM_NEW,
    GT_STEP_SGLANG_DETAILED,
    GT_STEP_SGLANG,
    GT_STEP_ATOM_DETAILED,
    GT_STEP_ATOM,
    GT_STEP_TRTLLM,
    GT_STEP_DIFFUSION,
    GT_STEP_PROFILER,
    GT_STEP_WAITS,      /* inferred: the calls in which the host waits */
    GT_STEP_READ_BACKS, /* inferred: copies to the host */
    GT_STEP_KINDS
} gt_step_kind;

enum { GT_STEP_UNKNOWN = -1 };

/* What the name of a step says; GT_STEP_UNKNOWN where it says nothing. Context is prefill, generation is
 * decode. */
typedef struct gt_step_said {
    gt_step_kind kind;
    uint8_t rank; /* how much the name says: 0 detailed, 1 short, 2 only that it is a step */
    gt_str mode;  /* "DECODE", "prefill", in the name; empty if the form has none */
    int64_t context_requests, context_tokens;
    int64_t generation_requests, generation_tokens;
    int64_t sk_sum; /* of the lengths of all sequences in the KV cache */
} gt_step_said;

/* False if it is not the name of a step. */
bool gt_step_name_says(gt_str name, gt_step_said *said);
/* Whether a range says that it is a step of a server; *name loses the domain that may precede it,
 * "TensorRT-LLM:[Executor] _forward_step 1: ...". */
bool gt_range_is_step(gt_str *name);
/* `drafts`: the trace has steps that verify drafts, so that plain decoding is that of the drafting model. */
gt_serving_phase gt_step_said_phase(const gt_step_said *said, bool drafts);

/* "prefill", "mixed", ... */
const char *gt_serving_phase_name(gt_serving_phase phase);
/* The phase of this name; GT_SERVING_PHASES: none. */
gt_serving_phase gt_serving_phase_named(const char *name);
/* "vllm_detailed", "vllm_native", ..., "waits", "read-backs". */
const char *gt_step_kind_name(gt_step_kind kind);

static inline bool gt_phase_generates(gt_serving_phase phase)
{
    return phase == GT_SERVING_DECODE || phase == GT_SERVING_VERIFY;
}

/* By the time of each phase: decode or verify, whichever takes longer, or else the phase that takes longest.
 */
gt_serving_phase gt_serving_main_phase(const double times[GT_SERVING_PHASES]);
