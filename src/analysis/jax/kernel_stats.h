/* The cell that measures alike kernels of a JAX profile:
 *
 *     [{'name': 'gemm', ..., 'count': 2, 'total_duration_us': 50.0, 'mean_duration_us': 25.0, ...}]
 *
 * Totals and means are numpy's (pairwise sums), the standard deviation is over n. */
#ifndef GT_ANALYSIS_JAX_KERNEL_STATS_H
#define GT_ANALYSIS_JAX_KERNEL_STATS_H

#include "table/operations.h"

/* One cell a group of rows, in the order of the groups: text ids, which the caller frees. `rest` gives what
 * stands between the name and the count, by the group's first row; NULL for nothing. */
typedef gt_str gt_jax_rest(void *context, size_t row);
uint32_t *gt_jax_kernel_stats(const gt_groups *groups, const uint32_t *names, const double *dur_us,
                              gt_interner *strings, gt_jax_rest *rest, void *context);

#endif
