/* `gputally pytorch-inference`: the report on the trace of an inference server, with captures of its graphs.
 */
#include "cli/commands/commands.h"

static const gt_option input_options[] = {
    {"profile_json_path", GT_OPTION_STRING, "FILE", NULL, "read this trace (same as FILE)"},
    {"capture_folder", GT_OPTION_STRING, "DIR", NULL,
     "merge the graph-capture traces of DIR into the trace; writes DIR/execution_details.json unless it is "
     "there"},
    {"comparison_capture_folder", GT_OPTION_STRING, "DIR", NULL,
     "merge those of DIR into the trace of --comparison_json_path"},
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option sheets_options[] = {
    {"enable_kernel_summary", GT_OPTION_FLAG, NULL, NULL, "add the sheet kernel_summary"},
    {"group_by_parent_module", GT_OPTION_FLAG, NULL, NULL,
     "group ops also by the nn.Module that called them"},
    {"group_by_num_kernels", GT_OPTION_FLAG, NULL, NULL,
     "group ops also by the number of kernels they launched"},
    {"topk_ops", GT_OPTION_INT, "N", NULL, "keep only the first N rows of ops_unique_args", .minimum = "0"},
    {"topk_roofline_ops", GT_OPTION_INT, "N", NULL, "keep only the first N rows of each category sheet",
     .minimum = "0"},
    {"topk_short_kernels", GT_OPTION_INT, "N", NULL, "keep only the first N rows of short_kernels_summary",
     .minimum = "0", .needs = "short_kernel_study"},
    {"include_unlinked_kernels", GT_OPTION_FLAG, NULL, NULL,
     "include GPU events without a launch in the timeline"},
    {"include_overlap_info", GT_OPTION_FLAG, NULL, NULL,
     "add the *_kl_overlap sheets: kernels that ran at the same time on other streams"},
    {"include_call_stack", GT_OPTION_FLAG, NULL, NULL, "add call stacks to unified_perf_summary"},
    {"enable_pseudo_ops", GT_OPTION_FLAG, NULL, NULL,
     "recognise fused ops of inference frameworks by their kernel names"},
    {"micro_idle_thresh_us", GT_OPTION_INT, "N", NULL,
     "split idle_time into micro_idle_time (gaps shorter than N microseconds) and macro_idle_time",
     .minimum = "0"},
};
static const gt_option_group sheets_group = {"Sheets", sheets_options, GT_LENGTH(sheets_options)};

static const gt_option unused_options[] = {
    {"disable_coll_analysis", GT_OPTION_FLAG, NULL, NULL, "omit the sheet coll_analysis",
     .unused = "this report has no sheet coll_analysis"},
};
static const gt_option_group unused_group = {"Accepted for compatibility, no effect", unused_options,
                                             GT_LENGTH(unused_options)};

const gt_syntax gt_pytorch_inference_syntax = {
    .groups = {&input_group, &sheets_group, &gt_pytorch_roofline_group, &gt_pytorch_comparison_group,
               &gt_communication_group, &gt_short_kernel_group, &gt_extra_sheets_group, &gt_output_group,
               &unused_group, &gt_index_group, &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "capture_folder", "group_by_parent_module",
                     "enable_kernel_summary"},
    .files = "FILE",
    .file_endings = GT_PYTORCH_ENDINGS,
    .file_option = "profile_json_path",
    .files_max = 1,
    .output_option = "output_xlsx_path",
    .inference_defaults = true,
};

/* TraceLens prints this check on standard output, between its other lines. */
static void print_check(const gt_trace_call *trace, const gt_report *report)
{
    if (gt_arguments_flag(&trace->call->arguments, "quiet")) return;
    fwrite(report->kernel_check.bytes, 1, report->kernel_check.len, trace->out);
}

static bool make_report(const gt_trace_call *trace, gt_error *error)
{
    static const gt_report_hooks hooks = {.was_read = gt_pytorch_note_tree, .was_made = print_check};
    return gt_trace_make_report(trace, GT_TRACE_PYTORCH, &hooks, error);
}

gt_exit gt_cmd_pytorch_inference(const gt_call *call)
{
    const gt_arguments *arguments = &call->arguments;
    if (gt_pytorch_check(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    if (gt_arguments_string(arguments, "comparison_capture_folder") &&
        !gt_arguments_string(arguments, "comparison_json_path"))
        return gt_usage_error(call->program, "--comparison_capture_folder requires --comparison_json_path.");
    const char *trace_path = gt_arguments_value(arguments, "profile_json_path")->text;
    return gt_each_trace(call, &trace_path, 1, make_report);
}
