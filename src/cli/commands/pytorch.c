/* `gputally pytorch`: the report on a PyTorch trace. */
#include "cli/commands/commands.h"

#include "os/paths.h"
#include "report/pytorch/phase_plots.h"

static const gt_option input_options[] = {
    {"profile_json_path", GT_OPTION_STRING, "FILE", NULL, "read this trace (same as FILE)"},
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option pytorch_sheets_options[] = {
    {"enable_kernel_summary", GT_OPTION_FLAG, NULL, NULL,
     "add the sheet kernel_summary (the default of `gputally report`)"},
    {"topk_ops", GT_OPTION_INT, "N", NULL, "keep only the first N rows of ops_unique_args", .minimum = "0"},
    {"topk_roofline_ops", GT_OPTION_INT, "N", NULL, "keep only the first N rows of each category sheet",
     .minimum = "0"},
    {"topk_short_kernels", GT_OPTION_INT, "N", NULL, "keep only the first N rows of short_kernels_summary",
     .minimum = "0", .needs = "short_kernel_study"},
    {"disable_coll_analysis", GT_OPTION_FLAG, NULL, NULL, "omit the sheet coll_analysis"},
    {"group_by_num_kernels", GT_OPTION_FLAG, NULL, NULL,
     "group ops also by the number of kernels they launched"},
    {"include_unlinked_kernels", GT_OPTION_FLAG, NULL, NULL,
     "include GPU events without a launch in the timeline (the default of `gputally report`)"},
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
     "split idle_time into micro_idle_time (gaps shorter than N microseconds) and macro_idle_time",
     .minimum = "0"},
    {"legacy_sheet_names", GT_OPTION_FLAG, NULL, NULL,
     "use the old names of sheets: ops_all, short_kernels_histogram, short_kernels_all_details"},
};
const gt_option_group gt_pytorch_sheets_group = {"PyTorch sheets", pytorch_sheets_options,
                                                 GT_LENGTH(pytorch_sheets_options)};

#define ROOFLINE_OPTIONS(default_gpu, peaks_need)                                                            \
    {"gpu_arch_platform",                                                                                    \
     GT_OPTION_STRING,                                                                                       \
     "NAME",                                                                                                 \
     NULL,                                                                                                   \
     "add roofline columns for a built-in GPU, such as MI300X" default_gpu,                                  \
     .choices = "@gpus|"},                                                                                   \
        {"gpu_peaks",                                                                                        \
         GT_OPTION_STRING,                                                                                   \
         "SET",                                                                                              \
         NULL,                                                                                               \
         "use these rates of the built-in GPU: peak, achievable (by well-tuned GEMMs, where known) or "      \
         "tracelens (default: peak for report, tracelens for pytorch)",                                      \
         .needs = peaks_need,                                                                                \
         .choices = GT_PEAK_SET_CHOICES},                                                                    \
        {"gpu_arch_json_path", GT_OPTION_STRING, "FILE", NULL,                                               \
         "read the GPU's peak rates from FILE and add roofline columns"},                                    \
        {"python_path",                                                                                      \
         GT_OPTION_STRING,                                                                                   \
         "PATH",                                                                                             \
         NULL,                                                                                               \
         "run the GEMM simulator at GEMM_SIMULATOR_PATH with this Python and add simulated times; also the " \
         "Python of --extension_file",                                                                       \
         .needs = "$GEMM_SIMULATOR_PATH,extension_file"},                                                    \
    {                                                                                                        \
        "enable_origami", GT_OPTION_FLAG, NULL, NULL, "add the times of GEMMs that Origami simulates",       \
            .unused = "built without Origami, so there are no simulated times"                               \
    }

static const gt_option pytorch_roofline_options[] = {ROOFLINE_OPTIONS("", "gpu_arch_platform")};
static const gt_option report_roofline_options[] = {
    ROOFLINE_OPTIONS(" (default: the GPU that the trace names)", NULL)};
const gt_option_group gt_pytorch_roofline_group = {
    "PyTorch roofline and simulation", pytorch_roofline_options, GT_LENGTH(pytorch_roofline_options)};
const gt_option_group gt_report_roofline_group = {"PyTorch roofline and simulation", report_roofline_options,
                                                  GT_LENGTH(report_roofline_options)};

