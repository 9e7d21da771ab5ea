/* A diff in a few lines: how much GPU time of each trace belongs to the other's, and where they differ most.
 */
#ifndef GT_ANALYSIS_DIFF_OVERVIEW_H
#define GT_ANALYSIS_DIFF_OVERVIEW_H

#include "analysis/diff/stats.h"

/* part, and of each trace "traceN ms" and "traceN percent" of all its GPU work:
 *
 *     the same kernel in both traces
 *     another kernel in its place
 *     other calls below the same one    under a common call for which both traces have GPU work
 *     in this trace alone               under one for which the other has none, or under none
 *     not compared                      not linked to an op, or a memset */
gt_table *gt_diff_parts(const gt_diff_tree *tree, const gt_diff_stats *stats);

/* call, count (of common calls with that name), "trace1 ms" and "trace2 ms" (their busy times), "difference
 * ms"; the largest difference first. */
gt_table *gt_diff_differences(const gt_diff_stats *stats);

#endif
