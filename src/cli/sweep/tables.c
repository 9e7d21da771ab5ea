/* `gputally sweep timeline`, `sweep comms` and `sweep counters`: sheets of all settings of a sweep, combined.
 */
#include "cli/sweep/sweep.h"
#include "cli/common.h"
#include "os/paths.h"
#include "report/summary.h"
#include "schema/columns.h"
#include "sweep/compare/compare.h"
#include "sweep/tables/tables.h"

static const gt_option timeline_options[] = {
    {"sweep_dir", GT_OPTION_STRING, "DIR", NULL, "read the reports of this sweep folder (required)"},
    {"reports_dir", GT_OPTION_STRING, "DIR", NULL,
     "read the reports perf_rank<R>.xlsx of a single run instead, and write gpu_timeline_summary_mean.xlsx "
     "into the folder above DIR",
     .needs = "!sweep_dir"},
    {"geo_mean", GT_OPTION_FLAG, NULL, NULL, "use geometric instead of arithmetic means over ranks"},
    {"tracelens_path", GT_OPTION_STRING, "DIR", NULL,
     "read the reports in DIR (default: tracelens_analysis in --sweep_dir)", .needs = "!reports_dir"},
    {"output_dir", GT_OPTION_STRING, "DIR", NULL,
     "write the workbook into DIR (default: folder of the reports)"},
    GT_SWEEP_INCLUDE_FAILED,
};
static const gt_option_group timeline_group = {"Timeline", timeline_options, GT_LENGTH(timeline_options)};

const gt_syntax gt_sweep_timeline_syntax = {
    .groups = {&timeline_group, &gt_whole_files_group},
    .main_options = {"sweep_dir", "output_dir", "geo_mean"},
    .files = "",
    .files_max = 0,
    .output_option = "output_dir",
};

static const gt_option comms_options[] = {
    {"sweep_dir", GT_OPTION_STRING, "DIR", NULL, "read the reports of this sweep folder (required)"},
    {"tracelens_path", GT_OPTION_STRING, "DIR", NULL,
     "read the reports in DIR (default: tracelens_analysis in --sweep_dir)"},
    {"output_dir", GT_OPTION_STRING, "DIR", NULL,
     "write the files into DIR (default: folder of the reports)"},
    GT_SWEEP_INCLUDE_FAILED,
};
static const gt_option_group comms_group = {"Collectives", comms_options, GT_LENGTH(comms_options)};

const gt_syntax gt_sweep_comms_syntax = {
    .groups = {&comms_group, &gt_whole_files_group},
    .main_options = {"sweep_dir", "output_dir"},
    .files = "",
    .files_max = 0,
    .output_option = "output_dir",
};

/* ---- timeline ---- */

static void show_type(const gt_table *all, const char *type)
{
    static const gt_terminal_column columns[] = {{GT_COL_TIME_MS, NULL, 3, NULL},
                                                 {GT_COL_PERCENT, NULL, 2, "%"},
                                                 {GT_COL_NUM_RANKS, "ranks", 0, NULL},
                                                 {GT_COL_FULL_CONFIG, NULL, 0, NULL}};
    gt_table *rows = gt_sweep_timeline_of_type(all, type);
    if (rows->row_count) {
        gt_terminal terminal = gt_terminal_for(stdout);
        printf("\n%s, ascending\n", type);
        gt_summary_rows(&terminal, rows, columns, GT_LENGTH(columns), rows->row_count);
    }
    gt_table_free(rows);
}

static void show_timeline(const gt_table *all)
{
    gt_table *types = gt_sweep_timeline_types(all);
    puts("Types of time, and the number of settings with each:");
    for (size_t i = 0; i < types->row_count; i++)
        printf("  %s: %lld\n", gt_interner_get(all->strings, types->columns[0].texts[i]).bytes,
               (long long)types->columns[1].ints[i]);
    gt_table_free(types);
    show_type(all, "busy_time");
    show_type(all, "idle_time");
}

static bool make_timeline(const gt_call *call, const gt_setting_reports *reports, const char *folder,
                          gt_interner *strings, gt_error *error)
{
    (void)strings;
    bool geometric = gt_arguments_flag(&call->arguments, "geo_mean");
    gt_table_list tables = {0};
    char *path = gt_format("%s/gpu_timeline_all_configs_%s.xlsx", folder, geometric ? "geomean" : "mean");
    bool made = gt_sweep_timeline_tables(reports, geometric, &tables, error) &&
                gt_output_workbook(&tables, path, error);
    if (made && !gt_sweep_is_quiet(call)) {
        show_timeline(tables.items[0]);
        printf("\nwrote %s\n", path);
    }
    gt_table_list_free(&tables);
    gt_free(path);
    return made;
}

/* ---- collectives ---- */

