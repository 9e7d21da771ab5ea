/* Collectives that no rank can leave before all have come: who waited for whom, and how fast the exchange
 * itself was.
 *
 *     gt_collective_sync_find(&sync, &matches, ...);   which collectives are of that kind
 *     gt_collective_sync_table(&sync, true);           one row each: nccl_implicit_sync
 *     gt_collective_sync_summary(table, &aggregations) by name, type and size: nccl_summary_implicit_sync
 *     gt_collective_stragglers(&sync);                 one row a rank: straggler_summary
 * (collective_stragglers.c) */
#ifndef GT_ANALYSIS_COLLECTIVE_SYNC_H
#define GT_ANALYSIS_COLLECTIVE_SYNC_H

#include "analysis/collective/aggregations.h"
#include "analysis/collective/match.h"

typedef struct gt_collective_sync {
    const gt_collective_matches *matches;
    uint32_t *collectives; /* those of the matches that are of this kind, in order */
    size_t count;
    size_t disagreeing; /* left out or kept although their ranks do not agree on what they are */
} gt_collective_sync;

/* `by_order_alone`: as gt_collectives_number says; kernels of unknown kind then count too, and nothing is
 * compared. False where ranks disagree on a collective and that is to fail. */
bool gt_collective_sync_find(gt_collective_sync *sync, const gt_collective_matches *matches,
                             bool by_order_alone, gt_mismatch mismatch, gt_error *error);
void gt_collective_sync_free(gt_collective_sync *sync);

/* Without rows where there are no such collectives; then it has no columns either. */
gt_table *gt_collective_sync_table(const gt_collective_sync *sync, bool rank_columns);
gt_table *gt_collective_sync_summary(const gt_table *table, const gt_aggregations *wanted);
gt_table *gt_collective_stragglers(const gt_collective_sync *sync);

#endif
