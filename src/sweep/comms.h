/* The collectives of a sweep put together: the sheet nccl_summary_implicit_sync of every collective report as
 * one table, each message size an operation with a number of its own. */
#ifndef GT_SWEEP_COMMS_H
#define GT_SWEEP_COMMS_H

#include "sweep/run/settings.h"

/* NCCL_Data, of reports that hold the sheet. NULL where none does, or one lacks a column. */
gt_table *gt_sweep_comms_table(const gt_setting_reports *reports, gt_interner *strings, gt_error *error);

#endif
