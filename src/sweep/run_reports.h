/* The reports of one run: of its ranks, and of its collectives. They are looked for in two places:
 *
 *     RUN/tracelens_analysis/individual_reports/perf_rank<R>.xlsx,
 * collective_reports/collective_all_ranks.xlsx
 *     SWEEP/tracelens_analysis/<T>thread/individual_reports/perf_<C>ch_rank<R>.xlsx,
 * collective_reports/collective_<C>ch.xlsx where RUN is SWEEP/<T>thread/nccl_<C>channels */
#ifndef GT_SWEEP_RUN_REPORTS_H
#define GT_SWEEP_RUN_REPORTS_H

#include "sweep/run/settings.h"

typedef struct gt_run_reports {
    gt_setting_reports ranks; /* by rank */
    char *collective;         /* path; NULL where there is none */
    char *label;              /* "256thread_28ch", or the folder's name */
} gt_run_reports;

/* Fails where there is no report of a rank. */
bool gt_run_reports_find(gt_run_reports *reports, const char *run, gt_error *error);
void gt_run_reports_free(gt_run_reports *reports);

#endif
