/* `gputally sweep merge`: finds the trace of each rank in a folder and merges their GPU events into one
 * trace. */
#include "cli/common.h"
#include "cli/inputs/inputs.h"
#include "cli/sweep/sweep.h"
#include "os/paths.h"
#include "sweep/merge.h"

static const gt_option merge_options[] = {
    {"output", GT_OPTION_STRING, "FILE", "merged_gpu_trace_enhanced.json",
     "write the merged trace to FILE; compressed with gzip if the name ends in .gz"},
    {"num_ranks", GT_OPTION_INT, "N", NULL,
     "merge ranks 0 to N-1 (default: up to the last rank with a trace, or 8 if there is none)"},
    {"trace_name", GT_OPTION_STRING, "NAME", NULL,
     "read the trace with this file name in each folder rank<R> (default: trace_step19.json, or else the "
     "trace that `sweep report` uses)"},
    {"compat", GT_OPTION_FLAG, NULL, NULL,
     "keep the ids of flow arrows, like the Python script; arrows of different ranks may then connect"},
};
static const gt_option_group merge_group = {"Merging", merge_options, GT_LENGTH(merge_options)};

static const gt_short_option short_options[] = {{'n', "num_ranks"}, {0}};

const gt_syntax gt_sweep_merge_syntax = {
    .groups = {&merge_group, &gt_whole_files_group},
    .main_options = {"output", "num_ranks", "trace_name", "compat"},
    .files = "DIR",
    .files_max = 1,
    .output_option = "output",
    .short_options = short_options,
};

static bool merge(const gt_call *call, const gt_merge_traces *traces, unsigned threads, gt_error *error)
{
    const char *path = gt_arguments_string(&call->arguments, "output");
    gt_merge_options options = {gt_arguments_flag(&call->arguments, "compat"), threads,
                                gt_sweep_is_quiet(call)};
    uint64_t events;
    for (size_t i = 0; i < traces->count; i++)
        if (traces->paths[i] && !gt_check_not_input(path, traces->paths[i], error)) return false;
    gt_output *output = gt_output_new();
    bool merged =
        gt_merge_ranks(output, path, traces, &options, &events, error) && gt_output_commit(output, error);
    gt_output_free(output);
    if (merged && !options.quiet) printf("wrote %s, %" PRIu64 " events\n", path, events);
    return merged;
}

gt_exit gt_cmd_sweep_merge(const gt_call *call)
{
    const gt_option_value *given = gt_arguments_value(&call->arguments, "num_ranks");
    gt_error error;
    gt_read_options read;
    if (!gt_sweep_begin_reading(call, NULL, &read)) return GT_EXIT_USAGE;
    if (!gt_arguments_string(&call->arguments, "output"))
        return gt_usage_error(call->program, "argument --output: needs a file name");
    if (given->given && (given->number < 1 || given->number > GT_RANKS_MAX))
        return gt_usage_error(call->program, "argument --num_ranks: must be between 1 and %d", GT_RANKS_MAX);
    const char *folder = call->arguments.files[0];
    if (!gt_path_is_folder(folder)) {
        gt_fail(&error, "directory not found: %s", folder);
        return gt_sweep_failed(&error);
    }
    gt_merge_traces traces = gt_merge_find_traces(folder, gt_arguments_string(&call->arguments, "trace_name"),
                                                  given->given ? (size_t)given->number : 0, GT_RANKS_MAX);
    bool merged = merge(call, &traces, read.threads, &error);
    gt_merge_traces_free(&traces);
    return merged ? GT_EXIT_DONE : gt_sweep_failed(&error);
}
