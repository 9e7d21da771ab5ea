/* `gputally fuse`: finds the trace of each rank and merges them into one for a trace viewer. */
#include "cli/commands/commands.h"
#include "base/progress.h"
#include "input/files.h"
#include "os/paths.h"
#include "transform/fuse.h"

static const gt_option input_options[] = {
    GT_RANK_OPTIONS("set the number of ranks (default: up to the last rank with a trace)",
                    "warn about ranks whose trace is missing or damaged and continue; a damaged trace is "
                    "kept up to the damage"),
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option event_options[] = {
    {"include_pyfunc", GT_OPTION_FLAG, NULL, NULL, "keep python_function events (dropped by default)",
     .needs = "!leave_out"},
    {"leave_out", GT_OPTION_STRINGS, "CATEGORY...", NULL,
     "drop events of these categories (instead of Trace and python_function)",
     .choices = "Trace|python_function|cpu_op|user_annotation|gpu_user_annotation|cuda_runtime|cuda_driver|"
                "kernel|gpu_memcpy|gpu_memset|ac2g|overhead|"},
    {"ids_of_all_ranks", GT_OPTION_FLAG, NULL, NULL,
     "shift ids by more than the largest id of all ranks, not only of the first; reads every trace twice"},
    {"align_times", GT_OPTION_FLAG, NULL, NULL,
     "align the ranks' clocks by baseTimeNanoseconds; reads every trace twice"},
};
static const gt_option_group event_group = {"Events", event_options, GT_LENGTH(event_options)};

static const gt_option output_options[] = {
    {"output", GT_OPTION_STRING, "PATH", "merged_trace.json.gz",
     "write the fused trace to PATH; compressed with gzip if the name ends in .gz"},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

const gt_syntax gt_fuse_syntax = {
    .groups = {&input_group, &event_group, &output_group, &gt_partials_group, &gt_common_group},
    .main_options = {"output", "trace_dir", "trace_glob", "world_size", "align_times"},
    .files = "[FILE...]",
    .file_endings = "json,json.gz,json.zst",
    .files_max = GT_RANKS_MAX,
    .output_option = "output",
};

/* ---- options ---- */

static bool check_files(const gt_call *call, gt_error *error)
{
    const gt_arguments *arguments = &call->arguments;
    const char *output = gt_arguments_string(arguments, "output");
    const gt_option_value *world_size = gt_arguments_value(arguments, "world_size");
    size_t len = output ? strlen(output) : 0;
    if (!len) return gt_fail(error, "argument --output: needs a file name");
    if (strcmp(output, "-") == 0)
        return gt_fail(error, "argument --output: must be a file, not standard output");
    if (len > 4 && strcmp(output + len - 4, ".zst") == 0)
        return gt_fail(error, "argument --output: %s: trace viewers read gzip (.gz) and plain JSON, not zstd",
                       output);
    if (world_size->given && (world_size->number < 1 || world_size->number > GT_RANKS_MAX))
        return gt_fail(error, "argument --world_size: must be between 1 and %d, got %" PRId64, GT_RANKS_MAX,
                       world_size->number);
    if (world_size->given && arguments->file_count && world_size->number != (int64_t)arguments->file_count)
        return gt_fail(error, "argument --world_size: %" PRId64 " ranks, but %zu traces", world_size->number,
                       arguments->file_count);
    for (size_t i = 0; i < arguments->file_count; i++)
        if (strcmp(arguments->files[i], "-") == 0)
            return gt_fail(error, "standard input is not possible because traces are read more than once");
    return true;
}

static gt_fuse_options options_of(const gt_arguments *arguments, const gt_read_options *read)
{
    static const char *const usual[] = {"Trace", "python_function"};
    const gt_option_value *dropped = gt_arguments_value(arguments, "leave_out");
    gt_fuse_options options = {
        .dropped = usual,
        .dropped_count = gt_arguments_flag(arguments, "include_pyfunc") ? 1 : 2,
        .ids_of_all_ranks = gt_arguments_flag(arguments, "ids_of_all_ranks"),
        .align_times = gt_arguments_flag(arguments, "align_times"),
        .keep_damaged = gt_arguments_flag(arguments, "allow_missing_ranks") && !read->strict,
        .threads = read->threads,
    };
    if (dropped->given) {
        options.dropped = dropped->texts;
        options.dropped_count = dropped->text_count;
    }
    return options;
}

/* ---- traces ---- */

/* Sets the ranks to 0, 1, ..., and warns if a trace or its name says something else. */
static void use_positions(const char *const *paths, const gt_distributed_info *own, int64_t *ranks,
                          size_t count)
{
    size_t first = SIZE_MAX;
    int64_t other = -1;
    for (size_t i = 0; i < count; i++) {
        int64_t says = own[i].rank >= 0 ? own[i].rank : ranks[i];
        if (first == SIZE_MAX && says >= 0 && says != (int64_t)i) {
            first = i;
            other = says;
        }
        ranks[i] = (int64_t)i;
    }
    if (first != SIZE_MAX)
        gt_warn("%s: rank %" PRId64
                " by the trace or its name, but rank %zu by its place among the arguments, "
                "which counts because the ranks of the traces are not all known and different; name the "
                "traces in the order of their ranks",
                paths[first], other, first);
}

/* The ranks of the traces that the user names: those in the traces or in the file names if each has its own,
 * because the shell puts rank10 before rank2; else 0, 1, ... as they come. */
static int64_t *find_ranks(const gt_arguments *arguments)
{
    const char *const *paths = (const char *const *)arguments->files;
    size_t count = arguments->file_count;
    int64_t *ranks = gt_alloc(count * sizeof *ranks);
    gt_rank_regex regex;
    gt_error ignored;
    bool compiled = gt_rank_regex_compile(&regex, GT_RANK_REGEX, "rank_regex", &ignored);
    for (size_t i = 0; i < count; i++)
        if (!compiled || !gt_rank_regex_find(&regex, gt_path_name(paths[i]), &ranks[i], &ignored))
            ranks[i] = -1;
    gt_rank_regex_free(&regex);
    gt_distributed_info *own = gt_own_ranks_find(paths, count);
    if (!gt_own_ranks_take(paths, own, ranks, count)) {
        if (gt_ranks_are_unique(ranks, count))
            gt_own_ranks_warn(paths, own, ranks, count);
        else
            use_positions(paths, own, ranks, count);
    }
    gt_free(own);
    return ranks;
}

static bool take_named_files(gt_rank_files *files, const gt_arguments *arguments, bool allow_missing,
                             gt_error *error)
{
    size_t missing = 0;
    int64_t *ranks = find_ranks(arguments);
    *files = (gt_rank_files){0};
    for (size_t i = 0; i < arguments->file_count; i++)
        if ((size_t)ranks[i] >= files->count) files->count = (size_t)ranks[i] + 1;
    files->paths = gt_alloc_zero(files->count, sizeof *files->paths);
    for (size_t i = 0; i < arguments->file_count; i++) {
        struct stat status;
        const char *path = arguments->files[i];
        if (stat(path, &status) == 0) {
            files->paths[ranks[i]] = gt_strdup(path);
            continue;
        }
        if (allow_missing || missing)
            gt_warn("rank %" PRId64 ": %s: file not found", ranks[i], path);
        else
            gt_fail(error, "rank %" PRId64 ": Input file not found: %s", ranks[i], path);
        missing++;
    }
    gt_free(ranks);
    if (missing && !allow_missing) return false;
    return missing < arguments->file_count || gt_fail(error, "none of the traces exists");
}

/* Warns about traces of other ranks than their file names say, as `collective` does. */
static void warn_of_ranks(const gt_rank_files *files)
{
    gt_distributed_info *own = gt_own_ranks_find((const char *const *)files->paths, files->count);
    int64_t *ranks = gt_alloc(files->count * sizeof *ranks);
    for (size_t rank = 0; rank < files->count; rank++) ranks[rank] = (int64_t)rank;
    gt_own_ranks_warn((const char *const *)files->paths, own, ranks, files->count);
    gt_free_all(ranks, own);
}

static bool find_files(gt_rank_files *files, const gt_arguments *arguments, gt_error *error)
{
    gt_rank_search search = gt_rank_options_read(arguments);
    if (arguments->file_count) return take_named_files(files, arguments, search.allow_missing, error);
    if (!gt_rank_files_find(files, &search, error)) return false;
    warn_of_ranks(files);
    for (size_t rank = 0; rank < files->count; rank++)
        if (files->paths[rank]) return true;
    return gt_fail(error, "no rank has a trace");
}

static uint64_t bytes_of(const gt_rank_files *files)
{
    uint64_t bytes = 0;
    for (size_t rank = 0; rank < files->count; rank++) {
        if (files->paths[rank]) bytes += gt_path_bytes(files->paths[rank]);
    }
    return bytes;
}

static bool check_not_inputs(const char *output, const gt_rank_files *files, gt_error *error)
{
    for (size_t rank = 0; rank < files->count; rank++)
        if (files->paths[rank] && !gt_check_not_input(output, files->paths[rank], error)) return false;
    return true;
}

/* ---- fusing ---- */

static void show(const gt_fuse_result *result, const gt_output *output)
{
    printf("%zu %s, %" PRIu64 " %s read, %" PRIu64 " written; %zu %s\n", result->ranks,
           gt_noun(result->ranks, "rank", "ranks"), result->events_read,
           gt_noun(result->events_read, "event", "events"), result->events_written, result->processes,
           gt_noun(result->processes, "process", "processes"));
    gt_trace_show_files(stdout, output);
}

static bool fuse(const gt_call *call, const gt_rank_files *files, const gt_fuse_options *options,
                 gt_error *error)
{
    const char *path = gt_arguments_string(&call->arguments, "output");
    if (!check_not_inputs(path, files, error)) return false;
    gt_fuse_options with_parts = *options;
    gt_fuse_parts *parts = NULL;
    if (gt_files_are_packed()) {
        parts = gt_fuse_parts_make(path, files->paths, files->count, options, error);
        if (!parts) return false;
        with_parts.parts = parts;
    } else {
        size_t first = 0;
        while (first < files->count && !files->paths[first]) first++;
        if (first < files->count) gt_parts_look_for(files->paths[first]);
    }
    char title[64];
    size_t ranks = 0;
    for (size_t rank = 0; rank < files->count; rank++) ranks += files->paths[rank] != NULL;
    snprintf(title, sizeof title, "%zu %s", ranks, gt_noun(ranks, "rank", "ranks"));
    uint64_t passes = options->ids_of_all_ranks || options->align_times ? 2 : 1;
    gt_progress_begin(title, passes * bytes_of(files));
    gt_fuse_result result;
    gt_output *output = gt_output_new();
    bool made = gt_fuse(output, path, files->paths, files->count, &with_parts, &result, error) &&
                gt_output_commit(output, error);
    gt_progress_end();
    if (made && !gt_arguments_flag(&call->arguments, "quiet")) show(&result, output);
    gt_output_free(output);
    gt_fuse_parts_free(parts);
    return made;
}

gt_exit gt_cmd_fuse(const gt_call *call)
{
    static const char none_given[] = "no traces: name them, or use --trace_dir, "
                                     "--trace_pattern or --trace_glob";
    if (gt_rank_options_check(call, none_given) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    gt_error error;
    gt_read_options read;
    if (!gt_common_apply(call, &read, &error) || !check_files(call, &error))
        return gt_usage_error(call->program, "%s", error.text);
    gt_fuse_options options = options_of(&call->arguments, &read);
    gt_rank_files files = {0};
    bool made = find_files(&files, &call->arguments, &error) && fuse(call, &files, &options, &error);
    gt_rank_files_free(&files);
    if (made) return GT_EXIT_DONE;
    fprintf(stderr, "gputally: %s\n", error.text);
    return GT_EXIT_FAILED;
}
