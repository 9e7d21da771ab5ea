/* `gputally jax`: reads an XPlane profile, makes its sheets, writes them, shows a summary. */
#include "cli/commands/jax.h"
#include "base/length.h"
#include "base/log.h"
#include "cli/common.h"
#include "cli/journal.h"
#include "cli/inputs/profiles.h"
#include "input/xla/xplane.h"
#include "model/arch.h"
#include "output/terminal.h"
#include "report/jax.h"
#include "schema/sheets.h"

#include <stdio.h>

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
     "read the GPU description for the GEMM simulator from FILE"},
    {"gpu_arch_platform", GT_OPTION_STRING, "NAME", NULL,
     "use a built-in GPU for the GEMM simulator, such as MI300X"},
    {"enable_origami", GT_OPTION_FLAG, NULL, NULL,
     "request simulated times; warns if no simulator is available"},
};
static const gt_option_group simulator_group = {"Simulation", simulator_options,
                                                GT_LENGTH(simulator_options)};

const gt_syntax gt_jax_syntax = {
    .groups = {&input_group, &gt_jax_group, &simulator_group, &gt_output_group, &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "output_db", "kernel_metadata_keyword_filters",
                     "threads"},
    .files = "FILE",
    .file_option = "profile_path",
    .files_max = 1,
};

static void show(const gt_jax *trace, const gt_table_list *tables, const gt_output *output)
{
    gt_terminal terminal = gt_terminal_for(stdout);
    gt_jax_print_summary(stdout, trace, tables, (int)terminal.width, terminal.utf8);
    gt_trace_show_files(output);
}

/* Whether a simulator was asked for that would have something to do: `report` has no such option. */
static bool wants_simulator(const gt_call *call, const gt_table_list *tables)
{
    return call->command->syntax == &gt_jax_syntax && gt_arguments_flag(&call->arguments, "enable_origami") &&
           (gt_arguments_string(&call->arguments, "gpu_arch_json_path") ||
            gt_arguments_string(&call->arguments, "gpu_arch_platform")) &&
           gt_table_list_find(tables, GT_SHEET_OP_GEMM);
}

static bool make_report(const gt_trace_call *call, const gt_jax *trace, gt_error *error)
{
    const gt_option_value *words =
        gt_arguments_value(&call->call->arguments, "kernel_metadata_keyword_filters");
    gt_jax_options options = {words->texts, words->text_count};
    gt_table_list tables = {0};
    gt_output *output = NULL;
    if (!gt_jax_tables(trace, &options, &tables, error)) {
        gt_error_prefix(error, gt_trace_title(call->path));
    } else {
        if (wants_simulator(call->call, &tables))
            gt_warn("enable_origami is set but there is no 'origami' simulator: the sheets have no simulated "
                    "times");
        output = gt_destinations_write(call->destinations, call->path, &tables, error);
        if (output && gt_trace_is_shown(call)) show(trace, &tables, output);
    }
    bool made = output != NULL;
    gt_output_free(output);
    gt_table_list_free(&tables);
    return made;
}

bool gt_jax_report(const gt_trace_call *call, gt_error *error)
{
    gt_jax *trace = gt_xplane_read_stream(call->stream, call->read, error);
    if (!trace) return false;
    gt_journal_print("Building tree with add_python_func=False");
    gt_journal_print("Building CPU op tree with add_python_func=False");
    bool made = make_report(call, trace, error);
    gt_jax_free(trace);
    return made;
}

/* The GPU changes no sheet; one that cannot be is still an error. */
static bool gpu_is_sound(const gt_arguments *arguments, gt_error *error)
{
    gt_arena arena = {0};
    gt_gpu_arch own;
    const gt_gpu_arch *chosen;
    bool sound = gt_gpu_arch_choose(gt_arguments_string(arguments, "gpu_arch_platform"),
                                    gt_arguments_string(arguments, "gpu_arch_json_path"), &arena, &own,
                                    &chosen, error);
    gt_arena_free(&arena);
    return sound;
}

gt_exit gt_cmd_jax(const gt_call *call)
{
    const gt_arguments *arguments = &call->arguments;
    gt_error error;
    gt_profile_list profiles = {0};
    gt_exit status = GT_EXIT_FAILED;
    if (gt_arguments_string(arguments, "gpu_arch_json_path") &&
        gt_arguments_string(arguments, "gpu_arch_platform"))
        return gt_usage_error(call->program,
                              "argument --gpu_arch_platform: not allowed with argument --gpu_arch_json_path");
    if (gpu_is_sound(arguments, &error) &&
        gt_profiles_find(&profiles, gt_arguments_value(arguments, "profile_path")->text, &error))
        status = gt_each_trace(call, (const char *const *)profiles.paths, profiles.count, gt_jax_report);
    else
        fprintf(stderr, "gputally: %s\n", error.text);
    gt_profiles_free(&profiles);
    return status;
}
