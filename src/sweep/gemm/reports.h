/* The reports of a sweep: one of each trace, one of the collectives of each setting, and comparisons of each
 * rank across thread settings.
 *
 *     tracelens_analysis/<T>thread/individual_reports/perf_<C>ch_rank<R>.xlsx
 *     tracelens_analysis/<T>thread/collective_reports/collective_<C>ch.xlsx
 *     tracelens_analysis/comparisons/compare_<C>ch_rank<R>_across_threads.xlsx
 *
 * Traces are read once, several at a time, and are never moved or changed. */
#ifndef GT_SWEEP_GEMM_REPORTS_H
#define GT_SWEEP_GEMM_REPORTS_H

#include "sweep/run/layout.h"

typedef struct gt_sweep_report_options {
    bool rocprof;    /* traces of rocprofv3 instead of torch.profiler: no collective reports */
    bool by_pid;     /* gt_sweep_rocprof_traces */
    bool old_layout; /* the sheet GEMM with the columns it had in 2025, for scripts that count them */
    bool strict;     /* a truncated trace gives no report; else that of what is whole */
    unsigned threads;
} gt_sweep_report_options;

/* What became of one setting. */
typedef struct gt_sweep_report_written {
    size_t traces, reports;
    bool collective;
} gt_sweep_report_written;

typedef struct gt_sweep_totals {
    gt_sweep_report_written *of_config; /* in the order of the sweep's */
    size_t comparisons;
    size_t failed; /* documents that should be there and are not; each has been warned of */
} gt_sweep_totals;

/* Makes them all; what fails does not keep the others from being made. False, and nothing has been made,
 * where the folders cannot be or there is no trace at all. */
bool gt_sweep_make_reports(const gt_sweep *sweep, const char *root, const gt_sweep_report_options *options,
                           gt_sweep_totals *totals, gt_error *error);
void gt_sweep_totals_free(gt_sweep_totals *totals);

#endif
