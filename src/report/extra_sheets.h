/* The sheets of --extra: the analyses of HolisticTraceAnalysis for one rank or several.
 *
 *     gt_extra_sheets sheets = {0}, of_next;
 *     gt_extra_make(trace, 0, &options, &sheets);
 *     gt_extra_make(next_trace, 1, &options, &of_next);
 *     gt_extra_append(&sheets, &of_next);
 *     gt_table_list tables = gt_extra_finish(&sheets);
 *
 * temporal_breakdown, comm_comp_overlap, idle_time_breakdown, idle_interval_stats, queue_length_summary and
 * launch_stats_summary, in this order. Streams of different devices may have the same number, and kernels of
 * one device do not hide communication of another. So each sheet has one set of rows per device (devices.h),
 * and if any trace has several devices, the column device after rank, and pid if that does not identify the
 * device. Such a trace may hold several ranks; then `rank` is that of its GPU events. With hta_times, there
 * is one set of rows per trace, as in HTA. */
#pragma once

#include "analysis/hta/hta.h"
#include "table/table_list.h"

/* The sheets before gt_extra_finish, which have the column device in any case. */
typedef struct gt_extra_sheets {
    gt_table_list tables; /* empty, or all six, also those without rows */
    bool by_device;       /* a trace has several devices */
} gt_extra_sheets;

/* Sets *sheets to those of a trace. They are empty, with a warning, if it has too many devices. */
void gt_extra_make(const gt_event_view *trace, int64_t rank, const gt_hta_options *options,
                   gt_extra_sheets *sheets);
/* Appends the rows of a later rank's sheets and frees these. */
void gt_extra_append(gt_extra_sheets *sheets, gt_extra_sheets *of_rank);
/* Whether loaded sheets of one trace are such that they can be appended to those of other ranks. */
bool gt_extra_are_sound(const gt_extra_sheets *sheets);
/* Drops the column device if no trace has several devices. The caller owns the list; *sheets is empty then.
 */
gt_table_list gt_extra_finish(gt_extra_sheets *sheets);
