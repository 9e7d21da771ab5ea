/* The GPU timelines of two runs, rank by rank and on average, and what changed from one to the other. */
#ifndef GT_SWEEP_RUN_TIMELINES_H
#define GT_SWEEP_RUN_TIMELINES_H

#include "report/tables.h"
#include "sweep/run/settings.h"

typedef struct gt_run_side {
    const gt_setting_reports *reports; /* with their sheets gpu_timeline */
    const char *label;
} gt_run_side;

/* Adds Summary, All_Ranks_Combined, Per_Rank_Time_ms and Per_Rank_Percent, the rows of both runs below each
 * other with a column `source`, then Comparison_By_Rank and Summary_Comparison. Positive percent_change: less
 * time than the baseline. */
bool gt_run_timelines(const gt_run_side *baseline, const gt_run_side *test, bool geometric,
                      gt_interner *strings, gt_table_list *tables, gt_error *error);

/* Of Summary_Comparison: one row a type, rounded to two decimals. */
gt_table *gt_run_dashboard(const gt_table *summary, const gt_run_side *baseline, const gt_run_side *test);

/* The rows of both tables below each other with a column `source`; columns that one lacks are empty there.
 * NULL where a column holds text in one and numbers in the other. Both are used up. */
gt_table *gt_combine_runs(gt_table *baseline, gt_table *test, const char *baseline_label,
                          const char *test_label, gt_error *error);

/* (baseline - test) / baseline * 100 and test / baseline; 0 where the baseline is 0. */
double gt_percent_less(double baseline, double test);
double gt_ratio_of(double baseline, double test);

#endif
