/* The steps of `gputally sweep compare`, each alone and on the files of the step before, like the scripts of
 * the single-configuration pipeline: run-tracelens-single-config, combine-reports, add-comparison-sheets,
 * add-collective-comparison, create-final-report, create-final-plots, create-final-html, compare-all-runs.
 * (`timeline --reports_dir` is in tables.c.) */
#include "cli/sweep/sweep.h"
#include "cli/common.h"
#include "os/paths.h"
#include "sweep/compare/compare.h"
#include "sweep/compare/run_plots.h"

/* ---- run-tracelens-single-config ---- */

static const gt_option reports_options[] = {
    {"output_dir", GT_OPTION_STRING, "DIR", NULL,
     "write the reports into DIR (default: tracelens_analysis in RUN)"},
    {"individual_only", GT_OPTION_FLAG, NULL, NULL, "write only the reports on ranks",
     .needs = "!collective_only"},
    {"collective_only", GT_OPTION_FLAG, NULL, NULL, "write only the collective report",
     .needs = "!individual_only"},
};
static const gt_option_group reports_group = {"Reports", reports_options, GT_LENGTH(reports_options)};

const gt_syntax gt_sweep_single_reports_syntax = {
    .groups = {&reports_group, &gt_common_group},
    .main_options = {"individual_only", "collective_only", "output_dir", "threads", "quiet"},
    .files = "RUN",
    .files_max = 1,
    .folders = true,
    .output_option = "output_dir",
};

void gt_sweep_show_run_reports(const gt_single_run *run, const char *folder, const gt_sweep_totals *totals)
{
    printf("%s%s: %zu individual report%s, %s collective report\n", folder ? folder : run->folder,
           folder ? "" : "/" GT_SWEEP_ANALYSIS, totals->of_config[0].reports,
           totals->of_config[0].reports == 1 ? "" : "s", totals->of_config[0].collective ? "1" : "no");
}

gt_exit gt_cmd_sweep_single_reports(const gt_call *call)
{
    gt_read_options read;
    gt_error error = {""};
    gt_single_run run;
    gt_sweep_totals totals = {0};
    if (!gt_sweep_begin_reading(call, NULL, &read)) return GT_EXIT_USAGE;
    const char *folder = gt_arguments_string(&call->arguments, "output_dir");
    const gt_sweep_report_options options = {
        .strict = read.strict,
        .threads = read.threads,
        .no_ranks = gt_arguments_flag(&call->arguments, "collective_only"),
        .no_collectives = gt_arguments_flag(&call->arguments, "individual_only"),
    };
    bool made = gt_single_run_find(&run, call->arguments.files[0], &error) &&
                gt_single_run_report(&run, folder, options, &totals, &error);
    if (made && !gt_sweep_is_quiet(call)) gt_sweep_show_run_reports(&run, folder, &totals);
    made = made && gt_sweep_totals_check(&totals, &error);
    gt_sweep_totals_free(&totals);
    gt_single_run_free(&run);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}

/* ---- what the steps on workbooks share ---- */

static bool write_workbook(const gt_call *call, const gt_table_list *tables, const gt_sheet_style *styles,
                           gt_error *error)
{
    const char *path = gt_arguments_value(&call->arguments, "output")->text;
    gt_output *output = gt_output_new();
    bool written = (tables->count || gt_fail(error, "no sheet that both workbooks have")) &&
                   gt_output_styled_xlsx(output, path, tables->items, styles, tables->count, error) &&
                   gt_output_commit(output, error);
    gt_output_free(output);
    if (written && !gt_sweep_is_quiet(call)) {
        for (size_t i = 0; i < tables->count; i++)
            printf("%s%s: %zu rows\n", tables->items[i]->name,
                   styles && styles[i].is_hidden ? " (hidden)" : "", tables->items[i]->row_count);
        printf("\nwrote %s\n", path);
    }
    return written;
}

static bool write_styled(const gt_call *call, const gt_table_list *tables, gt_error *error)
{
    gt_sheet_style *styles = gt_run_styles(tables);
    bool written = write_workbook(call, tables, styles, error);
    gt_free(styles);
    return written;
}

static gt_run_labels labels_of(const gt_call *call)
{
    return (gt_run_labels){gt_arguments_value(&call->arguments, "baseline_label")->text,
                           gt_arguments_value(&call->arguments, "test_label")->text};
}

/* The sheets of the workbook that an option names; without the option, none. */
static bool read_option(const gt_call *call, const char *option, gt_interner *strings, gt_table_list *tables,
                        gt_error *error)
{
    const char *path = gt_arguments_string(&call->arguments, option);
    return !path || gt_read_report_tables(path, strings, tables, error);
}

#define LABEL_OPTIONS(baseline, test)                                                                        \
    {"baseline_label", GT_OPTION_STRING, "TEXT", baseline, "name the baseline TEXT"},                        \
    {                                                                                                        \
        "test_label", GT_OPTION_STRING, "TEXT", test, "name the test TEXT"                                   \
    }

/* ---- combine-reports ---- */

