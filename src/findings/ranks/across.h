/* Internal to src/findings/ranks: what is seen only when all ranks are looked at together. Each file makes
 * the sheets of one question; gt_ranks_find calls them.
 *
 *     clock_offsets                        clocks.c
 *     communication_matrix                 matrix.c
 *     rank_steps, rank_step_times          steps.c
 *
 * Sheets are in the strings of nccl_long. The caller owns them. */
#ifndef GT_FINDINGS_RANKS_ACROSS_H
#define GT_FINDINGS_RANKS_ACROSS_H

#include "findings/ranks/find.h"

/* Sets the cell to the name of the rank's node, if that is known. */
void gt_rank_set_node(const gt_rank_findings *found, size_t rank, gt_table *sheet, size_t column, size_t row);

/* ---- clocks.c: by how much do the clocks of ranks differ? ---- */

typedef struct gt_rank_clock {
    bool known;         /* otherwise it shares no collective with another rank */
    uint32_t reference; /* the rank whose clock it is compared with */
    uint32_t hops;      /* comparisons between it and the reference */
    double offset_us;   /* its clock shows this much more than that of the reference, at at_us */
    double error_us;    /* what the offset can be wrong by */
    double drift;       /* by how much the offset grows per time; NaN: none is seen */
    double at_us;       /* time of the reference, as in nccl_long */
    size_t used, own;   /* collectives that were compared, and all that it could have been compared in */
} gt_rank_clock;

/* By rank; the caller frees it. */
gt_rank_clock *gt_rank_clocks_find(const gt_collective_sync *sync, size_t rank_count);
gt_table *gt_rank_clocks_sheet(const gt_rank_findings *found, const gt_rank_clock *clocks,
                               gt_interner *strings);

/* ---- matrix.c: how much do ranks send to each other? ---- */

/* `uncounted`: kernels in the windows that do not say how much they send to whom. */
gt_table *gt_rank_matrix_sheet(const gt_rank_findings *found, const gt_ranks_input *input, size_t *uncounted);

/* ---- steps.c: how long are steps, and how do ranks differ? ---- */

void gt_rank_steps_add_sheets(const gt_rank_findings *found, gt_interner *strings, gt_table_list *tables);

#endif
