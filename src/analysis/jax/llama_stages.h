/* A language model on one GPU stream: how long does each stage of a layer take?
 *
 * Tokens begin where the first block normalises for attention, layers where their own block does. */
#ifndef GT_ANALYSIS_JAX_LLAMA_STAGES_H
#define GT_ANALYSIS_JAX_LLAMA_STAGES_H

#include "base/error.h"
#include "base/buffer.h"
#include "trace/jax/jax.h"

enum { GT_LLAMA_STAGES = 15, GT_LLAMA_KERNELS = 12, GT_LLAMA_PATHS = 15 };
extern const char *const gt_llama_stage_names[GT_LLAMA_STAGES];

/* Kernels or paths that share a name. */
typedef struct gt_llama_total {
    uint32_t name;       /* text */
    size_t count, first; /* first: place of the first event */
    double total_us, average_us, p90_us;
} gt_llama_total;

typedef struct gt_llama_range {
    int64_t first, last; /* both in it */
} gt_llama_range;

typedef struct gt_llama_summary {
    int64_t d_model, head_dim, post_gsu; /* -1: not known */
    double stage_us[GT_LLAMA_STAGES];    /* a layer, on average */
    double layer_us, token_us;
    gt_llama_total kernels[GT_LLAMA_KERNELS], paths[GT_LLAMA_PATHS]; /* longest first */
    size_t kernel_count, path_count;
    gt_buffer notes; /* one line each */
} gt_llama_summary;

/* `token_mark`: what the path of the op that begins a token holds besides its block. False where no token has
 * all layers. */
bool gt_llama_summarise(const gt_gpu_stream *stream, const char *token_mark, gt_llama_range tokens,
                        gt_llama_range layers, gt_llama_summary *summary, gt_error *error);
void gt_llama_summary_free(gt_llama_summary *summary);

#endif
