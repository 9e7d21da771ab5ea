/* Which phase of inference does each op belong to: prefill, in which the prompt is read, or decode, in which
 * one token after another is made? Told by one of several methods; an op about which the method says nothing
 * is GT_PHASE_MIXED. */
#ifndef GT_ANALYSIS_PHASES_PHASES_H
#define GT_ANALYSIS_PHASES_PHASES_H

#include "analysis/pytorch/launchers.h"
#include "analysis/phases/names.h"

typedef enum gt_phase_method {
    GT_PHASES_HYBRID,              /* the first of the next four that says something */
    GT_PHASES_KERNEL_NAMES,        /* words and sequence lengths in the names of the op and its kernels */
    GT_PHASES_FRAMEWORK_APIS,      /* names that inference engines give to their ops */
    GT_PHASES_ATTENTION_PATTERNS,  /* names of attention ops; their query length */
    GT_PHASES_OPERATION_FREQUENCY, /* ops that come seldom are prefill, all others decode */
    GT_PHASES_GEMM_PARAMS,         /* M of a matrix product, rows of the first input of other ops */
    GT_PHASES_UNION,               /* what most of these say, some having more weight than others */
    GT_PHASE_METHODS
} gt_phase_method;

/* "hybrid", "kernel_names", ... */
const char *gt_phase_method_name(gt_phase_method method);

typedef struct gt_phase_options {
    gt_phase_method method;
    int64_t decode_threshold; /* M above it is prefill, for gemm_params and union */
    /* As the program that these reports come from does it, not as its documentation says: attention_patterns
     * knows only names with attention, attn or sdpa and no query lengths, and M is always the first extent of
     * the first input. */
    bool as_reference;
} gt_phase_options;

typedef struct gt_phases gt_phases;

/* Borrows trace and launchers. Without launchers (NULL: those of a trace without ops do not count) only
 * kernels can be asked about. */
gt_phases *gt_phases_find(const gt_linked_view *trace, const gt_launchers *launchers,
                          gt_phase_options options);
void gt_phases_free(gt_phases *phases);

gt_phase gt_phases_of_launcher(const gt_phases *phases, size_t launcher);
/* By row, of GPU events (gt_phase): that of the launcher; kernels that belong to none are judged by their
 * name alone. The caller frees it. */
uint8_t *gt_phases_of_kernels(gt_phases *phases);

#endif
