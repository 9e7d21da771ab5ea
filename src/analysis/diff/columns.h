/* Columns of unified_perf_summary that hold the report's trace (trace1) against another (trace2), behind
 * "Kernel Time (µs)_sum":
 *
 *     speedup (trace2/trace1)       the ratio of the two totals below: above 1, trace2 takes longer
 *     delta_us (trace2 - trace1)    the second total less the row's own Kernel Time (µs)_sum
 *     lca_count_trace2              how many of the common calls have GPU work of trace2
 *     lca_id, lca_name              the common calls (diff_stats.h) that the row's kernels are under, joined
 * by "; " lca_total_kernel_time_trace1_us, lca_total_kernel_time_trace2_us    their busy times
 *
 * A row without a common call has none of them. */
#ifndef GT_ANALYSIS_DIFF_COLUMNS_H
#define GT_ANALYSIS_DIFF_COLUMNS_H

#include "analysis/diff/stats.h"
#include "analysis/pytorch/unified.h"

/* Nothing is added where no row has a common call. `stats` holds the rows of both traces. */
void gt_diff_add_columns(gt_table *sheet, const gt_unified *unified, const gt_diff_stats *stats);

#endif
