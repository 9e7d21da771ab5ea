/* `sweep report`: the report of each trace, the collective report of each setting, and comparisons of each
 * rank across thread settings.
 *
 *     tracelens_analysis/<T>thread/individual_reports/perf_<C>ch_rank<R>.xlsx
 *     tracelens_analysis/<T>thread/collective_reports/collective_<C>ch.xlsx
 *     tracelens_analysis/comparisons/compare_<C>ch_rank<R>_across_threads.xlsx
 *
 * Traces are read once, several at a time, and are never moved or changed. Reports of runs that have not
 * changed since the last time are left as they are (sweep/cache). What `decide` measures is kept on the way,
 * so that it need not read the traces again. */
#pragma once

#include "sweep/cache/cache.h"
#include "sweep/layout.h"

typedef struct gt_sweep_report_options {
    bool rocprof;    /* read traces of rocprofv3 instead of torch.profiler; no collective reports */
    bool by_pid;     /* see gt_sweep_rocprof_traces */
    bool full_names; /* of kernels of rocprofv3: those with the same short name are apart */
    bool old_layout; /* the sheet GEMM with its columns of 2025, for scripts that expect their positions */
    bool strict;     /* write no report on a truncated trace, instead of one on its readable part */
    unsigned threads;
    gt_sweep_cache *cache;         /* NULL: everything is made again, and nothing is kept */
    bool no_ranks, no_collectives; /* leave out the reports on ranks, the collective reports */
    /* A run that is not in a sweep: no kernel summary, no comparisons, and its traces are in this folder. */
    const char *profiler_folder;
} gt_sweep_report_options;

/* What was written for one setting. */
typedef struct gt_sweep_report_written {
    size_t traces, reports;
    int64_t *ranks; /* of the reports, ascending */
    bool collective;
} gt_sweep_report_written;

typedef struct gt_sweep_totals {
    gt_sweep_report_written *of_config; /* in the order of gt_sweep.configs */
    size_t config_count;
    size_t comparisons;
    size_t failed; /* files that could not be written; each gave a warning */
    size_t cut;    /* traces whose report is about their readable part, likewise */
} gt_sweep_totals;

/* Writes all files into the folder, usually ROOT/tracelens_analysis; a failure does not stop the others.
 * Returns false, without having written anything, if the folders cannot be created or there is no trace. */
bool gt_sweep_make_reports(const gt_sweep *sweep, const char *root, const char *folder,
                           const gt_sweep_report_options *options, gt_sweep_totals *totals, gt_error *error);
void gt_sweep_totals_free(gt_sweep_totals *totals);
/* False, with what could not be done, unless everything was done. */
bool gt_sweep_totals_check(const gt_sweep_totals *totals, gt_error *error);

/* ---- comparisons across the values of an axis (comparisons.c) ---- */

typedef struct gt_sweep_ranks {
    int64_t *items; /* ascending, without duplicates */
    size_t count;
} gt_sweep_ranks;

typedef struct gt_comparison_counts {
    size_t made, failed;
} gt_comparison_counts;

gt_comparison_counts gt_sweep_compare_across_axes(const gt_sweep *sweep, const char *analysis,
                                                  const gt_sweep_ranks *ranks, bool rocprof,
                                                  gt_sweep_cache *cache);

/* ---- one run that is not in a sweep (single_run.c) ----
 *
 *     RUN/tracelens_analysis/individual_reports/perf_rank<R>.xlsx
 *     RUN/tracelens_analysis/collective_reports/collective_all_ranks.xlsx */

typedef struct gt_single_run {
    char *folder;   /* of the run, absolute */
    char *profiler; /* with rank<R>: torch_profiler of the run, or the run itself */
} gt_single_run;

/* A folder torch_profiler, the one above it, or any folder with rank<R>. Fails if there is no trace.
 * gt_single_run_free in any case. */
bool gt_single_run_find(gt_single_run *run, const char *path, gt_error *error);
void gt_single_run_free(gt_single_run *run);
/* Writes the reports into the folder (NULL: tracelens_analysis of the run), like gt_sweep_make_reports, whose
 * options apply. */
bool gt_single_run_report(const gt_single_run *run, const char *folder, gt_sweep_report_options options,
                          gt_sweep_totals *totals, gt_error *error);
