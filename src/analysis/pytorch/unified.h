/* Sheets unified_perf_summary and unified_perf_summary_kl_overlap: every kernel's time once, by the op that
 * it counts for, with what the op's model says where it has one. */
#ifndef GT_ANALYSIS_PYTORCH_UNIFIED_H
#define GT_ANALYSIS_PYTORCH_UNIFIED_H

#include "analysis/pytorch/perf.h"
#include "table/table.h"

typedef struct gt_unified gt_unified;
/* Of a trace with python functions, `call_stacks` says whether stacks have columns of their own or stand
 * among the details of kernels. */
gt_unified *gt_unified_new(gt_perf *perf, bool call_stacks);
void gt_unified_free(gt_unified *unified);

/* The longest sum of kernel times first. No rows where nothing ran on the GPU. */
gt_table *gt_unified_summary(gt_unified *unified);
/* Ops beside which other kernels ran are apart; needs perf->overlaps. */
gt_table *gt_unified_summary_with_overlap(gt_unified *unified);

/* The ops that the sheets are made of, with their key columns and the GPU events of each. */
typedef struct gt_unified_ops {
    const gt_table *table;
    const uint32_t *gpu_rows; /* those of op i: from gpu_ends[i - 1] to gpu_ends[i] */
    const size_t *gpu_ends;
} gt_unified_ops;
gt_unified_ops gt_unified_ops_of(const gt_unified *unified);

#endif
