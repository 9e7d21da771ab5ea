/* `gputally report`: detects the format of each trace and writes the matching report. */
#include "cli/commands/commands.h"

#include "base/memory.h"
#include "cli/common.h"

#include <stdio.h>

static const gt_option report_options[] = {
    {"linked_kernels_only", GT_OPTION_FLAG, NULL, NULL,
     "count only GPU events with a launch in the timeline of a PyTorch trace, as `gputally pytorch` does"},
};
static const gt_option_group report_group = {"PyTorch timeline", report_options, GT_LENGTH(report_options)};

/* Options of one kind of report are ignored by the others; shared options mean the same in each. */
const gt_syntax gt_report_syntax = {
    .groups = {&gt_pytorch_sheets_group, &report_group, &gt_pytorch_phases_group, &gt_pytorch_roofline_group,
               &gt_pytorch_comparison_group, &gt_communication_group, &gt_extra_group, &gt_rocprof_group,
               &gt_jax_group, &gt_short_kernel_group, &gt_extra_sheets_group, &gt_output_group,
               &gt_pytorch_unused_group, &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "output_db", "enable_kernel_summary",
                     "short_kernel_study"},
    .aliases = gt_pytorch_aliases,
    .files = "FILE...",
    .files_max = SIZE_MAX,
    .folders = true,
    .output_option = "output_xlsx_path",
    .best_defaults = true,
};

static bool make_matching_report(const gt_trace_call *trace, gt_error *error)
{
    static gt_report_maker *const makers[] = {[GT_TRACE_ROCPROF] = gt_rocprof_report,
                                              [GT_TRACE_PYTORCH] = gt_pytorch_report,
                                              [GT_TRACE_JAX] = gt_jax_report};
    gt_trace_kind kind = GT_TRACE_ROCPROF; /* of a folder: see gt_report_find_traces */
    if (trace->stream && !gt_report_detect(trace->stream, &kind, error)) return false;
    return makers[kind](trace, error);
}

gt_exit gt_cmd_report(const gt_call *call)
{
    if (gt_pytorch_check(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    if (gt_arguments_flag(&call->arguments, "linked_kernels_only") &&
        gt_arguments_flag(&call->arguments, "include_unlinked_kernels"))
        return gt_usage_error(call->program, "argument --linked_kernels_only: not allowed with argument "
                                             "--include_unlinked_kernels");
    gt_error error;
    gt_profile_list traces = {0};
    gt_exit status = GT_EXIT_FAILED;
    bool found = true;
    for (size_t i = 0; found && i < call->arguments.file_count; i++)
        found = gt_report_find_traces(&traces, call->arguments.files[i], &error);
    if (found)
        status = gt_each_trace(call, (const char *const *)traces.paths, traces.count, make_matching_report);
    else
        fprintf(stderr, "gputally: %s\n", error.text);
    gt_profiles_free(&traces);
    return status;
}
