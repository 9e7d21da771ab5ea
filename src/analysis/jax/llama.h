/* A language model on one GPU stream: how long does each stage of a layer take?
 *
 * A token begins with the attention normalization of the first block, a layer with that of its own block:
 *
 *     path   .../block_0/norm_attn/...  .../block_1/norm_attn/...  .../block_0/norm_attn/...
 *            token 0, layer 0           layer 1                    token 1, layer 0
 */
#pragma once

#include "trace/jax/jax.h"

enum { GT_LLAMA_STAGES = 15, GT_LLAMA_KERNELS = 12, GT_LLAMA_PATHS = 15 };
extern const char *const gt_llama_stage_names[GT_LLAMA_STAGES];

/* All events with the same kernel name or path. */
typedef struct gt_llama_total {
    uint32_t name;       /* string id */
    size_t count, first; /* first: index of the first event */
    double total_us, average_us, p90_us;
} gt_llama_total;

typedef struct gt_llama_range {
    int64_t first, last; /* both included */
} gt_llama_range;

typedef struct gt_llama_summary {
    int64_t d_model, head_dim, post_gsu; /* -1: unknown */
    double stage_us[GT_LLAMA_STAGES];    /* mean per layer */
    double layer_us, token_us;
    gt_llama_total kernels[GT_LLAMA_KERNELS], paths[GT_LLAMA_PATHS]; /* the longest first */
    size_t kernel_count, path_count;
    gt_buffer notes; /* one line per note */
} gt_llama_summary;

/* `token_mark` must also occur in the path of an op that begins a token. False and an error if no token has
 * all layers. */
bool gt_llama_summarize(const gt_gpu_stream *stream, const char *token_mark, gt_llama_range tokens,
                        gt_llama_range layers, gt_llama_summary *summary, gt_error *error);
void gt_llama_summary_free(gt_llama_summary *summary);
