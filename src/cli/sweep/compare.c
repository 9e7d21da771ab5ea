/* `gputally sweep compare`: what changed in the GPU timelines and collectives from one run to another, as
 * workbooks. */
#include "base/length.h"
#include "base/log.h"
#include "base/memory.h"
#include "cli/common.h"
#include "cli/sweep/sweep.h"
#include "output/output.h"
#include "output/terminal.h"
#include "report/summary.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "sweep/run_collectives.h"
#include "sweep/run_reports.h"
#include "sweep/run_timelines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const gt_option compare_options[] = {
    {"baseline", GT_OPTION_STRING, "RUN", NULL,
     "read the baseline run: SWEEP/<T>thread/nccl_<C>channels, or a folder with reports in "
     "tracelens_analysis (required)"},
    {"test", GT_OPTION_STRING, "RUN", NULL, "read the run to compare with the baseline (required)"},
    {"output", GT_OPTION_STRING, "DIR", NULL, "write the workbooks into DIR (required)"},
    {"baseline_label", GT_OPTION_STRING, "TEXT", NULL,
     "name the baseline TEXT in the sheets (default: 256thread_28ch, or the folder name)"},
    {"test_label", GT_OPTION_STRING, "TEXT", NULL,
     "name the other run TEXT in the sheets (default: like --baseline_label)"},
    {"geo_mean", GT_OPTION_FLAG, NULL, NULL, "use geometric instead of arithmetic means over ranks"},
};
static const gt_option_group compare_group = {"Runs", compare_options, GT_LENGTH(compare_options)};

const gt_syntax gt_sweep_compare_syntax = {
    .groups = {&compare_group, &gt_common_group},
    .main_options = {"baseline", "test", "output", "baseline_label", "test_label"},
    .files = "",
    .files_max = 0,
    .output_option = "output",
};

/* What the final report calls the sheets that it has of the others. */
static const struct {
    gt_sheet sheet, name;
} FINAL_SHEETS[] = {{GT_SHEET_COMPARISON_BY_RANK, GT_SHEET_FINAL_GPU_BY_RANK},
                    {GT_SHEET_SUMMARY_COMPARISON, GT_SHEET_FINAL_GPU_SUMMARY},
                    {GT_SHEET_NCCL_IMPLICIT_SYNC_CMP, GT_SHEET_FINAL_NCCL_IMPLICIT_SYNC},
                    {GT_SHEET_NCCL_LONG_CMP, GT_SHEET_FINAL_NCCL_LONG}};

enum { BASELINE, TEST, RUNS };

typedef struct compared {
    gt_run_reports runs[RUNS];
    gt_run_side sides[RUNS];
    gt_interner *strings;
    gt_table_list timelines, collectives, final; /* the sheets of the three workbooks */
} compared;

/* ---- the runs ---- */

static bool find_runs(const gt_call *call, compared *c, unsigned threads, gt_error *error)
{
    static const char *const options[RUNS] = {"baseline", "test"}, *const labels[RUNS] = {"baseline_label",
                                                                                          "test_label"};
    for (size_t i = 0; i < RUNS; i++) {
        const char *label = gt_arguments_string(&call->arguments, labels[i]);
        if (!gt_run_reports_find(&c->runs[i], gt_arguments_value(&call->arguments, options[i])->text, error))
            return false;
        gt_setting_reports_read(&c->runs[i].ranks, GT_SHEET_GPU_TIMELINE, c->strings, threads);
        c->sides[i] = (gt_run_side){&c->runs[i].ranks, label ? label : c->runs[i].label};
    }
    if (strcmp(c->sides[BASELINE].label, c->sides[TEST].label) == 0) {
        c->sides[BASELINE].label = "baseline";
        c->sides[TEST].label = "test";
    }
    return true;
}

/* ---- sheets ---- */

static bool compare_collectives(compared *c, gt_error *error)
{
    gt_collective_side sides[RUNS];
    for (size_t i = 0; i < RUNS; i++) {
        sides[i] = (gt_collective_side){c->runs[i].collective, c->sides[i].label};
        if (sides[i].path) continue;
        gt_warn("%s has no collective report: collectives are not compared", c->sides[i].label);
        return true;
    }
    return gt_run_collectives(&sides[BASELINE], &sides[TEST], c->strings, &c->collectives, error);
}

