/* Comparing runs with a baseline (`sweep compare`, and the single steps of it) and the plots of several
 * sweeps
 * (`sweep html`).
 *
 * `sweep compare` is a chain of steps, each of which can also be run alone, on workbooks: sheets of each run,
 * combined, compared, final report. Between two steps numbers are rounded as if they had been written to a
 * workbook and read again, so that the chain gives the same numbers as the single steps. */
#pragma once

#include "sweep/setting_reports.h"

/* How two runs are called in sheets. */
typedef struct gt_run_labels {
    const char *baseline, *test;
} gt_run_labels;

/* ---- the reports of a run (run_reports.c) ----
 *
 * The reports of a run are in one of two places:
 *
 *     RUN/tracelens_analysis/individual_reports/perf_rank<R>.xlsx
 *     RUN/tracelens_analysis/collective_reports/collective_all_ranks.xlsx
 *
 * or, if RUN is SWEEP/<T>thread/nccl_<C>channels or in the folders of other axes,
 *
 *     SWEEP/tracelens_analysis/<T>thread/individual_reports/perf_<C>ch_rank<R>.xlsx
 *     SWEEP/tracelens_analysis/<T>thread/collective_reports/collective_<C>ch.xlsx */

typedef struct gt_run_reports {
    gt_setting_reports ranks; /* by rank */
    char *collective;         /* path; NULL: none */
    char *label;              /* "256thread_28ch", or the folder name */
    char *folder_name;        /* "nccl_28channels" */
    char *own_folder;         /* RUN/tracelens_analysis; NULL: the reports are those of a sweep */
} gt_run_reports;

typedef struct gt_reports_search {
    bool own_first;     /* the run's own reports are used even if the sweep has some */
    bool without_ranks; /* a collective report alone is enough */
} gt_reports_search;

/* Fails if there is no report of a rank. gt_run_reports_free in any case. */
bool gt_run_reports_find(gt_run_reports *reports, const char *run, gt_reports_search search, gt_error *error);
/* The same for the folder of the reports of ranks itself. */
bool gt_run_reports_in(gt_run_reports *reports, const char *folder, gt_error *error);
void gt_run_reports_free(gt_run_reports *reports);

/* The absolute path of a run: the folder, or the one above if it is torch_profiler. NULL if it does not
 * exist. The caller frees it. */
char *gt_run_folder(const char *run, gt_error *error);
/* Whether there are folders rank<R>. */
bool gt_has_rank_folders(const char *folder);

/* ---- sheets of one run, and of two runs below each other (combine.c) ---- */

/* Adds the sheets of both lists that have the same name, in the order of the baseline: its rows, then those
 * of the test, and a last column `source` with the label. Columns that one run lacks are empty there. */
void gt_combine_runs(const gt_table_list *baseline, const gt_table_list *test, gt_run_labels labels,
                     gt_table_list *tables);

/* The rows of a combined sheet by run: those with the first and the second value of `source`, or with the
 * labels if there are no two. The caller frees both tables. */
typedef struct gt_run_pair {
    gt_table *baseline, *test;
    gt_run_labels sources; /* borrowed from the strings of the sheet, or the labels */
} gt_run_pair;
/* Fails if there is no column `source`. */
bool gt_run_pair_split(gt_run_pair *pair, const gt_table *combined, gt_run_labels labels, gt_error *error);
void gt_run_pair_free(gt_run_pair *pair);

/* The styles of the sheets of a workbook (output/output.h), one per table; the caller frees them. Columns
 * percent_change... of comparisons have a colour scale; columns per rank have numbers as names. */
struct gt_sheet_style *gt_run_styles(const gt_table_list *tables);

/* ---- GPU timelines (timelines.c) ---- */

/* Adds the sheets of one run: Summary, All_Ranks_Combined, Per_Rank_Time_ms and Per_Rank_Percent. The reports
 * must have their sheets gpu_timeline; `name` is the run in messages. */
bool gt_run_timeline(const gt_setting_reports *reports, bool geometric, const char *name,
                     gt_table_list *tables, gt_error *error);
/* Adds all sheets of a combination of such sheets, then Comparison_By_Rank and Summary_Comparison. Positive
 * percent_change: less time than the baseline. */
bool gt_compare_timelines(const gt_table_list *combined, gt_run_labels labels, gt_table_list *tables,
                          gt_error *error);
/* The dashboard made from Summary_Comparison: one row per type, rounded to two decimals. NULL if columns are
 * missing. */
gt_table *gt_run_dashboard(const gt_table *summary, gt_run_labels labels, gt_error *error);

/* (baseline - test) / baseline * 100 and test / baseline; 0 if the baseline is 0. */
double gt_percent_less(double baseline, double test);
double gt_ratio_of(double baseline, double test);

/* ---- collectives (collectives.c) ---- */