static const gt_option pytorch_comparison_options[] = {
    {"comparison_json_path", GT_OPTION_STRING, "FILE", NULL,
     "compare with a second trace: add the sheet diff_stats and columns in unified_perf_summary"},
    {"extension_file", GT_OPTION_STRING, "FILE", NULL,
     "load your own ops, models, categories or sheets from a Python file (docs/extensions.md)"},
    {"extension_timeout", GT_OPTION_INT, "SECONDS", "600",
     "stop the extension, or a run of the GEMM simulator, after SECONDS; 0: never",
     .needs = "extension_file,$GEMM_SIMULATOR_PATH"},
};
const gt_option_group gt_pytorch_comparison_group = {
    "PyTorch comparison and extensions", pytorch_comparison_options, GT_LENGTH(pytorch_comparison_options)};

#define PHASE_OPTIONS(default_method)                                                                        \
    {"inference_phase_analysis", GT_OPTION_FLAG, NULL, NULL,                                                 \
     "add the sheets ops_summary_prefill and ops_summary_decode; with --enable_kernel_summary also "         \
     "kernel_summary_prefill and kernel_summary_decode; with the method auto also inference_phases"},        \
        {"phase_detection_method",                                                                           \
         GT_OPTION_STRING,                                                                                   \
         "NAME",                                                                                             \
         default_method,                                                                                     \
         "detect phases by hybrid, kernel_names, operation_frequency, framework_apis, attention_patterns, "  \
         "gemm_params, union, or auto: step annotations of vLLM, SGLang and ATOM, then query lengths and "   \
         "GEMM sizes of each step, then names",                                                              \
         .choices = GT_PHASE_METHOD_CHOICES},                                                                \
    {                                                                                                        \
        "decode_threshold", GT_OPTION_INT, "N", "10",                                                        \
            "treat GEMMs with M above N as prefill (gemm_params, union; auto if the batch size is unknown)", \
            .needs = "phase_detection_method=gemm_params,phase_detection_method=union,"                      \
                     "phase_detection_method=auto"                                                           \
    }

static const gt_option pytorch_phases_options[] = {PHASE_OPTIONS("hybrid")};
static const gt_option report_phases_options[] = {PHASE_OPTIONS("auto")};
const gt_option_group gt_pytorch_phases_group = {"PyTorch inference phases", pytorch_phases_options,
                                                 GT_LENGTH(pytorch_phases_options),
                                                 .needs = "inference_phase_analysis"};
const gt_option_group gt_report_phases_group = {"PyTorch inference phases", report_phases_options,
                                                GT_LENGTH(report_phases_options),
                                                .needs = "inference_phase_analysis"};

static const gt_option pytorch_plots_options[] = {
    {"generate_plots", GT_OPTION_FLAG, NULL, NULL,
     "draw plots of the phases into the folder inference_plots of --output_csvs_dir, or next to the workbook "
     "or database (NAME_inference_plots)"},
    {"plot_format", GT_OPTION_STRING, "FORMAT", "png", "write plots as png, pdf or svg",
     .needs = "generate_plots", .choices = GT_PLOT_FORMAT_CHOICES},
    {"plot_dpi", GT_OPTION_INT, "N", "300", "draw N dots per inch (png)",
     .needs = "generate_plots&plot_format=png"},
    {"disable_plots", GT_OPTION_FLAG, NULL, NULL, "draw no plots, also with --generate_plots",
     .needs = "generate_plots"},
};
const gt_option_group gt_pytorch_plots_group = {"Plots of PyTorch inference phases", pytorch_plots_options,
                                                GT_LENGTH(pytorch_plots_options),
                                                .needs = "inference_phase_analysis"};

static const gt_option pytorch_unused_options[] = {
    {"inductor_cache_dir", GT_OPTION_STRING, "DIR", NULL, "use a Triton cache folder",
     .unused = "Triton kernels are read from the trace"},
};
const gt_option_group gt_pytorch_unused_group = {"Accepted for compatibility, no effect",
                                                 pytorch_unused_options, GT_LENGTH(pytorch_unused_options)};

static const gt_option pytorch_findings_options[] = {
    {"findings", GT_OPTION_FLAG, NULL, NULL,
     "add findings, causes of idle time and a verdict on the trace (docs/findings.md), as `gputally report` "
     "does"},
};
static const gt_option_group pytorch_findings_group = {"Findings", pytorch_findings_options,
                                                       GT_LENGTH(pytorch_findings_options)};

const gt_option_alias gt_pytorch_aliases[] = {{"seed_sheet_names", "legacy_sheet_names"}, {0}};

