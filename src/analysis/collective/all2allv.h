/* all_to_allv: exchanges in which each rank sends as much as it likes. How much was sent, how fast, how
 * evenly? */
#ifndef GT_ANALYSIS_COLLECTIVE_ALL2ALLV_H
#define GT_ANALYSIS_COLLECTIVE_ALL2ALLV_H

#include "analysis/collective/aggregations.h"
#include "analysis/collective/match.h"

/* nccl_all2allv: one row an exchange, the most data first; without rows (and columns) where there is none.
 * `disagreeing` counts exchanges whose ranks disagree on what they are. NULL where that is to fail. */
gt_table *gt_collective_all2allv(const gt_collective_matches *matches, bool rank_columns,
                                 gt_mismatch mismatch, size_t *disagreeing, gt_error *error);
/* nccl_summary_all2allv: by process group and type. */
gt_table *gt_collective_all2allv_summary(const gt_table *table, const gt_aggregations *wanted);
/* nccl_all2allv_heatmap: what each rank sent to each other. Without rows where nothing can be told. */
gt_table *gt_collective_all2allv_heatmap(const gt_table *events, int64_t world_size);

#endif