/* Adds the sheets of a combination of collective reports with "summary" in their names, then
 * nccl_implicit_sync_cmp and nccl_long_cmp: one row per name, type and size of collective that both runs
 * have. Positive percent_change: faster than the baseline. */
bool gt_compare_collectives(const gt_table_list *combined, gt_run_labels labels, gt_table_list *tables,
                            gt_error *error);

/* ---- the final report (final.c) ---- */

typedef struct gt_final_parts {
    const gt_table_list *timelines, *timeline_comparison;     /* combined, compared */
    const gt_table_list *collectives, *collective_comparison; /* the same; NULL or empty: none */
} gt_final_parts;

/* The sheets of the final report, each with its style. */
typedef struct gt_final_report {
    gt_table_list tables;
    struct gt_sheet_style *styles;
    size_t capacity; /* of the styles */
} gt_final_report;
/* Summary_Dashboard, the raw sheets (hidden) and the comparisons. Fails if there is no Summary_Comparison.
 * gt_final_report_free in any case. */
bool gt_final_report_make(gt_final_report *report, const gt_final_parts *parts, gt_run_labels labels,
                          gt_error *error);
void gt_final_report_free(gt_final_report *report);

/* ---- the baseline and several tests side by side (all_runs.c) ---- */

typedef struct gt_side_by_side {
    const char *label;
    const gt_table_list *timeline; /* of gt_run_timeline */
    const char *collective;        /* path of the collective report; NULL: none */
} gt_side_by_side;

/* Adds Summary (per type the time, percent and ranks of each run, then percentage_change of each test: (test
 * - baseline) / baseline * 100, so that more time is positive; empty if both are 0), Per_Rank_Time_ms (one
 * column per rank and run), and NCCL_Summary (per collective and size the columns of
 * nccl_summary_implicit_sync of each run). The first run is the baseline. */
void gt_all_runs_tables(const gt_side_by_side *runs, size_t count, gt_interner *strings,
                        gt_table_list *tables);

/* ---- all of it (compare.c) ---- */

/* Reports that have just been written. Those that an earlier call wrote, on traces that are gone or can no
 * longer be read, are not used. */
typedef struct gt_fresh_reports {
    bool has_ranks;       /* reports on ranks were written: only these are used */
    const int64_t *ranks; /* ascending */
    size_t rank_count;
    bool has_no_collective; /* a collective report was wanted, but the traces have no collectives */
} gt_fresh_reports;

typedef struct gt_run_comparison_options {
    const char *baseline; /* folders of the runs */
    const char *const *tests;
    size_t test_count;
    const char *baseline_label; /* NULL: "256thread_28ch", or the folder name */
    const char *const *test_labels;
    size_t test_label_count; /* the tests after them have labels like that of the baseline */
    bool geometric;          /* geometric means over ranks */
    bool own_first;          /* see gt_reports_search; labels are then folder names, unless two are equal */
    const struct gt_fresh_reports *fresh; /* one per run, the baseline first; NULL: use all reports */
    bool no_pairs;                        /* only all runs side by side */
    bool no_collectives; /* of the pairs: leave out the sheets of collectives, and the final report */
    bool no_timelines;   /* of the pairs: leave out the sheets of timelines, and the final report */
} gt_run_comparison_options;

/* The sheets of the workbooks of one test. A list is empty if it was not wanted, or if a run has no
 * collective report. */
typedef struct gt_run_comparison {
    gt_table_list timelines, timeline_comparison, collectives, collective_comparison;
    gt_final_report final;
    char *baseline_label, *test_label;
    size_t baseline_ranks, test_ranks;
} gt_run_comparison;

/* What is made of one run alone. */
typedef struct gt_run_summary {
    gt_run_reports reports;
    const char *label;
    gt_table_list timeline; /* of gt_run_timeline */
} gt_run_summary;

typedef struct gt_run_comparisons {
    gt_run_summary *runs; /* the baseline, then the tests */
    size_t run_count;
    gt_run_comparison *items; /* one per test; none with no_pairs */
    size_t count;
    gt_table_list together; /* all runs side by side; empty if there is only one test, except with no_pairs */
} gt_run_comparisons;

/* Fails if a run has no report. gt_run_comparisons_free in any case. */
bool gt_run_comparisons_make(gt_run_comparisons *all, const gt_run_comparison_options *options,
                             gt_interner *strings, gt_error *error);
void gt_run_comparisons_free(gt_run_comparisons *all);

/* ---- `sweep html` (page.c) ---- */

typedef struct gt_compared_sweep {
    const char *path; /* as given */
    const char *label;
} gt_compared_sweep;

/* Appends an HTML page with two or more sweeps side by side: charts on one scale from the rows of `sweep
 * top` with --top_k `top`, and the plots. Its links are relative to `page_folder`. Warns about a missing plot
 * and shows a note in its place. */
void gt_comparison_page(gt_buffer *page, const gt_compared_sweep *sweeps, size_t count, int64_t top,
                        const char *page_folder);
