/* `gputally rocprof`: reads what rocprofv3 wrote, in any of its formats, makes its sheets, writes them, shows
 * a summary. */
#include "cli/commands/rocprof.h"
#include "base/length.h"
#include "cli/common.h"
#include "cli/journal.h"
#include "cli/traces.h"
#include "input/rocprof/rocprof.h"
#include "output/terminal.h"
#include "report/rocprof.h"

#include <inttypes.h>
#include <stdio.h>

static const gt_option input_options[] = {
    {"profile_json_path", GT_OPTION_STRING, "FILE", NULL,
     "read this rocprofv3 output: *_results.json, *_results.db, *_results.pftrace, a CSV file, or a folder "
     "of them (same as FILE)"},
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option report_options[] = {
    {"kernel_details", GT_OPTION_FLAG, NULL, NULL,
     "add the sheet kernel_details: every dispatch with its grid and block sizes"},
    {"topk_kernels", GT_OPTION_INT, "K", NULL, "keep only the K longest dispatches in kernel_details"},
    {"disable_kernel_summary", GT_OPTION_FLAG, NULL, NULL,
     "omit the sheets kernel_summary and kernel_summary_by_category"},
    {"no_extra_sheets", GT_OPTION_FLAG, NULL, NULL,
     "omit sheets that TraceLens does not have: API calls, memory copies, counters, agents, processes"},
    {"all_processes", GT_OPTION_FLAG, NULL, NULL,
     "read all processes of a JSON file, not only the first (other formats: always all)"},
};
const gt_option_group gt_rocprof_group = {"rocprofv3 sheets", report_options, GT_LENGTH(report_options)};

const gt_syntax gt_rocprof_syntax = {
    .groups = {&input_group, &gt_rocprof_group, &gt_short_kernel_group, &gt_output_group, &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "kernel_details", "topk_kernels",
                     "short_kernel_study"},
    .files = "FILE",
    .file_option = "profile_json_path",
    .files_max = 1,
    .folders = true,
};

static gt_rocprof_options sheets_wanted(const gt_call *call)
{
    const gt_arguments *arguments = &call->arguments;
    return (gt_rocprof_options){
        .extra_sheets = !call->by_old_name && !gt_arguments_flag(arguments, "no_extra_sheets"),
        .kernel_summary = !gt_arguments_flag(arguments, "disable_kernel_summary"),
        .kernel_details = gt_arguments_flag(arguments, "kernel_details"),
        .short_kernel_study = gt_arguments_flag(arguments, "short_kernel_study"),
        .short_threshold_us = gt_arguments_int(arguments, "short_kernel_threshold_us"),
        .short_bins = gt_arguments_int(arguments, "short_kernel_histogram_bins"),
        .limit_details = gt_arguments_value(arguments, "topk_kernels")->given,
        .topk_kernels = gt_arguments_int(arguments, "topk_kernels"),
    };
}

static void note_what_was_read(const gt_rocprof *run)
{
    gt_journal_info("Extracting kernel events...");
    gt_journal_info("  Found %zu kernel dispatches", gt_store_count(run->dispatches));
    gt_journal_info("Extracting memory events...");
    gt_journal_info("  Found %zu memory operations", gt_store_count(run->copies));
    gt_journal_info("Extracting API events...");
    gt_journal_info("  Found %" PRIu64 " API calls", run->api_calls);
    gt_journal_info("  PID: %" PRId64 ", Hostname: %s", run->pid,
                    gt_interner_get(run->strings, run->hostname).bytes);
}

static void note_what_is_made(const gt_rocprof_options *wanted)
{
    gt_journal_info("Generating performance analysis...");
    gt_journal_info("  - GPU timeline");
    if (wanted->kernel_summary) {
        gt_journal_info("  - Kernel summary");
        gt_journal_info("  - Kernel summary by category");
    }
    if (wanted->kernel_details) gt_journal_info("  - Kernel details");
    if (wanted->short_kernel_study)
        gt_journal_info("  - Short kernels (threshold: %" PRId64 " µs)", wanted->short_threshold_us);
}

static void show(const gt_rocprof *run, const gt_table_list *tables, const gt_output *output)
{
    gt_terminal terminal = gt_terminal_for(stdout);
    gt_rocprof_print_summary(stdout, run, tables, (int)terminal.width, terminal.utf8);
    gt_trace_show_files(output);
}

static bool make_report(const gt_trace_call *trace, gt_rocprof *run, gt_error *error)
{
    gt_rocprof_options wanted = sheets_wanted(trace->call);
    gt_table_list tables = {0};
    note_what_was_read(run);
    note_what_is_made(&wanted);
    gt_output *output = NULL;
    if (!gt_rocprof_tables(run, &wanted, &tables, error)) {
        gt_error_prefix(error, gt_trace_title(trace->path));
    } else {
        output = gt_destinations_write(trace->destinations, trace->path, &tables, error);
        if (output && gt_trace_is_shown(trace)) show(run, &tables, output);
    }
    bool made = output != NULL;
    gt_output_free(output);
    gt_table_list_free(&tables);
    return made;
}

bool gt_rocprof_report(const gt_trace_call *trace, gt_error *error)
{
    gt_journal_info("Loading rocprofv3 data from: %s", trace->path);
    gt_rocprof_options sheets = sheets_wanted(trace->call);
    gt_read_options read = *trace->read;
    read.wanted = gt_rocprof_options_wanted(&sheets);
    if (gt_arguments_flag(&trace->call->arguments, "all_processes")) read.wanted |= GT_WANT_ALL_PROCESSES;
    gt_rocprof *run = trace->stream ? gt_rocprof_read(trace->stream, trace->path, &read, error)
                                    : gt_rocprof_read_folder(trace->path, &read, error);
    if (!run) {
        gt_journal_error("Error loading rocprof data: %s", error->text);
        return false;
    }
    bool made = make_report(trace, run, error);
    gt_rocprof_free(run);
    return made;
}

gt_exit gt_cmd_rocprof(const gt_call *call)
{
    const char *trace_path = gt_arguments_value(&call->arguments, "profile_json_path")->text;
    return gt_each_trace(call, &trace_path, 1, gt_rocprof_report);
}
