/* What do the names of an op and of its kernels say about the phase of inference that it belongs to?
 *
 * Each name is looked at once; what several names together say is put together from what each says. */
#ifndef GT_ANALYSIS_PHASES_NAMES_H
#define GT_ANALYSIS_PHASES_NAMES_H

#include "base/interner.h"

#include <stdbool.h>

typedef enum gt_phase {
    GT_PHASE_MIXED, /* not told */
    GT_PHASE_PREFILL,
    GT_PHASE_DECODE,
} gt_phase;

/* What the name of an op says by itself. */
typedef struct gt_phase_op {
    gt_phase by_framework; /* by the names that inference engines give to their ops */
    gt_phase by_attention;
    bool is_attention;
    gt_phase framework_vote, batching_vote; /* of the method union */
} gt_phase_op;

/* What the names of an op and its kernels say together. */
typedef struct gt_phase_text {
    uint32_t lists;                  /* those of the lists of words of which a word was found */
    double length_sum, length_count; /* of the sequence lengths that names hold, "sl512"; 0 is none */
    bool opened;                     /* a word was found behind which "decode" and "prefill" count */
    bool opened_decode, opened_prefill;
    bool ends_in_seqlen; /* a number that the next name begins with is a sequence length */
} gt_phase_text;

typedef struct gt_phase_names gt_phase_names;
gt_phase_names *
gt_phase_names_new(const gt_interner *strings); /* borrows the strings, which may still grow */
void gt_phase_names_free(gt_phase_names *names);

gt_phase_op gt_phase_names_op(gt_phase_names *names, uint32_t op_name);
/* The name of an op, and then those of its kernels in their order. */
gt_phase_text gt_phase_text_begin(gt_phase_names *names, uint32_t op_name);
void gt_phase_text_add(gt_phase_text *text, gt_phase_names *names, uint32_t kernel_name);

/* What such a text says, by the words of three methods. */
gt_phase gt_phase_by_lengths(const gt_phase_text *text); /* a mean length of 1 or above 10 */
gt_phase gt_phase_by_names(const gt_phase_text *text);   /* lengths, then prefill before decode */
gt_phase gt_phase_by_gemm_names(const gt_phase_text *text,
                                bool *told); /* told: by both, too, and then MIXED */
gt_phase gt_phase_explicit_vote(const gt_phase_text *text);
gt_phase gt_phase_paged_vote(const gt_phase_text *text);

#endif
