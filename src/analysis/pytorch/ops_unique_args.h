/* Ops with the same name, thread and arguments together: how often, how long, and which kernels. The longest
 * total first, equal totals in order of the uid. */
#ifndef GT_ANALYSIS_PYTORCH_OPS_UNIQUE_ARGS_H
#define GT_ANALYSIS_PYTORCH_OPS_UNIQUE_ARGS_H

#include "analysis/pytorch/ops.h"
#include "analysis/pytorch/overlap.h"

#define GT_ALL_OPS INT64_MAX

typedef struct gt_unique_args_options {
    bool by_num_kernels;   /* ops with different numbers of kernels are apart */
    bool first_occurrence; /* with the column first_occurrence_time */
    int64_t topk;          /* only so many rows, GT_ALL_OPS for all; percentages are of all rows */
    const gt_overlaps
        *overlaps; /* not NULL: ops beside which other kernels ran are apart, and what ran is told */
} gt_unique_args_options;

/* ops_unique_args, or ops_unique_args_kl_overlap with overlaps. Adds and removes columns of the ops' table
 * meanwhile. */
gt_table *gt_ops_unique_args(gt_ops *ops, gt_unique_args_options options);

#endif
