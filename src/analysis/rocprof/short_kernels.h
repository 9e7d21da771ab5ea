/* Sheets short_kernels_summary and short_kernel_histogram: which kernels are so short that launching them may
 * cost more than they do, how many are there, and how short are they? */
#ifndef GT_ANALYSIS_ROCPROF_SHORT_KERNELS_H
#define GT_ANALYSIS_ROCPROF_SHORT_KERNELS_H

#include "base/error.h"
#include "table/table.h"

enum { GT_HISTOGRAM_BINS_MAX = 10 * 1000 * 1000 };

/* The kernel times (kernel_times.h) below the threshold. */
gt_table *gt_short_kernels(const gt_table *kernels, int64_t threshold_us);

/* By name, the longest sum first, equal sums in order of the name. `all_ns` is the time of all kernels, short
 * or not. */
gt_table *gt_short_kernels_summary(const gt_table *short_kernels, int64_t all_ns);

/* Equal bins from the shortest to the longest of these durations; no rows where there are no durations. NULL
 * where the number of bins is not 1 to GT_HISTOGRAM_BINS_MAX. */
gt_table *gt_short_kernel_histogram(gt_interner *strings, const double *dur_us, size_t count, int64_t bins,
                                    gt_error *error);

#endif
