/* Phases, and what names of ops and kernels say about them. Only analysis/phases uses the functions.
 *
 * Each name is examined once and the result cached; results for several names together are combined from
 * these. */
#pragma once

#include "base/base.h"

typedef enum gt_phase {
    GT_PHASE_MIXED, /* unknown */
    GT_PHASE_PREFILL,
    GT_PHASE_DECODE,
} gt_phase;

/* What the name of an op says by itself. */
typedef struct gt_phase_op {
    gt_phase by_framework; /* by op names of inference frameworks */
    gt_phase by_attention;
    bool is_attention;
    gt_phase framework_vote, batching_vote; /* for the method union */
} gt_phase_op;

/* What the names of an op and its kernels say together. */
typedef struct gt_phase_text {
    uint32_t lists; /* bits: lists of words of which a word was found */
    double length_sum,
        length_count; /* of the sequence lengths in names, such as "sl512"; lengths of 0 do not count */
    bool opened;      /* a word was found after which "decode" and "prefill" count */
    bool opened_decode, opened_prefill;
    bool ends_in_seqlen; /* a number at the start of the next name is a sequence length */
} gt_phase_text;

typedef struct gt_phase_names gt_phase_names;
/* Borrows the strings, which may still grow. */
gt_phase_names *gt_phase_names_new(const gt_interner *strings);
void gt_phase_names_free(gt_phase_names *names);

gt_phase_op gt_phase_names_op(gt_phase_names *names, uint32_t op_name);
/* The name of an op, to which the names of its kernels are then added in order. */
gt_phase_text gt_phase_text_begin(gt_phase_names *names, uint32_t op_name);
void gt_phase_text_add(gt_phase_text *text, gt_phase_names *names, uint32_t kernel_name);

/* The answers of several methods. */
gt_phase
gt_phase_by_names(const gt_phase_text *text); /* lengths, then words of prefill before words of decode */
/* *found: a word was found. If words of both phases were found, the result is MIXED. */
gt_phase gt_phase_by_gemm_names(const gt_phase_text *text, bool *found);
gt_phase gt_phase_explicit_vote(const gt_phase_text *text);
gt_phase gt_phase_paged_vote(const gt_phase_text *text);
