/* One table for all settings of a sweep: GPU timelines, collectives, hardware counters. */
#pragma once

#include "input/options.h"
#include "sweep/setting_reports.h"

/* ---- `sweep timeline` (timeline.c) ---- */

/* The sheets of the GPU timelines, as means over the ranks of each setting: All_Data, one row per setting and
 * type; Pivot_Time_ms and Pivot_Percent, types by settings; Summary_By_Config, one row per setting. The
 * reports must have their sheets gpu_timeline. `geometric`: geometric means, in which 0 counts as 1e-10.
 * Fails if no report has the sheet. */
bool gt_sweep_timeline_tables(const gt_setting_reports *reports, bool geometric, gt_table_list *tables,
                              gt_error *error);

/* The types of All_Data, and in how many settings each occurs: columns type, settings. The caller frees it.
 */
gt_table *gt_sweep_timeline_types(const gt_table *all);
/* The rows of All_Data of one type, ascending by time. The caller frees it. */
gt_table *gt_sweep_timeline_of_type(const gt_table *all, const char *type);

/* The rows of one report: type, time ms and percent. Warns and returns NULL if its sheet lacks one of them.
 */
gt_table *gt_timeline_rows(const gt_setting_report *report);
/* Means of such rows by type, ascending. */
gt_table *gt_timeline_means(const gt_table *rows, bool geometric);

/* ---- `sweep comms` (comms.c) ---- */

/* NCCL_Data: the sheets nccl_summary_implicit_sync of all collective reports as one table, in which each
 * message size is an operation with its own number. Returns NULL if no report has the sheet, or if a sheet
 * lacks a column. */
gt_table *gt_sweep_comms_table(const gt_setting_reports *reports, gt_interner *strings, gt_error *error);

/* One operation of NCCL_Data. Strings belong to the table's interner. */
typedef struct gt_comms_operation {
    gt_str id, name;
    double size_mb, elements; /* elements: NaN if unknown */
    gt_str best_setting; /* the setting with the smallest mean latency, the first of equal ones; "": none */
    double best_us;
} gt_comms_operation;

typedef struct gt_comms_operations {
    gt_comms_operation *items; /* in the order of the table; the caller frees it */
    size_t count;
    bool has_latencies; /* the latencies are numbers */
} gt_comms_operations;
gt_comms_operations gt_sweep_comms_operations(const gt_table *all);

/* Time in collectives per setting, ascending: Total comm latency (ms), rows, full_config. NULL if the
 * latencies are not numbers. The caller frees it. */
gt_table *gt_sweep_comms_settings(const gt_table *all);

/* ---- `sweep counters` (counters.c) ---- */

/* Adds All_Data, one row per setting and kernel: the columns of gt_setting_columns, Kernel_Name, Count
 * (dispatches) and the mean of each counter; and per counter Pivot_<counter>, kernels by settings. Warns
 * about settings without them and skips them; All_Data is empty if no setting has counters. Fails if none can
 * be read. */
bool gt_sweep_counter_tables(const gt_sweep *sweep, const gt_read_options *read, gt_interner *strings,
                             gt_table_list *tables, gt_error *error);
