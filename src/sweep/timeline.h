/* The GPU timelines of a sweep put together: of each setting the mean over its ranks.
 *
 * Sheets: All_Data, one row a setting and type; Pivot_Time_ms and Pivot_Percent, types by settings;
 * Summary_By_Config, one row a setting. */
#ifndef GT_SWEEP_TIMELINE_H
#define GT_SWEEP_TIMELINE_H

#include "report/tables.h"
#include "sweep/run/settings.h"

/* Of reports that hold their sheet gpu_timeline. `geometric`: geometric means, in which 0 counts as 1e-10.
 * Fails where no report has one. */
bool gt_sweep_timeline_tables(const gt_setting_reports *reports, bool geometric, gt_table_list *tables,
                              gt_error *error);

/* The rows of one report, type, time ms and percent; NULL, with a warning, where its sheet lacks one of them.
 */
gt_table *gt_timeline_rows(const gt_setting_report *report);
/* Means of such rows by type, ascending. */
gt_table *gt_timeline_means(const gt_table *rows, bool geometric);

#endif
