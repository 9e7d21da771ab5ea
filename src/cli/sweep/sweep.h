/* `gputally sweep STEP`: the table of steps, and what they share.
 *
 * run.c: run. report.c: report. gemm.c: top, yaml, plot, timestamps, overlap. tables.c: timeline, comms,
 * counters. runs.c: compare, compare-all-runs. single.c: their steps, each alone. gate.c: compare of two
 * sweeps. several.c: of more. compare.c: html. merge.c: merge. decide.c: decide. all.c: all. A step parses
 * its options, calls src/sweep and prints. */
#pragma once

#include "cli/command.h"
#include "input/options.h"
#include "table/table_list.h"
#include "sweep/report.h"

extern const gt_command gt_sweep_steps[];

/* The steps: syntax and run function of each. */
extern const gt_syntax gt_sweep_run_syntax, gt_sweep_report_syntax, gt_sweep_top_syntax, gt_sweep_yaml_syntax,
    gt_sweep_plot_syntax, gt_sweep_timestamps_syntax, gt_sweep_overlap_syntax, gt_sweep_timeline_syntax,
    gt_sweep_comms_syntax, gt_sweep_counters_syntax, gt_sweep_html_syntax, gt_sweep_compare_syntax,
    gt_sweep_merge_syntax, gt_sweep_decide_syntax, gt_sweep_all_syntax, gt_sweep_single_reports_syntax,
    gt_sweep_combine_syntax, gt_sweep_add_comparison_syntax, gt_sweep_final_report_syntax,
    gt_sweep_final_plots_syntax, gt_sweep_final_html_syntax, gt_sweep_all_runs_syntax;
gt_command_run gt_cmd_sweep_run, gt_cmd_sweep_report, gt_cmd_sweep_top, gt_cmd_sweep_yaml, gt_cmd_sweep_plot,
    gt_cmd_sweep_timestamps, gt_cmd_sweep_overlap, gt_cmd_sweep_timeline, gt_cmd_sweep_comms,
    gt_cmd_sweep_counters, gt_cmd_sweep_html, gt_cmd_sweep_compare, gt_cmd_sweep_single_reports,
    gt_cmd_sweep_combine, gt_cmd_sweep_add_timelines, gt_cmd_sweep_add_collectives, gt_cmd_sweep_final_report,
    gt_cmd_sweep_final_plots, gt_cmd_sweep_final_html, gt_cmd_sweep_all_runs, gt_cmd_sweep_merge,
    gt_cmd_sweep_decide, gt_cmd_sweep_all;
/* `compare` with two sweeps as arguments, and with more. */
gt_command_run gt_cmd_sweep_gate, gt_cmd_sweep_several;

/* ---- what the steps share ---- */

/* Prints "gputally: MESSAGE" on standard error, and what to do if a file may not be written; returns
 * GT_EXIT_FAILED. */
gt_exit gt_sweep_failed(const gt_error *error);
/* Whether files can be written into the folder of the analysis, which need not exist. */
bool gt_sweep_may_write(const char *folder, gt_error *error);

extern const gt_option_group gt_sweep_gate_group; /* of `compare` with two sweeps */

/* The common options of steps for which --threads is a setting of the sweep. */
extern const gt_option_group gt_sweep_plain_group;

/* Applies the common options and checks that the options of `required` (NULL-terminated) are given. Prints a
 * usage error and returns false otherwise. */
bool gt_sweep_open_input(const gt_call *call, const char *const *required);
/* The same for steps that read traces. */
bool gt_sweep_begin_reading(const gt_call *call, const char *const *required, gt_read_options *read);
bool gt_sweep_is_quiet(const gt_call *call);
/* The folder that an option names; without the option, the folder of all analyses of the sweep. The caller
 * frees it. */
char *gt_sweep_analysis_folder(const gt_call *call, const char *option, const char *root);

/* The option of all steps that read settings, for their tables of options. */
#define GT_SWEEP_INCLUDE_FAILED                                                                              \
    {                                                                                                        \
        "include_failed", GT_OPTION_FLAG, NULL, NULL,                                                        \
            "include runs that failed, timed out or were interrupted, marked in the column status "          \
            "(default: they are "                                                                            \
            "left out, with a warning)"                                                                      \
    }
/* The option of all steps that use what they kept the last time. */
#define GT_SWEEP_FORCE                                                                                       \
    {                                                                                                        \
        "force", GT_OPTION_FLAG, NULL, NULL,                                                                 \
            "analyse everything again (default: what has not changed since the last time is used again)"     \
    }
/* What is kept in the folder of all analyses; NULL: nothing can be. */
gt_sweep_cache *gt_sweep_cache_for_step(const gt_call *call, const char *folder);

/* Notes the files that a step wrote, all into one folder, if it is a folder of analyses in which something is
 * kept: `sweep all` removes them when the step has nothing to do any more. */
void gt_sweep_note_files(const char *step, const char *const *paths, size_t count);

/* Opens a sweep and leaves out the runs that did not end well, unless --include_failed is given, and those of
 * another command than the newest. */
bool gt_sweep_open_for_step(const gt_call *call, gt_sweep *sweep, const char *root, gt_error *error);

/* Prints what was written for a run that is not in a sweep, into the folder or (NULL) the run's own. */
void gt_sweep_show_run_reports(const gt_single_run *run, const char *folder, const gt_sweep_totals *totals);

/* Writes a table as CSV with this line end. */
bool gt_sweep_write_csv(const gt_table *table, const char *path, const char *line_end, gt_error *error);
/* Writes all tables to the workbook <stem>.xlsx and the first one to <stem>.csv, both or neither, and notes
 * them as the step's. */
bool gt_sweep_write_both(const gt_table_list *tables, const char *step, const char *stem, gt_error *error);
/* Writes all tables to the workbook FOLDER/<stem>.xlsx and each to FOLDER/<name of the table>.csv, and a page
 * if `page_path` is not NULL; all or none. */
bool gt_sweep_write_sheets(const gt_table_list *tables, const char *folder, const char *stem,
                           const char *page_path, gt_str page, gt_error *error);
/* The last part of the path of a folder, also of "a/b/" and "."; the caller frees it. */
char *gt_sweep_folder_name(const char *path);
/* Measures the sweep of an argument of `compare`, with what the cache of `sweep all` knows (gate.c). Free
 * both in any case. */
struct gt_sweep_measures;
bool gt_sweep_measure_argument(const gt_call *call, size_t which, const gt_read_options *read,
                               gt_sweep *sweep, struct gt_sweep_measures *measures, gt_error *error);
/* Whether no option of `compare` is given that is about runs instead of sweeps (gate.c). */
bool gt_sweep_check_not_runs(const gt_call *call, gt_error *error);
/* The page of the sweeps that are the arguments, with the answer about each later one (several.c). It shows
 * what `sweep decide` says about each sweep, and what other steps wrote next to their traces. Sorts
 * measurements. */
struct gt_sweep_answer;
void gt_sweep_make_page(const gt_call *call, struct gt_sweep_measures *const *measures,
                        const struct gt_sweep_answer *const *answers, gt_buffer *page);
/* Writes text files, all or none. */
bool gt_sweep_write_texts(const char *const *paths, const gt_str *texts, size_t count, gt_error *error);