static const gt_option combine_options[] = {
    {"baseline", GT_OPTION_STRING, "FILE", NULL, "read the workbook of the baseline (required)"},
    {"test", GT_OPTION_STRING, "FILE", NULL, "read the same workbook of the test (required)"},
    {"output", GT_OPTION_STRING, "FILE", NULL, "write the workbook to FILE (required)",
     .ending = GT_WORKBOOK_ENDING},
    LABEL_OPTIONS("baseline", "test"),
};
static const gt_option_group combine_group = {"Workbooks", combine_options, GT_LENGTH(combine_options)};

const gt_syntax gt_sweep_combine_syntax = {
    .groups = {&combine_group, &gt_sheets_group},
    .main_options = {"baseline", "test", "output", "baseline_label", "test_label"},
    .files = "",
    .output_option = "output",
};

gt_exit gt_cmd_sweep_combine(const gt_call *call)
{
    gt_error error = {""};
    if (!gt_sweep_open_input(call, (const char *[]){"baseline", "test", "output", NULL}))
        return GT_EXIT_USAGE;
    gt_interner *strings = gt_interner_new();
    gt_table_list before = {0}, after = {0}, both = {0};
    bool made = read_option(call, "baseline", strings, &before, &error) &&
                read_option(call, "test", strings, &after, &error);
    if (made) gt_combine_runs(&before, &after, labels_of(call), &both);
    made = made && write_styled(call, &both, &error);
    gt_table_list_free(&before);
    gt_table_list_free(&after);
    gt_table_list_free(&both);
    gt_interner_free(strings);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}

/* ---- add-comparison-sheets, add-collective-comparison ---- */

static const gt_option add_options[] = {
    {"input", GT_OPTION_STRING, "FILE", NULL,
     "read the workbook of `gputally sweep combine-reports` (required)"},
    {"output", GT_OPTION_STRING, "FILE", NULL, "write the workbook to FILE (required)",
     .ending = GT_WORKBOOK_ENDING},
    LABEL_OPTIONS("baseline", "test"),
};
static const gt_option_group add_group = {"Workbooks", add_options, GT_LENGTH(add_options)};

const gt_syntax gt_sweep_add_comparison_syntax = {
    .groups = {&add_group, &gt_sheets_group},
    .main_options = {"input", "output", "baseline_label", "test_label"},
    .files = "",
    .output_option = "output",
};

typedef bool compare_sheets(const gt_table_list *combined, gt_run_labels labels, gt_table_list *tables,
                            gt_error *error);

static gt_exit add_comparison(const gt_call *call, compare_sheets *compare)
{
    gt_error error = {""};
    if (!gt_sweep_open_input(call, (const char *[]){"input", "output", NULL})) return GT_EXIT_USAGE;
    gt_interner *strings = gt_interner_new();
    gt_table_list combined = {0}, compared = {0};
    const char *path = gt_arguments_value(&call->arguments, "input")->text;
    bool made = gt_read_report_tables(path, strings, &combined, &error);
    if (made && !compare(&combined, labels_of(call), &compared, &error)) {
        gt_error_prefix(&error, path);
        made = false;
    }
    made = made && write_styled(call, &compared, &error);
    gt_table_list_free(&combined);
    gt_table_list_free(&compared);
    gt_interner_free(strings);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}

gt_exit gt_cmd_sweep_add_timelines(const gt_call *call)
{
    return add_comparison(call, gt_compare_timelines);
}

gt_exit gt_cmd_sweep_add_collectives(const gt_call *call)
{
    return add_comparison(call, gt_compare_collectives);
}

/* ---- create-final-report ---- */

static const gt_option final_options[] = {
    {"gpu_combined", GT_OPTION_STRING, "FILE", NULL, "read the combined timelines (required)"},
    {"gpu_comparison", GT_OPTION_STRING, "FILE", NULL, "read the comparison of timelines (required)"},
    {"coll_combined", GT_OPTION_STRING, "FILE", NULL, "read the combined collective reports",
     .needs = "coll_comparison"},
    {"coll_comparison", GT_OPTION_STRING, "FILE", NULL, "read the comparison of collectives",
     .needs = "coll_combined"},
    {"output", GT_OPTION_STRING, "FILE", NULL, "write the final report to FILE (required)",
     .ending = GT_WORKBOOK_ENDING},
    LABEL_OPTIONS("Baseline", "Test"),
};
static const gt_option_group final_group = {"Workbooks", final_options, GT_LENGTH(final_options)};

const gt_syntax gt_sweep_final_report_syntax = {
    .groups = {&final_group, &gt_sheets_group},
    .main_options = {"gpu_combined", "gpu_comparison", "coll_combined", "coll_comparison", "output"},
    .files = "",
    .output_option = "output",
};

