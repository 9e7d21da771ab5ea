/* `gputally jax`: the report on a JAX profile; of a folder, one report per host. */
#include "cli/commands/commands.h"

static const gt_option input_options[] = {
    {"profile_path", GT_OPTION_STRING, "FILE", NULL,
     "read this *.xplane.pb, or a folder that jax.profiler wrote (same as FILE)"},
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option report_options[] = {
    {"kernel_metadata_keyword_filters", GT_OPTION_STRINGS, "WORD...", NULL,
     "keep only kernels whose op metadata (name, source file and line) contains one of these words; the "
     "timeline and the op sheets keep all kernels"},
};
const gt_option_group gt_jax_group = {"JAX sheets", report_options, GT_LENGTH(report_options)};

static const gt_option simulator_options[] = {
    {"gpu_arch_json_path", GT_OPTION_STRING, "FILE", NULL,
     "read the GPU description for the GEMM simulator from FILE",
     .unused = "no sheet of a JAX report depends on the GPU"},
    {"gpu_arch_platform", GT_OPTION_STRING, "NAME", NULL,
     "use a built-in GPU for the GEMM simulator, such as MI300X",
     .unused = "no sheet of a JAX report depends on the GPU", .choices = "@gpus|"},
    {"enable_origami", GT_OPTION_FLAG, NULL, NULL, "add the times of GEMMs that Origami simulates",
     .unused = "built without Origami, so there are no simulated times"},
};
static const gt_option_group simulator_group = {"Simulation", simulator_options,
                                                GT_LENGTH(simulator_options)};

const gt_syntax gt_jax_syntax = {
    .groups = {&input_group, &gt_jax_group, &simulator_group, &gt_output_group, &gt_page_group,
               &gt_index_group, &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "output_db", "kernel_metadata_keyword_filters",
                     "threads"},
    .files = "FILE",
    .file_endings = GT_JAX_ENDINGS,
    .file_option = "profile_path",
    .files_max = 1,
    .output_option = "output_xlsx_path",
};

static void note_tree(const gt_report *report)
{
    (void)report;
    gt_journal_print("Building tree with add_python_func=False");
    gt_journal_print("Building CPU op tree with add_python_func=False");
}

bool gt_jax_report(const gt_trace_call *trace, gt_error *error)
{
    static const gt_report_hooks hooks = {.was_read = note_tree};
    return gt_trace_make_report(trace, GT_TRACE_JAX, &hooks, error);
}

/* No sheet depends on the GPU, but an invalid one is an error. */
static bool check_gpu(const gt_arguments *arguments, gt_error *error)
{
    gt_arena arena = {0};
    gt_gpu_arch own;
    const gt_gpu_arch *chosen;
    bool valid = gt_gpu_arch_choose(gt_arguments_string(arguments, "gpu_arch_platform"),
                                    gt_arguments_string(arguments, "gpu_arch_json_path"), GT_PEAKS_PEAK,
                                    &arena, &own, &chosen, error);
    gt_arena_free(&arena);
    return valid;
}

gt_exit gt_cmd_jax(const gt_call *call)
{
    const gt_arguments *arguments = &call->arguments;
    gt_error error;
    gt_profile_list profiles = {0};
    gt_exit status = GT_EXIT_FAILED;
    const char *path = gt_arguments_value(arguments, "profile_path")->text;
    if (gt_gpu_options_check(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    bool valid = check_gpu(arguments, &error), found = valid && gt_profiles_find(&profiles, path, &error);
    if (valid && !found) gt_call_explain_format(call, path, &error);
    if (found)
        status = gt_each_trace(call, (const char *const *)profiles.paths, profiles.count, gt_jax_report);
    else
        fprintf(stderr, "gputally: %s\n", error.text);
    gt_profiles_free(&profiles);
    return status;
}
