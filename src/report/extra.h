/* The sheets of --extra: what HolisticTraceAnalysis tells of a rank (analysis/hta.h), in their order.
 *
 * Sheets: temporal_breakdown, comm_comp_overlap, idle_time_breakdown, idle_interval_stats,
 * queue_length_summary, launch_stats_summary. */
#ifndef GT_REPORT_EXTRA_H
#define GT_REPORT_EXTRA_H

#include "analysis/hta/hta.h"
#include "report/tables.h"

/* Adds all of them, also those without rows. Their texts are the trace's. */
void gt_extra_tables(const gt_event_view *trace, int64_t rank, const gt_hta_options *options,
                     gt_table_list *tables);
/* Puts the rows of a later rank's sheets, which go away, below those that are there. Both lists are of
 * gt_extra_tables, or the first is empty. */
void gt_extra_append(gt_table_list *tables, gt_table_list *of_rank);

#endif