gt_exit gt_cmd_sweep_final_report(const gt_call *call)
{
    static const char *const inputs[] = {"gpu_combined", "gpu_comparison", "coll_combined",
                                         "coll_comparison"};
    gt_error error = {""};
    if (!gt_sweep_open_input(call, (const char *[]){"gpu_combined", "gpu_comparison", "output", NULL}))
        return GT_EXIT_USAGE;
    gt_interner *strings = gt_interner_new();
    gt_table_list lists[GT_LENGTH(inputs)] = {{0}};
    gt_final_report report = {0};
    bool made = true;
    for (size_t i = 0; i < GT_LENGTH(inputs) && made; i++)
        made = read_option(call, inputs[i], strings, &lists[i], &error);
    if (made && !gt_final_report_make(&report, &(gt_final_parts){&lists[0], &lists[1], &lists[2], &lists[3]},
                                      labels_of(call), &error)) {
        gt_error_prefix(&error, gt_arguments_value(&call->arguments, "gpu_comparison")->text);
        made = false;
    }
    made = made && write_workbook(call, &report.tables, report.styles, &error);
    gt_final_report_free(&report);
    for (size_t i = 0; i < GT_LENGTH(inputs); i++) gt_table_list_free(&lists[i]);
    gt_interner_free(strings);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}

/* ---- create-final-plots ---- */

static const gt_option plots_options[] = {
    {"input", GT_OPTION_STRING, "FILE", NULL, "read the final report (required)"},
    {"output", GT_OPTION_STRING, "DIR", NULL,
     "write the plots into DIR (default: plots, in the folder of the report)"},
};
static const gt_option_group plots_group = {"Plots", plots_options, GT_LENGTH(plots_options)};

const gt_syntax gt_sweep_final_plots_syntax = {
    .groups = {&plots_group, &gt_sheets_group},
    .main_options = {"input", "output"},
    .files = "",
    .output_option = "output",
};

static bool draw_plots(const gt_call *call, const char *path, const gt_table_list *tables, gt_error *error)
{
    const char *given = gt_arguments_string(&call->arguments, "output");
    char *folder = given ? gt_strdup(given) : gt_path_sibling(path, "plots");
    gt_output *output = gt_output_new();
    gt_name_set drawn = {0};
    bool made = gt_final_plots_draw(tables, folder, output, &drawn, error);
    if (!made) gt_error_prefix(error, path);
    made = made && gt_output_commit(output, error);
    if (made && !gt_sweep_is_quiet(call)) printf("wrote %zu plots into %s\n", drawn.count, folder);
    gt_name_set_free(&drawn);
    gt_output_free(output);
    gt_free(folder);
    return made;
}

gt_exit gt_cmd_sweep_final_plots(const gt_call *call)
{
    gt_error error = {""};
    if (!gt_sweep_open_input(call, (const char *[]){"input", NULL})) return GT_EXIT_USAGE;
    gt_interner *strings = gt_interner_new();
    gt_table_list tables = {0};
    const char *path = gt_arguments_value(&call->arguments, "input")->text;
    bool made =
        gt_read_report_tables(path, strings, &tables, &error) && draw_plots(call, path, &tables, &error);
    gt_table_list_free(&tables);
    gt_interner_free(strings);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}

/* ---- create-final-html ---- */

static const gt_option page_options[] = {
    {"plot_files_directory", GT_OPTION_STRING, "DIR", NULL,
     "embed the plots of `gputally sweep create-final-plots` in DIR (required)"},
    {"output_html", GT_OPTION_STRING, "FILE", NULL,
     "write the page to FILE (default: final_analysis_report.html, in the folder above DIR)"},
};
static const gt_option_group page_group = {"Page", page_options, GT_LENGTH(page_options)};

static const gt_short_option page_short[] = {{'p', "plot_files_directory"}, {0}};

const gt_syntax gt_sweep_final_html_syntax = {
    .groups = {&page_group, &gt_sheets_group},
    .main_options = {"plot_files_directory", "output_html"},
    .files = "",
    .output_option = "output_html",
    .short_options = page_short,
};

/* "x/final_analysis_report.html" for the plots in "x/plots" or "x/plots/". The caller frees it. */
static char *default_page(const char *plots)
{
    gt_arena arena = {0};
    const char *whole = gt_path_absolute(&arena, gt_path_current(&arena), plots);
    char *page = gt_path_sibling(whole, "final_analysis_report.html");
    gt_arena_free(&arena);
    return page;
}

gt_exit gt_cmd_sweep_final_html(const gt_call *call)
{
    gt_error error = {""};
    if (!gt_sweep_open_input(call, (const char *[]){"plot_files_directory", NULL})) return GT_EXIT_USAGE;
    const char *plots = gt_arguments_value(&call->arguments, "plot_files_directory")->text,
               *given = gt_arguments_string(&call->arguments, "output_html");
    char *path = given ? gt_strdup(given) : default_page(plots);
    const char *paths[] = {path};
    gt_buffer html = {0};
    bool made = (gt_path_is_folder(plots) || gt_fail(&error, "directory not found: %s", plots)) &&
                gt_run_page_make(&html, &(gt_run_page){.plots = plots}, &error) &&
                gt_sweep_write_texts(paths, (gt_str[]){gt_buffer_str(&html)}, 1, &error);
    if (made && !gt_sweep_is_quiet(call)) printf("wrote %s\n", path);
    gt_buffer_free(&html);
    gt_free(path);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}
