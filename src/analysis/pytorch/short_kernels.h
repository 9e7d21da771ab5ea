/* Sheets short_kernel_histogram and short_kernels_summary of a PyTorch trace: which ops launch kernels so
 * short that the launch may cost more than the work? */
#ifndef GT_ANALYSIS_PYTORCH_SHORT_KERNELS_H
#define GT_ANALYSIS_PYTORCH_SHORT_KERNELS_H

#include "analysis/pytorch/kernels.h"
#include "base/error.h"

typedef struct gt_pytorch_short_options {
    int64_t threshold_us; /* kernels below this are short */
    int64_t bins;
    bool limited; /* the summary is cut to `topk` rows, as gt_table_head cuts */
    int64_t topk;
} gt_pytorch_short_options;

/* How short the short kernels are; no rows where there are none. NULL where short_kernels.h says so. */
gt_table *gt_pytorch_short_kernel_histogram(const gt_pytorch_kernels *kernels,
                                            const gt_pytorch_short_options *options, gt_error *error);

/* By op, its arguments and kernel name; the longest sum first. `total_ms` is the timeline's total_time.
 * Without columns where no kernel is short. */
gt_table *gt_pytorch_short_kernels_summary(const gt_pytorch_kernels *kernels,
                                           const gt_pytorch_short_options *options, double total_ms);

#endif
