/* `gputally sweep timeline` and `gputally sweep comms`: sheets of all reports of a sweep put together. */
#include "base/length.h"
#include "base/memory.h"
#include "cli/common.h"
#include "cli/sweep/sweep.h"
#include "output/terminal.h"
#include "report/summary.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "sweep/comms.h"
#include "sweep/timeline.h"
#include "table/operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const gt_option timeline_options[] = {
    {"sweep_dir", GT_OPTION_STRING, "DIR", NULL, "read the reports of this sweep folder (required)"},
    {"geo_mean", GT_OPTION_FLAG, NULL, NULL, "use geometric instead of arithmetic means over ranks"},
};
static const gt_option_group timeline_group = {"Timeline", timeline_options, GT_LENGTH(timeline_options)};

const gt_syntax gt_sweep_timeline_syntax = {
    .groups = {&timeline_group, &gt_common_group},
    .main_options = {"sweep_dir", "geo_mean"},
    .files = "",
    .files_max = 0,
};

static const gt_option comms_options[] = {
    {"sweep_dir", GT_OPTION_STRING, "DIR", NULL, "read the reports of this sweep folder (required)"},
};
static const gt_option_group comms_group = {"Collectives", comms_options, GT_LENGTH(comms_options)};

const gt_syntax gt_sweep_comms_syntax = {
    .groups = {&comms_group, &gt_common_group},
    .main_options = {"sweep_dir"},
    .files = "",
    .files_max = 0,
};

/* ---- timeline ---- */

static void show_type(const gt_table *all, const char *type)
{
    gt_table *rows = gt_table_copy(all);
    uint8_t *keep = gt_alloc_zero(all->row_count, 1);
    uint32_t wanted = gt_interner_add_cstr(all->strings, type);
    const gt_column *types = gt_table_column(all, GT_COL_TYPE);
    for (size_t row = 0; row < all->row_count; row++) keep[row] = types->texts[row] == wanted;
    gt_table_keep(rows, keep);
    gt_table_sort(rows, &(gt_sort_key){GT_COL_TIME_MS, false}, 1);
    if (rows->row_count) {
        static const gt_terminal_column columns[] = {{GT_COL_TIME_MS, NULL, 3, NULL},
                                                     {GT_COL_PERCENT, NULL, 2, "%"},
                                                     {GT_COL_NUM_RANKS, "ranks", 0, NULL},
                                                     {GT_COL_FULL_CONFIG, NULL, 0, NULL}};
        gt_terminal terminal = gt_terminal_for(stdout);
        printf("\n%s, least first\n", type);
        gt_summary_rows(&terminal, rows, columns, GT_LENGTH(columns), rows->row_count);
    }
    gt_free(keep);
    gt_table_free(rows);
}

static void show_timeline(const gt_table *all)
{
    static const gt_aggregate count[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_SETTINGS}};
    gt_table *types =
        gt_table_group(all, (gt_col[]){GT_COL_TYPE}, 1, count, 1, (gt_group_options){.sorted = true});
    puts("Types of time and how many settings have them:");
    for (size_t i = 0; i < types->row_count; i++)
        printf("  %s: %lld\n", gt_interner_get(all->strings, types->columns[0].texts[i]).bytes,
               (long long)types->columns[1].ints[i]);
    gt_table_free(types);
    show_type(all, "busy_time");
    show_type(all, "idle_time");
}

static bool make_timeline(const gt_call *call, const gt_setting_reports *reports, gt_interner *strings,
                          gt_error *error)
{
    (void)strings;
    bool geometric = gt_arguments_flag(&call->arguments, "geo_mean");
    gt_table_list tables = {0};
    char *path =
        gt_format("%s/" GT_SWEEP_ANALYSIS "/gpu_timeline_all_configs_%s.xlsx",
                  gt_arguments_value(&call->arguments, "sweep_dir")->text, geometric ? "geomean" : "mean");
    bool made = gt_sweep_timeline_tables(reports, geometric, &tables, error) &&
                gt_table_list_write(&tables, path, error);
    if (made && !gt_sweep_is_quiet(call)) {
        show_timeline(tables.items[0]);
        printf("\nwrote %s\n", path);
    }
    gt_table_list_free(&tables);
    gt_free(path);
    return made;
}

/* ---- collectives ---- */

/* From the first row of each operation. */
static void show_operations(const gt_table *all)
{
    const gt_column *id = gt_table_column(all, GT_COL_OPERATION_ID),
                    *name = gt_table_column(all, GT_COL_OPERATION_NAME);
    const gt_column *size = gt_table_column(all, GT_COL_FULL_MSG_SIZE_MB),
                    *elements = gt_table_column(all, GT_COL_IN_MSG_NELEMS);
    puts("Operations:");
    for (size_t row = 0; row < all->row_count; row++) {
        if (row && id->texts[row] == id->texts[row - 1]) continue;
        double mb = size->type == GT_TYPE_INT ? (double)size->ints[row] : size->floats[row];
        bool counted = !gt_column_is_null(elements, row) &&
                       (elements->type == GT_TYPE_INT || elements->type == GT_TYPE_FLOAT);
        double count = !counted                        ? 0
                       : elements->type == GT_TYPE_INT ? (double)elements->ints[row]
                                                       : elements->floats[row];
        printf("  %s: %12.6f MB  (", gt_interner_get(all->strings, id->texts[row]).bytes, mb);
        if (counted)
            printf("%10.0f", count);
        else
            printf("%10s", "-");
        printf(" elements)  %s\n", gt_interner_get(all->strings, name->texts[row]).bytes);
    }
}

