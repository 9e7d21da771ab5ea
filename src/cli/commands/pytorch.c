/* `gputally pytorch`: reads a PyTorch trace, makes its sheets, writes them, shows a summary. */
#include "cli/commands/pytorch.h"
#include "base/length.h"
#include "base/log.h"
#include "cli/common.h"
#include "cli/inputs/extra.h"
#include "cli/journal.h"
#include "cli/inputs/phase_options.h"
#include "input/chrome/kineto.h"
#include "output/terminal.h"
#include "report/pytorch.h"

#include <stdio.h>
#include <string.h>

static const gt_option input_options[] = {
    {"profile_json_path", GT_OPTION_STRING, "FILE", NULL, "read this trace (same as FILE)"},
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option pytorch_sheets_options[] = {
    {"enable_kernel_summary", GT_OPTION_FLAG, NULL, NULL, "add the sheet kernel_summary"},
    {"topk_ops", GT_OPTION_INT, "N", NULL, "keep only the first N rows of ops_unique_args"},
    {"topk_roofline_ops", GT_OPTION_INT, "N", NULL, "keep only the first N rows of each category sheet"},
    {"topk_short_kernels", GT_OPTION_INT, "N", NULL, "keep only the first N rows of short_kernels_summary"},
    {"disable_coll_analysis", GT_OPTION_FLAG, NULL, NULL, "omit the sheet coll_analysis"},
    {"group_by_num_kernels", GT_OPTION_FLAG, NULL, NULL,
     "group ops also by the number of kernels they launched"},
    {"include_unlinked_kernels", GT_OPTION_FLAG, NULL, NULL,
     "include GPU events without a launch in the timeline"},
    {"include_overlap_info", GT_OPTION_FLAG, NULL, NULL,
     "add the *_kl_overlap sheets: kernels that ran at the same time on other streams"},
    {"include_first_occurrence_time", GT_OPTION_FLAG, NULL, NULL,
     "add the column first_occurrence_time to ops_unique_args"},
    {"include_call_stack", GT_OPTION_FLAG, NULL, NULL, "add call stacks to unified_perf_summary"},
    {"detect_recompute", GT_OPTION_FLAG, NULL, NULL,
     "add is_recompute columns: ops recomputed by activation checkpointing"},
    {"enable_pseudo_ops", GT_OPTION_FLAG, NULL, NULL,
     "recognise fused ops of inference frameworks by their kernel names"},
    {"micro_idle_thresh_us", GT_OPTION_INT, "N", NULL,
     "split idle_time into micro_idle_time (gaps shorter than N microseconds) and macro_idle_time"},
    {"legacy_sheet_names", GT_OPTION_FLAG, NULL, NULL,
     "use the old names of three sheets: ops_all, short_kernels_histogram, short_kernels_all_details"},
};
const gt_option_group gt_pytorch_sheets_group = {"PyTorch sheets", pytorch_sheets_options,
                                                 GT_LENGTH(pytorch_sheets_options)};

static const gt_option pytorch_roofline_options[] = {
    {"gpu_arch_platform", GT_OPTION_STRING, "NAME", NULL,
     "add roofline columns for a built-in GPU, such as MI300X"},
    {"gpu_arch_json_path", GT_OPTION_STRING, "FILE", NULL,
     "read the GPU's peak rates from FILE and add roofline columns"},
    {"python_path", GT_OPTION_STRING, "PATH", NULL,
     "run the GEMM simulator at GEMM_SIMULATOR_PATH with this Python and add simulated times; also the "
     "Python of --extension_file"},
    {"enable_origami", GT_OPTION_FLAG, NULL, NULL,
     "warn that simulated times are unavailable (Origami is not built in)"},
};
const gt_option_group gt_pytorch_roofline_group = {
    "PyTorch roofline and simulation", pytorch_roofline_options, GT_LENGTH(pytorch_roofline_options)};

static const gt_option pytorch_comparison_options[] = {
    {"comparison_json_path", GT_OPTION_STRING, "FILE", NULL,
     "compare with a second trace: add the sheet diff_stats and columns in unified_perf_summary"},
    {"extension_file", GT_OPTION_STRING, "FILE", NULL,
     "load your own ops, models, categories or sheets from a Python file (docs/extensions.md)"},
};
const gt_option_group gt_pytorch_comparison_group = {
    "PyTorch comparison and extensions", pytorch_comparison_options, GT_LENGTH(pytorch_comparison_options)};

static const gt_option pytorch_phases_options[] = {
    {"inference_phase_analysis", GT_OPTION_FLAG, NULL, NULL,
     "add the sheets ops_summary_prefill and ops_summary_decode; with --enable_kernel_summary also "
     "kernel_summary_prefill and kernel_summary_decode"},
    {"phase_detection_method", GT_OPTION_STRING, "NAME", "hybrid",
     "detect phases by hybrid, kernel_names, operation_frequency, framework_apis, attention_patterns, "
     "gemm_params or union"},
    {"decode_threshold", GT_OPTION_INT, "N", "10",
     "treat GEMMs with M above N as prefill (gemm_params, union)"},
};
const gt_option_group gt_pytorch_phases_group = {"PyTorch inference phases", pytorch_phases_options,
                                                 GT_LENGTH(pytorch_phases_options)};

static const gt_option pytorch_unused_options[] = {
    {"inductor_cache_dir", GT_OPTION_STRING, "DIR", NULL,
     "accept a Triton cache folder; Triton kernels are read from the trace alone"},
    {"generate_plots", GT_OPTION_FLAG, NULL, NULL,
     "accept the request for plots of the phases; none are drawn"},
    {"disable_plots", GT_OPTION_FLAG, NULL, NULL, "accept that no plots are drawn; none are"},
    {"plot_format", GT_OPTION_STRING, "FORMAT", NULL, "accept png, pdf or svg; no plots are drawn"},
    {"plot_dpi", GT_OPTION_INT, "N", NULL, "accept a resolution; no plots are drawn"},
};
const gt_option_group gt_pytorch_unused_group = {"Accepted for compatibility, no effect",
                                                 pytorch_unused_options, GT_LENGTH(pytorch_unused_options)};

const gt_option_alias gt_pytorch_aliases[] = {{"seed_sheet_names", "legacy_sheet_names"}, {0}};

const gt_syntax gt_pytorch_syntax = {
    .groups = {&input_group, &gt_pytorch_sheets_group, &gt_pytorch_roofline_group,
               &gt_pytorch_comparison_group, &gt_pytorch_phases_group, &gt_extra_group,
               &gt_short_kernel_group, &gt_output_group, &gt_pytorch_unused_group, &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "enable_kernel_summary", "short_kernel_study",
                     "gpu_arch_platform"},
    .aliases = gt_pytorch_aliases,
    .files = "FILE",
    .file_option = "profile_json_path",
    .files_max = 1,
};

gt_exit gt_pytorch_check(const gt_call *call)
{
    if (gt_arguments_string(&call->arguments, "gpu_arch_json_path") &&
        gt_arguments_string(&call->arguments, "gpu_arch_platform"))
        return gt_usage_error(call->program,
                              "argument --gpu_arch_platform: not allowed with argument --gpu_arch_json_path");
    return gt_phase_options_check(call);
}

static gt_row_limit limit(const gt_arguments *arguments, const char *name)
{
    const gt_option_value *value = gt_arguments_value(arguments, name);
    return (gt_row_limit){value->given, value->number};
}

static gt_pytorch_options sheets_wanted(const gt_arguments *arguments)
{
    return (gt_pytorch_options){
        .include_unlinked_kernels = gt_arguments_flag(arguments, "include_unlinked_kernels"),
        .split_idle = gt_arguments_value(arguments, "micro_idle_thresh_us")->given,
        .micro_idle_us = gt_arguments_value(arguments, "micro_idle_thresh_us")->number,
        .coll_analysis = !gt_arguments_flag(arguments, "disable_coll_analysis"),
        .kernel_summary = gt_arguments_flag(arguments, "enable_kernel_summary"),
        .short_kernel_study = gt_arguments_flag(arguments, "short_kernel_study"),
        .short_threshold_us = gt_arguments_int(arguments, "short_kernel_threshold_us"),
        .short_bins = gt_arguments_int(arguments, "short_kernel_histogram_bins"),
        .topk_short_kernels = limit(arguments, "topk_short_kernels"),
        .topk_ops = limit(arguments, "topk_ops"),
        .topk_roofline_ops = limit(arguments, "topk_roofline_ops"),
        .group_by_num_kernels = gt_arguments_flag(arguments, "group_by_num_kernels"),
        .overlap_info = gt_arguments_flag(arguments, "include_overlap_info"),
        .detect_recompute = gt_arguments_flag(arguments, "detect_recompute"),
        .first_occurrence = gt_arguments_flag(arguments, "include_first_occurrence_time"),
        .call_stack = gt_arguments_flag(arguments, "include_call_stack"),
        .pseudo_ops = gt_arguments_flag(arguments, "enable_pseudo_ops"),
        .phases = gt_arguments_flag(arguments, "inference_phase_analysis"),
        .phase_options = gt_phase_options_read(arguments),
        .python_path = gt_arguments_string(arguments, "python_path"),
        .seed_names = gt_arguments_flag(arguments, "legacy_sheet_names"),
    };
}

static void show(const gt_pytorch_linked *trace, const gt_table_list *tables, const gt_output *output)
{
    gt_terminal terminal = gt_terminal_for(stdout);
    gt_pytorch_print_summary(stdout, trace, tables, (int)terminal.width, terminal.utf8);
    gt_trace_show_files(output);
}

static bool make_report(const gt_trace_call *call, gt_pytorch_linked *trace, const gt_pytorch_options *wanted,
                        gt_error *error)
{
    gt_table_list tables = {0};
    gt_output *output = NULL;
    if (!gt_pytorch_tables(trace, wanted, &tables, error)) {
        gt_error_prefix(error, gt_trace_title(call->path));
    } else {
        output = gt_destinations_write(call->destinations, call->path, &tables, error);
        if (output && gt_trace_is_shown(call)) show(trace, &tables, output);
    }
    bool made = output != NULL;
    gt_output_free(output);
    gt_table_list_free(&tables);
    return made;
}

/* Reads the second trace, if one is named. */
static bool read_comparison(const gt_trace_call *call, gt_kineto_options keep, gt_pytorch_options *wanted,
                            gt_error *error)
{
    const char *path = gt_arguments_string(&call->call->arguments, "comparison_json_path");
    if (!path) return true;
    gt_pytorch_read *events = gt_kineto_read(path, keep, call->read, error);
    if (!events) return false;
    if (gt_pytorch_read_view(events)->gpu_only) {
        gt_pytorch_read_free(events);
        return gt_fail(error, "%s: a trace without ops cannot be compared with", gt_trace_title(path));
    }
    wanted->comparison = gt_pytorch_link(gt_pytorch_build_tree(events));
    return true;
}

static bool read_and_report(const gt_trace_call *call, gt_pytorch_options *wanted, gt_error *error)
{
    gt_kineto_options keep = {.python_functions = gt_pytorch_needs_python(wanted)};
    gt_pytorch_read *events = gt_kineto_read_stream(call->stream, keep, call->read, error);
    if (!events) return false;
    bool made = read_comparison(call, keep, wanted, error);
    if (made) {
        const char *with_python = keep.python_functions ? "True" : "False";
        gt_journal_print("Building tree with add_python_func=%s", with_python);
        gt_journal_print("Building CPU op tree with add_python_func=%s", with_python);
        gt_pytorch_linked *trace = gt_pytorch_link(gt_pytorch_build_tree(events));
        made = make_report(call, trace, wanted, error);
        gt_pytorch_linked_free(trace);
    } else {
        gt_pytorch_read_free(events);
    }
    gt_pytorch_linked_free(wanted->comparison);
    return made;
}

bool gt_pytorch_report(const gt_trace_call *call, gt_error *error)
{
    const gt_arguments *arguments = &call->call->arguments;
    gt_pytorch_options wanted = sheets_wanted(arguments);
    wanted.extra = gt_extra_wanted(arguments, &wanted.extra_options);
    gt_extension_source extension = {.file = gt_arguments_string(arguments, "extension_file"),
                                     .trace_path = call->path,
                                     .python = wanted.python_path};
    if (extension.file) wanted.extension = &extension;
    if (extension.file && strcmp(call->path, "-") == 0)
        return gt_fail(error, "--extension_file: the extension reads the trace too, so it must be a file");
    gt_arena arena = {0};
    gt_gpu_arch own;
    if (gt_arguments_flag(arguments, "enable_origami"))
        gt_warn("--enable-origami: this program is built without the Origami library, so there are no "
                "simulated times");
    bool made = gt_gpu_arch_choose(gt_arguments_string(arguments, "gpu_arch_platform"),
                                   gt_arguments_string(arguments, "gpu_arch_json_path"), &arena, &own,
                                   &wanted.gpu_arch, error);
    extension.arch = wanted.gpu_arch;
    made = made && read_and_report(call, &wanted, error);
    gt_arena_free(&arena);
    return made;
}

gt_exit gt_cmd_pytorch(const gt_call *call)
{
    if (gt_pytorch_check(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    const char *trace_path = gt_arguments_value(&call->arguments, "profile_json_path")->text;
    return gt_each_trace(call, &trace_path, 1, gt_pytorch_report);
}