static void show_operations(const gt_comms_operations *operations)
{
    puts("Operations:");
    for (size_t i = 0; i < operations->count; i++) {
        const gt_comms_operation *operation = &operations->items[i];
        printf("  %s: %12.6f MB  (", operation->id.bytes, operation->size_mb);
        if (isnan(operation->elements))
            printf("%10s", "-");
        else
            printf("%10.0f", operation->elements);
        printf(" elements)  %s\n", operation->name.bytes);
    }
}

static void show_settings(const gt_table *all)
{
    static const gt_terminal_column columns[] = {{GT_COL_TOTAL_COMM_LATENCY_MS, "total ms", 2, NULL},
                                                 {GT_COL_ROWS, NULL, 0, NULL},
                                                 {GT_COL_FULL_CONFIG, "setting", 0, NULL}};
    gt_table *settings = gt_sweep_comms_settings(all);
    if (!settings) return;
    gt_terminal terminal = gt_terminal_for(stdout);
    puts("\nTime in collectives, ascending");
    gt_summary_rows(&terminal, settings, columns, GT_LENGTH(columns), settings->row_count);
    gt_table_free(settings);
}

static void show_best(const gt_comms_operations *operations)
{
    if (!operations->has_latencies) return;
    puts("\nBest setting per operation");
    for (size_t i = 0; i < operations->count; i++) {
        const gt_comms_operation *operation = &operations->items[i];
        if (operation->best_setting.len)
            printf("  %s: %s (%.2f us)\n", operation->id.bytes, operation->best_setting.bytes,
                   operation->best_us);
    }
}

static bool make_comms(const gt_call *call, const gt_setting_reports *reports, const char *folder,
                       gt_interner *strings, gt_error *error)
{
    gt_table *all = gt_sweep_comms_table(reports, strings, error);
    if (!all) return false;
    gt_table_list tables = {0};
    gt_table_list_add(&tables, all);
    char *stem = gt_format("%s/nccl_master_all_configs", folder);
    bool made = gt_sweep_write_both(&tables, "comms", stem, error);
    if (made && !gt_sweep_is_quiet(call)) {
        gt_comms_operations operations = gt_sweep_comms_operations(all);
        show_operations(&operations);
        show_settings(all);
        show_best(&operations);
        gt_free(operations.items);
        printf("\nwrote %s.xlsx\nwrote %s.csv\n", stem, stem);
    }
    gt_free(stem);
    gt_table_list_free(&tables);
    return made;
}

/* ---- reading the reports ---- */

typedef bool make_tables(const gt_call *call, const gt_setting_reports *reports, const char *folder,
                         gt_interner *strings, gt_error *error);

static gt_exit run_on_reports(const gt_call *call, gt_report_kind kind, gt_sheet sheet, make_tables *make)
{
    gt_read_options read;
    gt_error error = {""};
    if (!gt_sweep_begin_reading(call, (const char *[]){"sweep_dir", NULL}, &read)) return GT_EXIT_USAGE;
    gt_interner *strings = gt_interner_new();
    gt_setting_reports reports;
    const char *root = gt_arguments_value(&call->arguments, "sweep_dir")->text,
               *output_dir = gt_arguments_string(&call->arguments, "output_dir");
    char *analysis = gt_sweep_analysis_folder(call, "tracelens_path", root);
    const gt_reports_wanted wanted = {.root = root,
                                      .analysis = analysis,
                                      .kind = kind,
                                      .include_failed =
                                          gt_arguments_flag(&call->arguments, "include_failed")};
    bool made = gt_setting_reports_find(&reports, &wanted, &error);
    if (made) {
        gt_setting_reports_read(&reports, sheet, strings);
        made = make(call, &reports, output_dir ? output_dir : analysis, strings, &error);
    }
    gt_free(analysis);
    gt_setting_reports_free(&reports);
    gt_interner_free(strings);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}

/* ---- timeline of a single run ---- */

static void show_run_timeline(const gt_table *summary)
{
    static const gt_terminal_column columns[] = {{GT_COL_TIME_MS, NULL, 3, NULL},
                                                 {GT_COL_PERCENT, NULL, 2, "%"},
                                                 {GT_COL_NUM_RANKS, "ranks", 0, NULL},
                                                 {GT_COL_TYPE, NULL, 0, NULL}};
    gt_terminal terminal = gt_terminal_for(stdout);
    gt_summary_rows(&terminal, summary, columns, GT_LENGTH(columns), summary->row_count);
}

