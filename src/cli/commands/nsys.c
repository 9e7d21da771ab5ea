/* `gputally nsys`: the report on an export of Nsight Systems. */
#include "cli/commands/commands.h"

static const gt_option report_options[] = {
    {"kernel_details", GT_OPTION_FLAG, NULL, NULL,
     "add the sheet kernel_details: every kernel with its grid, in blocks, and block sizes"},
    {"topk_kernels", GT_OPTION_INT, "K", NULL, "keep only the K longest kernels in kernel_details",
     .minimum = "0", .needs = "kernel_details"},
    {"disable_kernel_summary", GT_OPTION_FLAG, NULL, NULL,
     "omit the sheets kernel_summary and kernel_summary_by_category"},
    {"full_kernel_names", GT_OPTION_FLAG, NULL, NULL,
     "show demangled names (same as --kernel_names demangled)"},
};
static const gt_option_group report_group = {"Sheets", report_options, GT_LENGTH(report_options)};

static const gt_option name_options[] = {
    {"kernel_names", GT_OPTION_STRING, "KIND", NULL,
     "show these names of kernels: short (the default of `gputally nsys`), demangled (with arguments and "
     "template parameters; the default of `gputally report`) or, of an Nsight Systems export, mangled",
     .choices = "short|demangled|mangled"},
};
const gt_option_group gt_nsys_group = {"Names of kernels", name_options, GT_LENGTH(name_options)};

const gt_syntax gt_nsys_syntax = {
    .groups = {&report_group, &gt_nsys_group, &gt_communication_group, &gt_short_kernel_group,
               &gt_extra_sheets_group, &gt_output_group, &gt_page_group, &gt_index_group, &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "kernel_details", "topk_kernels", "kernel_names"},
    .files = "FILE",
    .file_endings = "sqlite,gtindex",
    .files_max = 1,
    .output_option = "output_xlsx_path",
};

bool gt_nsys_report(const gt_trace_call *trace, gt_error *error)
{
    static const gt_report_hooks hooks = {0};
    return gt_trace_make_report(trace, GT_TRACE_NSYS, &hooks, error);
}

gt_exit gt_cmd_nsys(const gt_call *call)
{
    if (gt_communication_check(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    return gt_each_trace(call, call->arguments.files, call->arguments.file_count, gt_nsys_report);
}