static void show_settings(const gt_table *all)
{
    static const gt_aggregate sums[] = {
        {GT_NO_COL, GT_GROUP_SIZE, GT_COL_ROWS},
        {GT_COL_TOTAL_COMM_LATENCY_MS, GT_GROUP_SUM, GT_COL_TOTAL_COMM_LATENCY_MS}};
    static const gt_terminal_column columns[] = {{GT_COL_TOTAL_COMM_LATENCY_MS, "total ms", 2, NULL},
                                                 {GT_COL_ROWS, NULL, 0, NULL},
                                                 {GT_COL_FULL_CONFIG, "setting", 0, NULL}};
    gt_type type = gt_table_column(all, GT_COL_TOTAL_COMM_LATENCY_MS)->type;
    if (type != GT_TYPE_INT && type != GT_TYPE_FLOAT) return;
    gt_table *settings = gt_table_group(all, (gt_col[]){GT_COL_FULL_CONFIG}, 1, sums, GT_LENGTH(sums),
                                        (gt_group_options){.sorted = true});
    gt_table_sort(settings, &(gt_sort_key){GT_COL_TOTAL_COMM_LATENCY_MS, false}, 1);
    gt_terminal terminal = gt_terminal_for(stdout);
    puts("\nTime in collectives, least first");
    gt_summary_rows(&terminal, settings, columns, GT_LENGTH(columns), settings->row_count);
    gt_table_free(settings);
}

/* The setting with the smallest mean latency; the first of equal ones. */
static void show_best(const gt_table *all)
{
    const gt_column *id = gt_table_column(all, GT_COL_OPERATION_ID),
                    *latency = gt_table_column(all, GT_COL_COMM_LATENCY_MEAN);
    const gt_column *setting = gt_table_column(all, GT_COL_FULL_CONFIG);
    if (latency->type != GT_TYPE_INT && latency->type != GT_TYPE_FLOAT) return;
    puts("\nBest setting of each operation");
    for (size_t row = 0, end; row < all->row_count; row = end) {
        size_t best = SIZE_MAX;
        double least = 0;
        for (end = row; end < all->row_count && id->texts[end] == id->texts[row]; end++) {
            if (gt_column_is_null(latency, end)) continue;
            double us = latency->type == GT_TYPE_INT ? (double)latency->ints[end] : latency->floats[end];
            if (best == SIZE_MAX || us < least) {
                best = end;
                least = us;
            }
        }
        if (best != SIZE_MAX)
            printf("  %s: %s (%.2f us)\n", gt_interner_get(all->strings, id->texts[row]).bytes,
                   gt_interner_get(all->strings, setting->texts[best]).bytes, least);
    }
}

static bool make_comms(const gt_call *call, const gt_setting_reports *reports, gt_interner *strings,
                       gt_error *error)
{
    gt_table *all = gt_sweep_comms_table(reports, strings, error);
    if (!all) return false;
    gt_table_list tables = {0};
    gt_table_list_add(&tables, all);
    char *stem = gt_format("%s/" GT_SWEEP_ANALYSIS "/nccl_master_all_configs",
                           gt_arguments_value(&call->arguments, "sweep_dir")->text);
    bool made = gt_sweep_write_both(&tables, stem, error);
    if (made && !gt_sweep_is_quiet(call)) {
        show_operations(all);
        show_settings(all);
        show_best(all);
        printf("\nwrote %s.xlsx\nwrote %s.csv\n", stem, stem);
    }
    gt_free(stem);
    gt_table_list_free(&tables);
    return made;
}

/* ---- around both ---- */

typedef bool make_tables(const gt_call *call, const gt_setting_reports *reports, gt_interner *strings,
                         gt_error *error);

static gt_exit run_step(const gt_call *call, gt_report_kind kind, gt_sheet sheet, make_tables *make)
{
    gt_read_options read;
    gt_error error = {""};
    if (!gt_sweep_begin_reading(call, (const char *[]){"sweep_dir", NULL}, &read)) return GT_EXIT_USAGE;
    gt_interner *strings = gt_interner_new();
    gt_setting_reports reports;
    bool made = gt_setting_reports_find(&reports, gt_arguments_value(&call->arguments, "sweep_dir")->text,
                                        kind, &error);
    if (made) {
        gt_setting_reports_read(&reports, sheet, strings, read.threads);
        made = make(call, &reports, strings, &error);
    }
    gt_setting_reports_free(&reports);
    gt_interner_free(strings);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}

gt_exit gt_cmd_sweep_timeline(const gt_call *call)
{
    return run_step(call, GT_REPORTS_OF_RANKS, GT_SHEET_GPU_TIMELINE, make_timeline);
}

gt_exit gt_cmd_sweep_comms(const gt_call *call)
{
    return run_step(call, GT_REPORTS_COLLECTIVE, GT_SHEET_NCCL_SUMMARY_IMPLICIT_SYNC, make_comms);
}
