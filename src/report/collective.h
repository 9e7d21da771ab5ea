/* The report of the collectives of all ranks: which sheets it has, in which order, and what the terminal
 * shows of them.
 *
 * Sheets: nccl_summary_implicit_sync, nccl_summary_long, nccl_summary_all2allv, nccl_all2allv_heatmap,
 * nccl_long, nccl_implicit_sync, nccl_all2allv, straggler_summary. Those of all_to_allv and of stragglers are
 * absent where they have no rows, the heat map also where it is not asked for. */
#ifndef GT_REPORT_COLLECTIVE_H
#define GT_REPORT_COLLECTIVE_H

#include "analysis/collective/aggregations.h"
#include "report/tables.h"

#include <stdio.h>

typedef struct gt_collective_options {
    gt_aggregations aggregations; /* of the two summaries */
    int64_t world_size;
    int64_t gpus_per_node; /* 0: not known, and no columns node_id and node_span */
    bool heatmap;
    bool leave_out_mismatches; /* collectives whose ranks disagree on what they are; else they are an error */
} gt_collective_options;

/* Adds the sheets made of the rows of all ranks (rank_traces.h), which become the sheet nccl_long. The tables
 * must be freed before the rows' strings. On failure nothing has been added; the rows are gone in any case.
 */
bool gt_collective_tables(gt_table *rows, const gt_collective_options *options, gt_table_list *tables,
                          gt_error *error);

/* Where ranks talk in many small groups, a sheet with columns for all of them is nearly all empty cells:
 * false, and a warning, where they would be too many. */
enum { GT_SYNC_COLUMNS_A_RANK = 3 };
bool gt_collective_has_room(gt_sheet sheet, size_t rows, int64_t ranks, int64_t columns);

/* A short view of the report for people. */
void gt_collective_print_summary(FILE *out, const gt_table_list *tables, int width, bool utf8);

#endif
