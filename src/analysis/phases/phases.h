/* Phases of inference: prefill reads the prompt, decode generates one token after another. Which phase does
 * each op and kernel belong to, and which ops and kernels took the time of each phase?
 *
 *     ops_summary_prefill, ops_summary_decode          sheets.c
 *     kernel_summary_prefill, kernel_summary_decode    sheets.c
 *     inference_phases                                 sheets.c, of the method auto */
#pragma once

#include "analysis/phases/names.h"
#include "analysis/pytorch/sheets.h"

/* ---- finding phases ---- */

typedef enum gt_phase_method {
    GT_PHASES_HYBRID,              /* the first of the next four that gives an answer */
    GT_PHASES_KERNEL_NAMES,        /* words and sequence lengths in the names of the op and its kernels */
    GT_PHASES_FRAMEWORK_APIS,      /* op names of inference frameworks */
    GT_PHASES_ATTENTION_PATTERNS,  /* names of attention ops, and their query length */
    GT_PHASES_OPERATION_FREQUENCY, /* rare ops are prefill, all others decode */
    GT_PHASES_GEMM_PARAMS,         /* M of a matrix product, rows of the first input of other ops */
    GT_PHASES_UNION,               /* a weighted vote of these */
    GT_PHASES_AUTO,                /* what steps say, not single ops (auto.c) */
    GT_PHASE_METHODS
} gt_phase_method;

/* "hybrid", "kernel_names", ... */
const char *gt_phase_method_name(gt_phase_method method);

typedef struct gt_phase_options {
    gt_phase_method method;
    int64_t decode_threshold; /* for gemm_params, union and auto: M above this is prefill */
    /* Do as TraceLens does, not as its documentation says: attention_patterns uses only names with attention,
     * attn or sdpa and no query lengths, and M is always the first dimension of the first input. */
    bool as_reference;
} gt_phase_options;

typedef struct gt_phases gt_phases;

/* Borrows trace and launchers. Without launchers (NULL, for a trace without ops) only gt_phases_of_kernels
 * may be called. An op for which the method has no answer is GT_PHASE_MIXED. */
gt_phases *gt_phases_find(const gt_linked_view *trace, const gt_launchers *launchers,
                          gt_phase_options options);
void gt_phases_free(gt_phases *phases);

gt_phase gt_phases_of_launcher(const gt_phases *phases, size_t launcher);
/* By row of GPU events (gt_phase): the phase of the launcher; kernels without one are judged by their name
 * only. The caller frees it. */
uint8_t *gt_phases_of_kernels(gt_phases *phases);

/* The name of an event that only training has, of the backward pass or of an optimizer; GT_STR_NONE: no such
 * event. */
uint32_t gt_phases_sign_of_training(const gt_linked_view *trace);

/* ---- steps, of the method auto ---- */

/* What the phase of a step was found by, the strongest first. */
typedef enum gt_phase_evidence {
    GT_EVIDENCE_NONE,
    GT_EVIDENCE_ANNOTATION,     /* of the host */
    GT_EVIDENCE_GPU_ANNOTATION, /* of the GPU; used if the process has none of the host */
    GT_EVIDENCE_QUERIES,        /* query lengths of attention, or sequence lengths of an embedding */
    GT_EVIDENCE_GEMMS,          /* M of the GEMMs, compared with the batch size or the rows of the logits */
    GT_EVIDENCE_NAMES,
    GT_EVIDENCE_GUESS, /* M of the GEMMs, compared with the threshold */
} gt_phase_evidence;

typedef struct gt_phase_step {
    uint32_t name; /* string id; GT_STR_NONE: not annotated */
    double start_us, end_us;
    bool is_mixed;  /* has prefill and decode */
    gt_phase phase; /* what its ops count for; of a mixed step the phase with more tokens */
    gt_phase_evidence evidence;
    int64_t guess_rows;                                /* of a guess: M */
    int64_t batch_size, prefill_tokens, decode_tokens; /* -1: unknown */
    size_t gpu_events;
    double gpu_us; /* sum of their durations */
} gt_phase_step;

/* By start; the last one stands for all GPU events that are in no step. None for other methods. */
const gt_phase_step *gt_phases_steps(const gt_phases *phases, size_t *count);
int64_t gt_phases_decode_threshold(const gt_phases *phases);
gt_phase_evidence gt_phases_evidence_of_launcher(const gt_phases *phases, size_t launcher);

/* ---- sheets ---- */

/* ops_summary of the launchers of one phase: the largest sum first, equal sums as first seen. No rows if no
 * launcher is of that phase. */
gt_table *gt_phase_ops_summary(const gt_linked_view *trace, const gt_launchers *launchers,
                               const gt_phases *phases, gt_phase phase, gt_sheet sheet);

/* kernel_summary of the kernels of one phase, without the share of the total time. `kernel_phases` is the
 * result of gt_phases_of_kernels. */
gt_table *gt_phase_kernel_summary(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                  const uint8_t *kernel_phases, gt_phase phase, gt_sheet sheet);

/* One row per step of the method auto; GPU events outside all steps are the last row, if there are any. */
gt_table *gt_phase_steps_sheet(const gt_linked_view *trace, const gt_phases *phases);

/* ---- categories of kernels (inference_category.c) ---- */

/* What kind of work does a kernel of an inference engine do, by its name alone: "GEMM-CK",
 * "PagedAttention-Reduce", "KVCache-vLLM", ... or "Uncategorized"? Finer than
 * gt_kernel_category of analysis/rocprof/sheets.h. */
typedef struct gt_inference_categories gt_inference_categories;
gt_inference_categories *gt_inference_categories_new(void);
void gt_inference_categories_free(gt_inference_categories *categories);
const char *gt_inference_category(gt_inference_categories *categories, gt_str kernel_name);
