/* Two runs of a language model, on an AMD and an NVIDIA GPU, side by side as Markdown. */
#ifndef GT_REPORT_LLAMA_COMPARE_H
#define GT_REPORT_LLAMA_COMPARE_H

#include "analysis/jax/llama_stages.h"

typedef struct gt_llama_pair {
    const gt_llama_summary *rocm, *cuda;
    gt_llama_range tokens, layers;
    const gt_interner *strings; /* of both */
} gt_llama_pair;

void gt_llama_compare(gt_buffer *out, const gt_llama_pair *pair);

#endif
