/* The sheets in their order, and those of several ranks below each other. */
#include "report/extra.h"
#include "base/guard.h"
#include "base/length.h"

#include <stdlib.h>

void gt_extra_tables(const gt_event_view *trace, int64_t rank, const gt_hta_options *options,
                     gt_table_list *tables)
{
    static gt_table *(*const sheets[])(const gt_hta_events *, int64_t) = {
        gt_hta_temporal_breakdown,  gt_hta_comm_comp_overlap,    gt_hta_idle_time_breakdown,
        gt_hta_idle_interval_stats, gt_hta_queue_length_summary, gt_hta_launch_stats_summary,
    };
    gt_hta_events events = gt_hta_events_find(trace, options);
    for (size_t i = 0; i < GT_LENGTH(sheets); i++) gt_table_list_add(tables, sheets[i](&events, rank));
    gt_hta_events_free(&events);
}

void gt_extra_append(gt_table_list *tables, gt_table_list *of_rank)
{
    if (!tables->count) {
        gt_table_list empty = *tables;
        *tables = *of_rank;
        *of_rank = empty;
        return;
    }
    for (size_t i = 0; i < of_rank->count; i++) gt_table_append_same(tables->items[i], of_rank->items[i]);
    gt_table_list_free(of_rank);
}
