/* `gputally jax-analysis`: a short report on an XPlane profile, each sheet in its own file. */
#include "cli/commands/commands.h"
#include "input/xla/xplane.h"

static const gt_option input_options[] = {
    {"profile_xplane_pb_path", GT_OPTION_STRING, "FILE", NULL,
     "read this *.xplane.pb, or a folder that jax.profiler wrote (same as FILE)"},
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option report_options[] = {
    {"output_path", GT_OPTION_STRING, "DIR", NULL, "write each sheet to its own file in DIR"},
    {"output_filename", GT_OPTION_STRING, "NAME", "trace_analysis_results",
     "start these file names with NAME; \"_gemms\" and so on is appended", .needs = "output_path"},
    {"output_table_formats", GT_OPTION_STRINGS, "FORMAT...", ".xlsx .csv",
     "write these files as .xlsx, .csv or both", .needs = "output_path", .choices = ".xlsx|.csv"},
};
static const gt_option_group report_group = {"Analysis", report_options, GT_LENGTH(report_options)};

static const gt_option output_options[] = {
    {"output_xlsx_path", GT_OPTION_STRING, "PATH", NULL, "write all sheets to one Excel workbook",
     .ending = GT_WORKBOOK_ENDING},
    {"output_csvs_dir", GT_OPTION_STRING, "DIR", NULL, "write one CSV file per sheet into DIR"},
    GT_CSV_SAFE_OPTIONS("output_csvs_dir"),
    {"output_db", GT_OPTION_STRING, "PATH", NULL, "write an SQLite database with one table per sheet to PATH",
     .ending = GT_DATABASE_ENDINGS},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

static const gt_option unused_options[] = {
    {"num_cus", GT_OPTION_STRING, "N", "304", "set the number of compute units",
     .unused = "no sheet depends on the GPU"},
    {"name", GT_OPTION_STRING, "GPU", "mi300x", "set the name of the GPU",
     .unused = "no sheet depends on the GPU"},
};
static const gt_option_group unused_group = {"Accepted for compatibility, no effect", unused_options,
                                             GT_LENGTH(unused_options)};

const gt_syntax gt_jax_analysis_syntax = {
    .groups = {&input_group, &report_group, &output_group, &unused_group, &gt_common_group},
    .main_options = {"output_path", "output_filename", "output_table_formats", "output_xlsx_path",
                     "output_csvs_dir"},
    .files = "FILE",
    .file_endings = GT_JAX_ENDINGS,
    .file_option = "profile_xplane_pb_path",
    .files_max = 1,
    .output_option = "output_xlsx_path",
};

/* ---- formats ---- */

typedef struct formats {
    bool xlsx, csv;
} formats;

static void read_formats(const gt_arguments *arguments, formats *f)
{
    const gt_option_value *value = gt_arguments_value(arguments, "output_table_formats");
    *f = (formats){!value->given, !value->given};
    for (size_t i = 0; i < value->text_count; i++) {
        f->xlsx |= strcmp(value->texts[i], ".xlsx") == 0;
        f->csv |= strcmp(value->texts[i], ".csv") == 0;
    }
}

/* ---- writing ---- */

static bool write_table(gt_output *output, const char *dir, const char *file, gt_table *table, formats f,
                        gt_error *error)
{
    char *sheet = gt_strdup(table->name), *name = gt_format("%s_%s", file, sheet);
    char *xlsx = gt_format("%s/%s.xlsx", dir, name);
    gt_table_rename(table, GT_SHEET_SHEET1);
    bool written = !f.xlsx || gt_output_xlsx(output, xlsx, &table, 1, error);
    gt_table_rename(table, gt_sheet_named(name));
    written = written && (!f.csv || gt_output_csvs(output, dir, &table, 1, error));
    gt_table_rename(table, gt_sheet_named(sheet));
    gt_free_all(xlsx, name, sheet);
    return written;
}

static gt_output *write_tables(const gt_trace_call *call, const gt_table_list *tables, gt_error *error)
{
    const gt_arguments *arguments = &call->call->arguments;
    const char *dir = gt_arguments_string(arguments, "output_path");
    const char *file = gt_arguments_value(arguments, "output_filename")->text;
    formats f;
    if (!dir) return gt_destinations_write(call->destinations, call->path, tables, error);
    gt_output *output = gt_output_new();
    bool written = true;
    read_formats(arguments, &f);
    for (size_t i = 0; written && i < tables->count; i++)
        written = write_table(output, dir, file, tables->items[i], f, error);
    if (written && gt_output_commit(output, error)) return output;
    gt_output_free(output);
    return NULL;
}

/* ---- showing ---- */

static void print_times(const gt_terminal *terminal, const gt_table *table)
{
    gt_terminal_heading(terminal, "GPU timeline, mean of the GPUs");
    gt_summary_bars(terminal, table, GT_COL_TYPE, GT_COL_TIME_MS, GT_COL_PERCENT);
}

static void print_classes(const gt_terminal *terminal, const gt_table *table)
{
    gt_terminal_heading(terminal, "Computation by class");
    gt_summary_bars(terminal, table, GT_COL_NAME, GT_COL_TIME_MS, GT_COL_PERCENT_OF_KERNEL_TIME);
}

static void show(const gt_table_list *tables, const gt_output *output)
{
    static const gt_summary_part parts[] = {
        {GT_SHEET_GPU_EVENTS_AVERAGES, print_times},
        {GT_SHEET_GPU_EVENTS_CATEGORIZED_MEAN, print_classes},
    };
    gt_terminal terminal = gt_terminal_for(stdout);
    gt_summary_parts(&terminal, tables, parts, GT_LENGTH(parts));
    gt_trace_show_files(stdout, output);
}

/* ---- the command ---- */

static bool make_report(const gt_trace_call *call, gt_error *error)
{
    gt_jax *trace = gt_xplane_read_with_products(call->stream, GT_JAX_ANALYSIS_MODULE, call->read, error);
    if (!trace) return false;
    gt_table_list tables = {0};
    gt_output *output = NULL;
    if (!gt_jax_analysis_tables(trace, !call->call->by_old_name, &tables, error))
        gt_error_prefix(error, gt_trace_title(call->path));
    else
        output = write_tables(call, &tables, error);
    const char *dir = gt_arguments_string(&call->call->arguments, "output_path");
    if (output && dir) gt_journal_print("DataFrames successfully written to %s", dir);
    if (output && gt_trace_is_shown(call)) show(&tables, output);
    bool made = output != NULL;
    gt_output_free(output);
    gt_table_list_free(&tables);
    gt_jax_free(trace);
    return made;
}

static bool check_outputs(const gt_arguments *arguments, gt_error *error)
{
    bool has_other = false;
    for (size_t i = 0; i < output_group.count; i++)
        has_other |= gt_arguments_string(arguments, output_options[i].name) != NULL;
    bool has_folder = gt_arguments_string(arguments, "output_path") != NULL;
    if (has_folder && has_other)
        return gt_fail(error, "argument --output_path: not allowed with another output");
    return has_folder || has_other || gt_fail(error, "the following arguments are required: --output_path");
}

gt_exit gt_cmd_jax_analysis(const gt_call *call)
{
    const gt_arguments *arguments = &call->arguments;
    gt_error error;
    if (!check_outputs(arguments, &error)) return gt_usage_error(call->program, "%s", error.text);
    gt_profile_list profiles = {0};
    gt_exit status = GT_EXIT_FAILED;
    bool found =
        gt_profiles_find(&profiles, gt_arguments_value(arguments, "profile_xplane_pb_path")->text, &error);
    if (found && profiles.count > 1)
        found = gt_fail(&error, "this run has %zu profiles, one per host; choose one, such as %.300s",
                        profiles.count, profiles.paths[0]);
    if (found)
        status = gt_each_trace(call, (const char *const *)profiles.paths, profiles.count, make_report);
    else
        fprintf(stderr, "gputally: %s\n", error.text);
    gt_profiles_free(&profiles);
    return status;
}