static void make_final(compared *c)
{
    const gt_table *summary = gt_table_list_find(&c->timelines, GT_SHEET_SUMMARY_COMPARISON);
    gt_table_list_add(&c->final, gt_run_dashboard(summary, &c->sides[BASELINE], &c->sides[TEST]));
    for (size_t i = 0; i < GT_LENGTH(FINAL_SHEETS); i++) {
        const gt_table *found = gt_table_list_find(&c->timelines, FINAL_SHEETS[i].sheet);
        if (!found) found = gt_table_list_find(&c->collectives, FINAL_SHEETS[i].sheet);
        if (!found) continue;
        gt_table *copy = gt_table_copy(found);
        gt_table_rename(copy, FINAL_SHEETS[i].name);
        gt_table_list_add(&c->final, copy);
    }
}

/* ---- documents ---- */

static bool write_all(const gt_call *call, const compared *c, gt_error *error)
{
    const struct {
        const char *file;
        const gt_table_list *tables;
    } documents[] = {{"gpu_timeline_comparison.xlsx", &c->timelines},
                     {"collective_comparison.xlsx", &c->collectives},
                     {"final_analysis_report.xlsx", &c->final}};
    gt_output *output = gt_output_new();
    bool written = true;
    for (size_t i = 0; i < GT_LENGTH(documents) && written; i++) {
        if (!documents[i].tables->count) continue;
        char *path =
            gt_format("%s/%s", gt_arguments_value(&call->arguments, "output")->text, documents[i].file);
        written = gt_output_xlsx(output, path, documents[i].tables->items, documents[i].tables->count, error);
        gt_free(path);
    }
    written = written && gt_output_commit(output, error);
    for (size_t i = 0; written && !gt_sweep_is_quiet(call) && i < gt_output_file_count(output); i++)
        printf("%swrote %s\n", i ? "" : "\n", gt_output_file_path(output, i));
    gt_output_free(output);
    return written;
}

static void show(const compared *c)
{
    const gt_table *dashboard = c->final.items[0];
    gt_terminal terminal = gt_terminal_for(stdout);
    gt_terminal_column columns[] = {{gt_col_named(c->sides[BASELINE].label), NULL, 2, NULL},
                                    {gt_col_named(c->sides[TEST].label), NULL, 2, NULL},
                                    {GT_COL_IMPROVEMENT_PCT, NULL, 2, "%"},
                                    {GT_COL_STATUS, NULL, 0, NULL},
                                    {GT_COL_METRIC, NULL, 0, NULL}};
    printf("Times in ms, means over %zu and %zu ranks\n", c->runs[BASELINE].ranks.count,
           c->runs[TEST].ranks.count);
    gt_summary_rows(&terminal, dashboard, columns, GT_LENGTH(columns), dashboard->row_count);
}

gt_exit gt_cmd_sweep_compare(const gt_call *call)
{
    gt_read_options read;
    gt_error error = {""};
    if (!gt_sweep_begin_reading(call, (const char *[]){"baseline", "test", "output", NULL}, &read))
        return GT_EXIT_USAGE;
    compared c = {.strings = gt_interner_new()};
    bool made =
        find_runs(call, &c, read.threads, &error) &&
        gt_run_timelines(&c.sides[BASELINE], &c.sides[TEST], gt_arguments_flag(&call->arguments, "geo_mean"),
                         c.strings, &c.timelines, &error) &&
        compare_collectives(&c, &error);
    if (made) {
        make_final(&c);
        if (!gt_sweep_is_quiet(call)) show(&c);
        made = write_all(call, &c, &error);
    }
    gt_table_list_free(&c.timelines);
    gt_table_list_free(&c.collectives);
    gt_table_list_free(&c.final);
    for (size_t i = 0; i < RUNS; i++) gt_run_reports_free(&c.runs[i]);
    gt_interner_free(c.strings);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}
