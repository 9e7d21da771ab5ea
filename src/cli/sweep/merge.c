/* `gputally sweep merge`: finds the trace of each rank in a folder and writes their GPU work as one trace for
 * viewers. */
#include "base/length.h"
#include "base/log.h"
#include "base/memory.h"
#include "cli/common.h"
#include "cli/destinations.h"
#include "cli/inputs/rank_files.h"
#include "cli/sweep/sweep.h"
#include "sweep/run/layout.h"
#include "sweep/merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char USUAL_NAME[] = "trace_step19.json";
enum { USUAL_RANKS = 8 };

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

static const gt_short_option letters[] = {{'n', "num_ranks"}, {0}};

const gt_syntax gt_sweep_merge_syntax = {
    .groups = {&merge_group, &gt_common_group},
    .main_options = {"output", "num_ranks", "trace_name", "compat"},
    .files = "DIR",
    .files_max = 1,
    .output_option = "output",
    .letters = letters,
};

/* ---- traces ---- */

typedef struct rank_paths {
    char **items; /* NULL where a rank has no trace */
    size_t count;
} rank_paths;

/* As many ranks as asked for; else up to the last one that has a trace, or 8 where none has. */
static size_t count_ranks(const gt_option_value *given, const gt_sweep_traces *found)
{
    if (given->given) return (size_t)given->number;
    int64_t last = found->count ? found->items[found->count - 1].rank : USUAL_RANKS - 1;
    return last < GT_MOST_RANKS ? (size_t)last + 1 : GT_MOST_RANKS;
}

/* The trace of that name in the folder of a rank; NULL where there is none. */
static char *named_trace(const char *folder, size_t rank, const char *name)
{
    char *path = gt_format("%s/rank%zu/%s", folder, rank, name);
    if (gt_sweep_has_file(path)) return path;
    gt_free(path);
    return NULL;
}

static rank_paths find_traces(const gt_call *call, const char *folder)
{
    const char *name = gt_arguments_string(&call->arguments, "trace_name");
    gt_sweep_traces found = gt_sweep_traces_in(folder);
    rank_paths paths = {.count = count_ranks(gt_arguments_value(&call->arguments, "num_ranks"), &found)};
    paths.items = gt_alloc(paths.count * sizeof *paths.items);
    for (size_t rank = 0; rank < paths.count; rank++)
        paths.items[rank] = named_trace(folder, rank, name ? name : USUAL_NAME);
    for (size_t i = 0; i < found.count && !name; i++) {
        size_t rank = (size_t)found.items[i].rank;
        if (rank < paths.count && !paths.items[rank]) paths.items[rank] = gt_strdup(found.items[i].path);
    }
    for (size_t rank = 0; rank < paths.count; rank++)
        if (!paths.items[rank]) gt_warn("Skipping rank %zu - file not found", rank);
    gt_sweep_traces_free(&found);
    return paths;
}

static void free_paths(rank_paths *paths)
{
    for (size_t rank = 0; rank < paths->count; rank++) gt_free(paths->items[rank]);
    gt_free(paths->items);
}

/* ---- merging ---- */

static bool merge(const gt_call *call, const rank_paths *paths, unsigned threads, gt_error *error)
{
    const char *path = gt_arguments_string(&call->arguments, "output");
    gt_merge_options options = {gt_arguments_flag(&call->arguments, "compat"), threads,
                                gt_sweep_is_quiet(call)};
    uint64_t events;
    for (size_t i = 0; i < paths->count; i++)
        if (paths->items[i] && !gt_check_not_input(path, paths->items[i], error)) return false;
    gt_output *output = gt_output_new();
    bool merged = gt_merge_ranks(output, path, paths->items, paths->count, &options, &events, error) &&
                  gt_output_commit(output, error);
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
        return gt_usage_error(call->program, "argument --output: names no file");
    if (given->given && (given->number < 1 || given->number > GT_MOST_RANKS))
        return gt_usage_error(call->program, "argument --num_ranks: must be from 1 to %d", GT_MOST_RANKS);
    const char *folder = call->arguments.files[0];
    if (!gt_sweep_has_folder(folder)) {
        gt_fail(&error, "directory not found: %s", folder);
        return gt_sweep_failed(&error);
    }
    rank_paths paths = find_traces(call, folder);
    bool merged = merge(call, &paths, read.threads, &error);
    free_paths(&paths);
    return merged ? GT_EXIT_DONE : gt_sweep_failed(&error);
}
