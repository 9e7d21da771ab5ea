/* Which old names exist, and what does each start?
 *
 * Entry points of TraceLens are rows of the table of commands; this file adds madengine, the scripts and the
 * modules, under the paths that they have in their repositories. A script may also be called by its bare name
 * (`python generate_perf_report_pytorch.py`): people copied it out of the repository. */
#include "cli/command.h"
#include "cli/links/links.h"

/* TraceLens: a script with a bare name and a module of the package. */
#define MODULE(FOLDER, FILE, NAME)                                                                           \
    {FILE ".py", GT_OLD_PYTHON, NAME},                                                                       \
    {                                                                                                        \
        "TraceLens/" FOLDER "/" FILE ".py", GT_OLD_PYTHON, NAME                                              \
    }
#define REPORTING(FILE) MODULE("Reporting", FILE, "TraceLens_" FILE)
#define GEMMS           "scripts/gemm_analysis/"
#define SINGLE          "scripts/tracelens_single_config/"

static const gt_old_name scripts[] = {
    {"madengine", GT_OLD_LINK, "madengine"},
    {"TraceLens/__init__.py", GT_OLD_PACKAGE, NULL},
    {"TraceLens/Reporting/__init__.py", GT_OLD_PACKAGE, NULL},
    {"TraceLens/TraceUtils/__init__.py", GT_OLD_PACKAGE, NULL},
    REPORTING("generate_perf_report_pytorch"),
    REPORTING("generate_perf_report_pytorch_inference"),
    REPORTING("generate_perf_report_rocprof"),
    REPORTING("generate_perf_report_jax"),
    REPORTING("generate_perf_report_jax_analysis"),
    REPORTING("generate_perf_report_genesis"),
    REPORTING("generate_perf_report_pftrace_hip_api"),
    REPORTING("generate_perf_report_pftrace_hip_activity"),
    REPORTING("generate_perf_report_pftrace_memory_copy"),
    REPORTING("generate_multi_rank_collective_report_pytorch"),
    REPORTING("compare_perf_reports_pytorch"),
    REPORTING("compare_traces_jax_llama"),
    MODULE("TraceUtils", "split_inference_trace_annotation", "TraceLens_split_inference_trace"),
    MODULE("TraceUtils", "match_inference_trace_blocks", "match-blocks"),
    {"compare_perf_reports.py", GT_OLD_PYTHON, "TraceLens_compare_perf_reports_pytorch"},
    {"generate_perf_report.py", GT_OLD_PYTHON, "TraceLens_generate_perf_report"},
    {"examples/custom_workflows/generate_perf_report.py", GT_OLD_PYTHON, "TraceLens_generate_perf_report"},

    /* aorta */
    {GEMMS "run_train_various_channels.sh", GT_OLD_SHELL, "sweep run"},
    {GEMMS "run_tracelens_analysis.sh", GT_OLD_SHELL, "sweep report"},
    {GEMMS "rocprof_cu_only.yaml", GT_OLD_JOB_FILE, NULL},
    {GEMMS "rocprof_input.yaml", GT_OLD_JOB_FILE, NULL},
    {GEMMS "analyze_gemm_reports.py", GT_OLD_PYTHON, "sweep top"},
    {GEMMS "generate_rocprof_yaml_from_csv.py", GT_OLD_PYTHON, "sweep yaml"},
    {GEMMS "plot_gemm_variance.py", GT_OLD_PYTHON, "sweep plot"},
    {GEMMS "enhance_gemm_variance_with_timestamps.py", GT_OLD_PYTHON, "sweep timestamps"},
    {GEMMS "gemm_report_with_collective_overlap.py", GT_OLD_PYTHON, "sweep overlap"},
    {GEMMS "process_gpu_timeline.py", GT_OLD_PYTHON, "sweep timeline"},
    {GEMMS "process_comms.py", GT_OLD_PYTHON, "sweep comms"},
    {GEMMS "create_embeded_html_report.py", GT_OLD_PYTHON, "sweep html"},
    {SINGLE "run_tracelens_single_config.sh", GT_OLD_SHELL, "sweep run-tracelens-single-config"},
    {SINGLE "run_full_analysis.py", GT_OLD_PYTHON, "sweep compare"},
    {SINGLE "process_gpu_timeline.py", GT_OLD_PYTHON, "sweep timeline"},
    {SINGLE "combine_reports.py", GT_OLD_PYTHON, "sweep combine-reports"},
    {SINGLE "add_comparison_sheets.py", GT_OLD_PYTHON, "sweep add-comparison-sheets"},
    {SINGLE "add_collective_comparison.py", GT_OLD_PYTHON, "sweep add-collective-comparison"},
    {SINGLE "create_final_report.py", GT_OLD_PYTHON, "sweep create-final-report"},
    {SINGLE "create_final_plots.py", GT_OLD_PYTHON, "sweep create-final-plots"},
    {SINGLE "create_final_html.py", GT_OLD_PYTHON, "sweep create-final-html"},
    {SINGLE "compare_all_runs.py", GT_OLD_PYTHON, "sweep compare-all-runs"},
    {"scripts/utils/merge_gpu_trace_ranks.py", GT_OLD_PYTHON, "sweep merge"},
};

static size_t entry_points(void)
{
    size_t count = 0;
    for (size_t i = 0; i < gt_command_count; i++) count += gt_commands[i].old_name != NULL;
    return count;
}

size_t gt_old_name_count(void)
{
    return entry_points() + GT_LENGTH(scripts);
}

gt_old_name gt_old_name_at(size_t index)
{
    size_t links = entry_points();
    if (index >= links) return scripts[index - links];
    const gt_command *command = gt_commands;
    for (;; command++) {
        if (!command->old_name) continue;
        if (index-- == 0) return (gt_old_name){command->old_name, GT_OLD_LINK, command->old_name};
    }
}