static bool write_run_timeline(const gt_call *call, const char *reports_dir, const gt_table_list *tables,
                               gt_error *error)
{
    const char *output_dir = gt_arguments_string(&call->arguments, "output_dir");
    bool geometric = gt_arguments_flag(&call->arguments, "geo_mean");
    gt_arena arena = {0};
    const char *whole = gt_path_absolute(&arena, gt_path_current(&arena), reports_dir);
    char *folder = output_dir ? gt_strdup(output_dir) : gt_path_folder(whole);
    char *path = gt_format("%s/gpu_timeline_summary_%s.xlsx", folder, geometric ? "geomean" : "mean");
    gt_sheet_style *styles = gt_run_styles(tables);
    gt_output *output = gt_output_new();
    bool written = gt_output_styled_xlsx(output, path, tables->items, styles, tables->count, error) &&
                   gt_output_commit(output, error);
    if (written && !gt_sweep_is_quiet(call)) {
        show_run_timeline(tables->items[0]);
        printf("\nwrote %s\n", path);
    }
    gt_output_free(output);
    gt_free_all(styles, path, folder);
    gt_arena_free(&arena);
    return written;
}

static gt_exit summarize_run(const gt_call *call, const char *reports_dir)
{
    gt_read_options read;
    gt_error error = {""};
    gt_run_reports reports;
    gt_table_list tables = {0};
    if (!gt_sweep_begin_reading(call, NULL, &read)) return GT_EXIT_USAGE;
    gt_interner *strings = gt_interner_new();
    bool made = gt_run_reports_in(&reports, reports_dir, &error);
    if (made) gt_setting_reports_read(&reports.ranks, GT_SHEET_GPU_TIMELINE, strings);
    made = made &&
           gt_run_timeline(&reports.ranks, gt_arguments_flag(&call->arguments, "geo_mean"), reports_dir,
                           &tables, &error) &&
           write_run_timeline(call, reports_dir, &tables, &error);
    gt_table_list_free(&tables);
    gt_run_reports_free(&reports);
    gt_interner_free(strings);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}

gt_exit gt_cmd_sweep_timeline(const gt_call *call)
{
    const char *reports_dir = gt_arguments_string(&call->arguments, "reports_dir");
    if (reports_dir && !gt_arguments_string(&call->arguments, "sweep_dir"))
        return summarize_run(call, reports_dir);
    return run_on_reports(call, GT_REPORTS_OF_RANKS, GT_SHEET_GPU_TIMELINE, make_timeline);
}

gt_exit gt_cmd_sweep_comms(const gt_call *call)
{
    return run_on_reports(call, GT_REPORTS_COLLECTIVE, GT_SHEET_NCCL_SUMMARY_IMPLICIT_SYNC, make_comms);
}

static const gt_option counters_options[] = {
    {"sweep_dir", GT_OPTION_STRING, "DIR", NULL, "read the rocprofv3 traces of this sweep folder (required)"},
    {"output_dir", GT_OPTION_STRING, "DIR", NULL,
     "write the files into DIR (default: tracelens_analysis in --sweep_dir)"},
    GT_SWEEP_INCLUDE_FAILED,
};
static const gt_option_group counters_group = {"Counters", counters_options, GT_LENGTH(counters_options)};

const gt_syntax gt_sweep_counters_syntax = {
    .groups = {&counters_group, &gt_common_group},
    .main_options = {"sweep_dir", "output_dir"},
    .files = "",
    .files_max = 0,
    .output_option = "output_dir",
};

static bool make_counters(const gt_call *call, const char *root, const gt_read_options *read,
                          gt_interner *strings, gt_error *error)
{
    gt_sweep sweep = {0};
    gt_table_list tables = {0};
    char *folder = gt_sweep_analysis_folder(call, "output_dir", root);
    char *stem = gt_format("%s/counters_all_configs", folder);
    bool made = (gt_path_is_folder(root) || gt_fail(error, "Sweep directory does not exist: %s", root)) &&
                gt_sweep_open_for_step(call, &sweep, root, error) &&
                gt_sweep_counter_tables(&sweep, read, strings, &tables, error);
    bool none = made && !tables.items[0]->row_count;
    if (none && call->nothing_to_do)
        *call->nothing_to_do = true;
    else if (none)
        made = gt_fail(error, "no setting has counters; record them with a job file (sweep yaml, sweep run "
                              "--write_job_files)");
    else
        made = made && gt_sweep_write_both(&tables, "counters", stem, error);
    if (made && !none && !gt_sweep_is_quiet(call))
        printf("%zu rows, %zu counters\n\nwrote %s.xlsx\nwrote %s.csv\n", tables.items[0]->row_count,
               tables.count - 1, stem, stem);
    gt_free_all(stem, folder);
    gt_table_list_free(&tables);
    gt_sweep_free(&sweep);
    return made;
}

gt_exit gt_cmd_sweep_counters(const gt_call *call)
{
    gt_read_options read;
    gt_error error = {""};
    if (!gt_sweep_begin_reading(call, (const char *[]){"sweep_dir", NULL}, &read)) return GT_EXIT_USAGE;
    gt_interner *strings = gt_interner_new();
    bool made =
        make_counters(call, gt_arguments_value(&call->arguments, "sweep_dir")->text, &read, strings, &error);
    gt_interner_free(strings);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}
