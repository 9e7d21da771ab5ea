/* Comparing runs with a baseline (`sweep compare`) and the plots of several sweeps (`sweep html`). */
#ifndef GT_SWEEP_COMPARE_COMPARE_H
#define GT_SWEEP_COMPARE_COMPARE_H

#include "base/buffer.h"
#include "table/table_list.h"
#include "sweep/setting_reports.h"

/* ---- `sweep compare` (compare.c) ----
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

typedef struct gt_run_comparison_options {
    const char *baseline; /* folders of the runs */
    const char *const *tests;
    size_t test_count;
    const char *baseline_label; /* NULL: "256thread_28ch", or the folder name */
    const char *const *test_labels;
    size_t test_label_count; /* the tests after them have labels like that of the baseline */
    bool geometric;          /* geometric means over ranks */
} gt_run_comparison_options;

/* The sheets of the three workbooks of one test. */
typedef struct gt_run_comparison {
    gt_table_list timelines, collectives, final; /* collectives: empty if a run has no collective report */
    char *baseline_label, *test_label;
    size_t baseline_ranks, test_ranks;
} gt_run_comparison;

typedef struct gt_run_comparisons {
    gt_run_comparison *items; /* one per test */
    size_t count;
    gt_table_list together; /* all runs side by side (all_runs.c); empty if there is only one test */
} gt_run_comparisons;

/* Fails if a run has no report. gt_run_comparisons_free in any case. */
bool gt_run_comparisons_make(gt_run_comparisons *all, const gt_run_comparison_options *options,
                             gt_interner *strings, gt_error *error);
void gt_run_comparisons_free(gt_run_comparisons *all);

/* ---- timelines of two runs (timelines.c) ---- */

typedef struct gt_run_side {
    const gt_setting_reports *reports; /* with their sheets gpu_timeline */
    const char *label;
} gt_run_side;

/* Adds Summary, All_Ranks_Combined, Per_Rank_Time_ms and Per_Rank_Percent, which have the rows of both runs
 * and a column `source`, then Comparison_By_Rank and Summary_Comparison. Positive percent_change: less time
 * than the baseline. */
bool gt_run_timelines(const gt_run_side *baseline, const gt_run_side *test, bool geometric,
                      gt_interner *strings, gt_table_list *tables, gt_error *error);

/* The dashboard made from Summary_Comparison: one row per type, rounded to two decimals. */
gt_table *gt_run_dashboard(const gt_table *summary, const gt_run_side *baseline, const gt_run_side *test);

/* The rows of both tables with a column `source`; columns that one lacks are empty there. Returns NULL if a
 * column has strings in one and numbers in the other. Frees both tables. */
gt_table *gt_combine_runs(gt_table *baseline, gt_table *test, const char *baseline_label,
                          const char *test_label, gt_error *error);

/* (baseline - test) / baseline * 100 and test / baseline; 0 if the baseline is 0. */
double gt_percent_less(double baseline, double test);
double gt_ratio_of(double baseline, double test);

/* ---- collectives of two runs (collectives.c) ---- */

typedef struct gt_collective_side {
    const char *path, *label;
} gt_collective_side;

/* Adds the sheets of both workbooks with "summary" in their names, then nccl_implicit_sync_cmp and
 * nccl_long_cmp: one row per name, type and size of collective that both have. Positive percent_change:
 * faster than the baseline. */
bool gt_run_collectives(const gt_collective_side *baseline, const gt_collective_side *test,
                        gt_interner *strings, gt_table_list *tables, gt_error *error);

/* ---- the baseline and several tests side by side (all_runs.c) ---- */

typedef struct gt_all_runs {
    const gt_run_side *sides;       /* the first one is the baseline */
    const char *const *collectives; /* paths of the collective reports; NULL: none */
    size_t count;
    bool geometric;
} gt_all_runs;

/* Adds Summary (per type the time, percent and ranks of each run, then percentage_change of each test: (test
 * - baseline) / baseline * 100, so that more time is positive, empty if the baseline is 0), Per_Rank_Time_ms
 * (one column per rank and run), and NCCL_Summary (per collective and size the columns of
 * nccl_summary_implicit_sync of each run).
 */
bool gt_all_runs_tables(const gt_all_runs *runs, gt_interner *strings, gt_table_list *tables,
                        gt_error *error);

/* The rows of a run's ranks: type, time ms, percent, rank, sorted by rank and type; NULL if no report has a
 * timeline (timelines.c). */
gt_table *gt_run_rank_rows(const gt_setting_reports *reports);

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

#endif