const gt_syntax gt_pytorch_syntax = {
    .groups = {&input_group, &pytorch_findings_group, &gt_pytorch_sheets_group, &gt_pytorch_roofline_group,
               &gt_pytorch_comparison_group, &gt_pytorch_phases_group, &gt_pytorch_plots_group,
               &gt_communication_group, &gt_extra_group, &gt_short_kernel_group, &gt_extra_sheets_group,
               &gt_output_group, &gt_page_group, &gt_pytorch_unused_group, &gt_index_group, &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "enable_kernel_summary", "short_kernel_study",
                     "gpu_arch_platform"},
    .aliases = gt_pytorch_aliases,
    .files = "FILE",
    .file_endings = GT_PYTORCH_ENDINGS,
    .file_option = "profile_json_path",
    .files_max = 1,
    .output_option = "output_xlsx_path",
};

/* ---- checks ---- */

/* The format of a name, which the option table has checked. */
static gt_figure_format format_named(const char *text)
{
    size_t i = 0;
    while (i + 1 < GT_FIGURE_FORMATS && strcmp(text, gt_figure_format_name((gt_figure_format)i)) != 0) i++;
    return (gt_figure_format)i;
}

static gt_exit check_phase_options(const gt_call *call)
{
    if (!gt_syntax_option(call->arguments.syntax, "plot_dpi")) return GT_EXIT_DONE; /* without plots */
    int64_t dpi = gt_arguments_int(&call->arguments, "plot_dpi");
    if (dpi < GT_FIGURE_DPI_MIN || dpi > GT_FIGURE_DPI_MAX)
        return gt_usage_error(call->program, "argument --plot_dpi: must be between %d and %d",
                              GT_FIGURE_DPI_MIN, GT_FIGURE_DPI_MAX);
    return GT_EXIT_DONE;
}

gt_exit gt_pytorch_check(const gt_call *call)
{
    if (gt_gpu_options_check(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    if (gt_communication_check(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    if (gt_arguments_int(&call->arguments, "extension_timeout") < 0)
        return gt_usage_error(call->program, "argument --extension_timeout: must not be negative");
    if (gt_arguments_flag_if(&call->arguments, "linked_kernels_only") &&
        gt_arguments_flag(&call->arguments, "include_unlinked_kernels"))
        return gt_usage_error(call->program, "argument --linked_kernels_only: not allowed with argument "
                                             "--include_unlinked_kernels");
    return check_phase_options(call);
}

/* ---- the report ---- */

void gt_pytorch_note_tree(const gt_report *report)
{
    const char *with_python = gt_pytorch_needs_python(&report->options.pytorch) ? "True" : "False";
    gt_journal_print("Building tree with add_python_func=%s", with_python);
    gt_journal_print("Building CPU op tree with add_python_func=%s", with_python);
}

/* The folder of the plots, where TraceLens writes them. The caller frees it. */
static char *plots_folder(const gt_destinations *to)
{
    if (to->csvs_dir)
        return gt_format("%s%sinference_plots", to->csvs_dir,
                         to->csvs_dir[strlen(to->csvs_dir) - 1] == '/' ? "" : "/");
    const char *const documents[] = {to->xlsx_path, to->db_path, to->json_path, to->md_path, to->html_path};
    const char *path = "";
    for (size_t i = GT_LENGTH(documents); i-- > 0;)
        if (documents[i]) path = documents[i];
    const char *dot = strrchr(gt_path_name(path), '.');
    return gt_format("%.*s_inference_plots", dot ? (int)(dot - path) : (int)strlen(path), path);
}

static bool draw_plots(const void *context, const gt_table_list *tables, gt_output *output, gt_error *error)
{
    const gt_trace_call *trace = context;
    const gt_arguments *arguments = &trace->call->arguments;
    if (!gt_arguments_flag(arguments, "inference_phase_analysis") ||
        !gt_arguments_flag(arguments, "generate_plots") || gt_arguments_flag(arguments, "disable_plots"))
        return true;
    gt_figure_format format = format_named(gt_arguments_value(arguments, "plot_format")->text);
    char *folder = plots_folder(trace->destinations);
    bool drawn = gt_phase_plots_draw(tables, folder, (gt_figure_format)format,
                                     gt_arguments_int(arguments, "plot_dpi"), output, error);
    gt_free(folder);
    return drawn;
}

bool gt_pytorch_report(const gt_trace_call *trace, gt_error *error)
{
    static const gt_report_hooks hooks = {.was_read = gt_pytorch_note_tree, .write_more = draw_plots};
    return gt_trace_make_report(trace, GT_TRACE_PYTORCH, &hooks, error);
}

gt_exit gt_cmd_pytorch(const gt_call *call)
{
    if (gt_pytorch_check(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    const char *trace_path = gt_arguments_value(&call->arguments, "profile_json_path")->text;
    return gt_each_trace(call, &trace_path, 1, gt_pytorch_report);
}
