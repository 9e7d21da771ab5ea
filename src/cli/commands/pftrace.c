/* The three commands for pftrace files: they read the trace in the same way, and each writes its own sheets.
 */
#include "cli/commands/commands.h"
#include "input/chrome/chrome.h"
#include "report/pftrace.h"

static const gt_option input_options[] = {
    {"trace_path", GT_OPTION_STRING, "FILE", NULL,
     "read this *_results.pftrace, or its conversion to Chrome JSON (same as FILE)"},
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option unused_options[] = {
    {"traceconv", GT_OPTION_STRING, "PATH", NULL, "set the path of traceconv",
     .unused = "no converter is needed"},
};
static const gt_option_group unused_group = {"Accepted for compatibility, no effect", unused_options,
                                             GT_LENGTH(unused_options)};

static const gt_option api_options[] = {
    {"exclude_kernel_regex", GT_OPTION_STRING, "REGEX", "(?:^|\\W)redzone_checker_kernel(?:\\W|$)",
     "skip kernels whose name matches REGEX (Python syntax); \"\" skips none"},
    {"allow_multi_kernel_per_api", GT_OPTION_FLAG, NULL, NULL,
     "count every kernel of a call, not only the first"},
    {"include_nonlaunch_apis", GT_OPTION_FLAG, NULL, NULL, "include calls that launch no kernel"},
};
static const gt_option_group api_group = {"Sheets", api_options, GT_LENGTH(api_options)};

static const gt_option filter_options[] = {
    {"min_event_ns", GT_OPTION_INT, "N", "5000",
     "skip events shorter than N nanoseconds (xla_top keeps them)"},
    {"min_tid", GT_OPTION_INT, "N", "-1000000000", "skip events of threads below N"},
    {"max_tid", GT_OPTION_INT, "N", "1000000000", "skip events of threads above N"},
};
static const gt_option_group filter_group = {"Filters", filter_options, GT_LENGTH(filter_options)};

static const gt_option activity_options[] = {
    {"merge_kernels", GT_OPTION_FLAG, NULL, NULL, "merge kernels whose names differ only in digits"},
    {"no_kernel_summary", GT_OPTION_FLAG, NULL, NULL, "omit the sheet kernel_summary"},
    {"no_hip_summary", GT_OPTION_FLAG, NULL, NULL, "omit the sheet hip_summary"},
    {"kernel_summary_include_rccl", GT_OPTION_FLAG, NULL, NULL,
     "include communication kernels in kernel_summary (default unless --kernel_summary_baseline is compute)",
     .needs = "!no_kernel_summary&!kernel_summary_exclude_rccl"},
    {"kernel_summary_exclude_rccl", GT_OPTION_FLAG, NULL, NULL,
     "omit communication kernels from kernel_summary, as TraceLens does", .needs = "!no_kernel_summary"},
    {"kernel_summary_baseline", GT_OPTION_STRING, "WHAT", "total",
     "set the base of the percentages in kernel_summary: total, or compute (without communication)",
     .needs = "!no_kernel_summary", .choices = "total|compute"},
    {"kernel_summary_group", GT_OPTION_STRING, "WHAT", "config",
     "group kernel_summary by config (name, grid, block and registers) or by name",
     .needs = "!no_kernel_summary", .choices = "config|name"},
    {"hip_summary_group", GT_OPTION_STRING, "WHAT", "name",
     "group hip_summary by name, name+stream, name+op or name+stream+op", .needs = "!no_hip_summary",
     .choices = "name|name+stream|name+op|name+stream+op"},
    {"top_xla", GT_OPTION_INT, "N", "30", "set the number of rows of xla_top"},
};
static const gt_option_group activity_group = {"Sheets", activity_options, GT_LENGTH(activity_options)};

static const gt_option markdown_options[] = {
    {"output_md_path", GT_OPTION_STRING, "PATH", NULL, "also write a Markdown report to PATH"},
    {"write_md", GT_OPTION_FLAG, NULL, NULL,
     "also write a Markdown report next to the trace: t.pftrace gives t_report.md",
     .needs = "!output_md_path"},
    {"kernel_summary_top", GT_OPTION_INT, "N", "200",
     "set the number of kernel_summary rows in the Markdown report",
     .needs = "output_md_path,write_md&!no_kernel_summary"},
    {"hip_summary_top", GT_OPTION_INT, "N", "200",
     "set the number of hip_summary rows in the Markdown report",
     .needs = "output_md_path,write_md&!no_hip_summary"},
};
static const gt_option_group markdown_group = {"Markdown", markdown_options, GT_LENGTH(markdown_options)};

const gt_syntax gt_pftrace_api_syntax = {
    .groups = {&input_group, &api_group, &gt_output_group, &unused_group, &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "exclude_kernel_regex",
                     "allow_multi_kernel_per_api", "include_nonlaunch_apis"},
    .files = "FILE",
    .file_endings = "pftrace,pftrace.gz,pftrace.zst,json,json.gz,json.zst",
    .file_option = "trace_path",
    .files_max = 1,
    .output_option = "output_xlsx_path",
    .report_ending = "_pftrace_hip_api_report.xlsx",
};
const gt_syntax gt_pftrace_activity_syntax = {
    .groups = {&input_group, &filter_group, &activity_group, &markdown_group, &gt_output_group, &unused_group,
               &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "output_md_path", "merge_kernels",
                     "min_event_ns"},
    .files = "FILE",
    .file_endings = "pftrace,pftrace.gz,pftrace.zst,json,json.gz,json.zst",
    .file_option = "trace_path",
    .files_max = 1,
    .output_option = "output_xlsx_path",
    .report_ending = "_pftrace_activity_report.xlsx",
};
const gt_syntax gt_pftrace_copy_syntax = {
    .groups = {&input_group, &gt_output_group, &unused_group, &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "output_db", "threads", "quiet"},
    .files = "FILE",
    .file_endings = "pftrace,pftrace.gz,pftrace.zst,json,json.gz,json.zst",
    .file_option = "trace_path",
    .files_max = 1,
    .output_option = "output_xlsx_path",
    .report_ending = "_pftrace_memory_copy_report.xlsx",
};

/* Makes the sheets of one report, and its Markdown if `markdown` is not NULL. */
typedef bool sheet_maker(const gt_trace_call *call, const gt_chrome *trace, gt_table_list *tables,
                         gt_buffer *markdown, gt_error *error);

/* ---- sheets ---- */

static bool bad_pattern(const char *pattern, const gt_error *why, gt_error *error)
{
    return gt_fail(error, "argument --exclude_kernel_regex: '%.200s': %.200s", pattern, why->text);
}

static bool make_api_sheets(const gt_trace_call *call, const gt_chrome *trace, gt_table_list *tables,
                            gt_buffer *markdown, gt_error *error)
{
    (void)markdown;
    const gt_arguments *arguments = &call->call->arguments;
    const char *pattern = gt_arguments_string(arguments, "exclude_kernel_regex");
    gt_python_regex regex = {0};
    gt_error why;
    if (pattern && !gt_python_regex_compile(&regex, pattern, &why)) return bad_pattern(pattern, &why, error);
    gt_pftrace_api_options options = {
        .exclude = pattern ? &regex : NULL,
        .all_kernels = gt_arguments_flag(arguments, "allow_multi_kernel_per_api"),
        .other_calls = gt_arguments_flag(arguments, "include_nonlaunch_apis"),
    };
    gt_journal_info("Generating API \xE2\x86\x94 Kernel summary...");
    bool made = gt_pftrace_api_tables(trace, &options, tables, &why);
    gt_python_regex_free(&regex);
    return made || bad_pattern(pattern, &why, error);
}

static bool make_activity_sheets(const gt_trace_call *call, const gt_chrome *trace, gt_table_list *tables,
                                 gt_buffer *markdown, gt_error *error)
{
    (void)error;
    const gt_arguments *arguments = &call->call->arguments;
    const char *group = gt_arguments_string(arguments, "hip_summary_group");
    bool of_compute = strcmp(gt_arguments_string(arguments, "kernel_summary_baseline"), "compute") == 0;
    bool by_default = !of_compute && !call->call->by_old_name;
    gt_pftrace_activity_options options = {
        .merge_kernels = gt_arguments_flag(arguments, "merge_kernels"),
        .min_tid = gt_arguments_int(arguments, "min_tid"),
        .max_tid = gt_arguments_int(arguments, "max_tid"),
        .min_event_ns = gt_arguments_int(arguments, "min_event_ns"),
        .kernel_summary = !gt_arguments_flag(arguments, "no_kernel_summary"),
        .hip_summary = !gt_arguments_flag(arguments, "no_hip_summary"),
        .include_rccl = !gt_arguments_flag(arguments, "kernel_summary_exclude_rccl") &&
                        (by_default || gt_arguments_flag(arguments, "kernel_summary_include_rccl")),
        .of_compute = of_compute,
        .by_name = strcmp(gt_arguments_string(arguments, "kernel_summary_group"), "name") == 0,
        .by_stream = strstr(group, "+stream") != NULL,
        .by_operation = strstr(group, "+op") != NULL,
        .top_xla = gt_arguments_int(arguments, "top_xla"),
        .top_kernels = gt_arguments_int(arguments, "kernel_summary_top"),
        .top_calls = gt_arguments_int(arguments, "hip_summary_top"),
    };
    gt_pftrace_activity_tables(trace, &options, tables, markdown);
    return true;
}

/* Called by its old name, the command treats named agents like TraceLens. */
static bool make_copy_sheets(const gt_trace_call *call, const gt_chrome *trace, gt_table_list *tables,
                             gt_buffer *markdown, gt_error *error)
{
    (void)markdown;
    (void)error;
    gt_pftrace_copy_tables(trace, call->call->by_old_name, tables);
    return true;
}

/* ---- the report ---- */

static char *markdown_path(const gt_trace_call *call)
{
    const gt_arguments *arguments = &call->call->arguments;
    const char *path = gt_arguments_string(arguments, "output_md_path");
    if (path) return gt_strdup(path);
    return gt_arguments_flag(arguments, "write_md") ? gt_default_path(call->path, "_report.md") : NULL;
}

static bool make_and_write(const gt_trace_call *call, const gt_chrome *trace, sheet_maker *make,
                           char *md_path, gt_error *error)
{
    gt_table_list tables = {0};
    gt_buffer markdown = {0};
    gt_output *output = NULL;
    if (make(call, trace, &tables, md_path ? &markdown : NULL, error)) {
        for (size_t i = 0; i < tables.count; i++)
            gt_journal_info("  - %s (%zu rows)", tables.items[i]->name, tables.items[i]->row_count);
        gt_destinations to = *call->destinations;
        to.text_path = md_path;
        to.text = gt_buffer_str(&markdown);
        output = gt_destinations_write(&to, call->path, &tables, error);
    }
    if (output && gt_trace_is_shown(call)) {
        gt_pftrace_print_summary(stdout, trace, &tables);
        gt_trace_show_files(stdout, output);
    }
    bool made = output != NULL;
    gt_output_free(output);
    gt_table_list_free(&tables);
    gt_buffer_free(&markdown);
    return made;
}

static bool make_report(const gt_trace_call *call, sheet_maker *make, const char *loading,
                        const char *failing, gt_error *error)
{
    gt_journal_info("%s: %s", loading, call->path);
    gt_chrome *trace = gt_chrome_read(call->stream, call->read, error);
    if (!trace) {
        if (failing) gt_journal_error("%s: %s", failing, error->text);
        return false;
    }
    gt_journal_info("  Found %zu trace events", gt_store_records(trace->store));
    char *md_path = make == make_activity_sheets ? markdown_path(call) : NULL;
    bool made = make_and_write(call, trace, make, md_path, error);
    gt_free(md_path);
    gt_chrome_free(trace);
    return made;
}

static bool api_report(const gt_trace_call *call, gt_error *error)
{
    return make_report(call, make_api_sheets, "Loading Perfetto-style trace from", "Error loading trace data",
                       error);
}

static bool activity_report(const gt_trace_call *call, gt_error *error)
{
    return make_report(call, make_activity_sheets, "Loading Perfetto-style trace from", "Error loading trace",
                       error);
}

static bool copy_report(const gt_trace_call *call, gt_error *error)
{
    return make_report(call, make_copy_sheets, "Loading trace from", NULL, error);
}

static gt_exit run(const gt_call *call, gt_report_maker *make)
{
    const char *path = gt_arguments_value(&call->arguments, "trace_path")->text;
    return gt_each_trace(call, &path, 1, make);
}

gt_exit gt_cmd_pftrace_hip_api(const gt_call *call)
{
    const char *pattern = gt_arguments_string(&call->arguments, "exclude_kernel_regex");
    gt_python_regex regex = {0};
    gt_error why, error;
    if (pattern && !gt_python_regex_compile(&regex, pattern, &why)) {
        bad_pattern(pattern, &why, &error);
        return gt_usage_error(call->program, "%s", error.text);
    }
    gt_python_regex_free(&regex);
    return run(call, api_report);
}

gt_exit gt_cmd_pftrace_hip_activity(const gt_call *call)
{
    return run(call, activity_report);
}

gt_exit gt_cmd_pftrace_memory_copy(const gt_call *call)
{
    return run(call, copy_report);
}
