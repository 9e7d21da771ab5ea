/* `gputally rocprof`: the report on a rocprofv3 run, and the log lines of the TraceLens program. */
#include "cli/commands/commands.h"

static const gt_option input_options[] = {
    {"profile_json_path", GT_OPTION_STRING, "FILE", NULL,
     "read this rocprofv3 output: *_results.json, *_results.db, *_results.pftrace, a CSV file, or a folder "
     "of them (same as FILE)"},
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option report_options[] = {
    {"kernel_details", GT_OPTION_FLAG, NULL, NULL,
     "add the sheet kernel_details: every dispatch with its grid and block sizes"},
    {"topk_kernels", GT_OPTION_INT, "K", NULL, "keep only the K longest dispatches in kernel_details",
     .minimum = "0", .needs = "kernel_details"},
    {"disable_kernel_summary", GT_OPTION_FLAG, NULL, NULL,
     "omit the sheets kernel_summary and kernel_summary_by_category (in `gputally report` also of a PyTorch "
     "trace)"},
    {"all_processes", GT_OPTION_FLAG, NULL, NULL,
     "read all processes of a JSON file, not only the first (other formats: always all)"},
    {"full_kernel_names", GT_OPTION_FLAG, NULL, NULL,
     "show the full names of kernels, with arguments and template parameters, so that kernels with the same "
     "short name get rows of their own (the default of `gputally report`)"},
};
const gt_option_group gt_rocprof_group = {"rocprofv3 sheets", report_options, GT_LENGTH(report_options)};

const gt_syntax gt_rocprof_syntax = {
    .groups = {&input_group, &gt_rocprof_group, &gt_communication_group, &gt_short_kernel_group,
               &gt_extra_sheets_group, &gt_output_group, &gt_page_group, &gt_index_group, &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "kernel_details", "topk_kernels",
                     "short_kernel_study"},
    .files = "FILE",
    .file_endings = GT_ROCPROF_ENDINGS,
    .file_option = "profile_json_path",
    .files_max = 1,
    .folders = true,
    .output_option = "output_xlsx_path",
};

/* Lines of the TraceLens program, printed only under its name (cli/journal.h). */
static void log_input(const gt_rocprof *run)
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

static void log_sheets(const gt_rocprof_options *wanted)
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

static void log_report(const gt_report *report)
{
    if (!report->trace.rocprof) return; /* from an index, which the TraceLens program does not have */
    log_input(report->trace.rocprof);
    log_sheets(&report->options.rocprof);
}

static void note_failure(const gt_error *error)
{
    gt_journal_error("Error loading rocprof data: %s", error->text);
}

bool gt_rocprof_report(const gt_trace_call *trace, gt_error *error)
{
    static const gt_report_hooks hooks = {.read_failed = note_failure, .was_read = log_report};
    gt_journal_info("Loading rocprofv3 data from: %s", trace->path);
    return gt_trace_make_report(trace, GT_TRACE_ROCPROF, &hooks, error);
}

gt_exit gt_cmd_rocprof(const gt_call *call)
{
    if (gt_communication_check(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    const char *trace_path = gt_arguments_value(&call->arguments, "profile_json_path")->text;
    return gt_each_trace(call, &trace_path, 1, gt_rocprof_report);
}
