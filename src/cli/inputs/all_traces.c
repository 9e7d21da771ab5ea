/* All traces at some paths, as `gputally report` finds them, with their ranks. A folder is a rocprofv3 run,
 * or has JAX profiles, exports of Nsight Systems, or PyTorch traces. */
#include "cli/inputs/inputs.h"

#include "input/nsys/nsys.h"
#include "os/paths.h"
#include "report/report.h"

/* In the name of the file, or else in the path; -1: none. `skip` is the length of the folder that was
 * searched. */
static int64_t find_in_name(const gt_rank_regex *regex, const char *path, size_t skip)
{
    gt_error ignored;
    int64_t rank = -1;
    if (gt_rank_regex_find(regex, gt_path_name(path), &rank, &ignored) && gt_is_rank(rank)) return rank;
    if (gt_rank_regex_find(regex, path + skip, &rank, &ignored) && gt_is_rank(rank)) return rank;
    return -1;
}

/* The same, or else in the trace. */
static int64_t find_rank(const gt_rank_regex *regex, const char *path, size_t skip)
{
    int64_t rank = find_in_name(regex, path, skip);
    if (rank < 0) rank = gt_own_rank_find(path).rank;
    return gt_is_rank(rank) ? rank : -1;
}

static void add(gt_all_traces *traces, const char *path, int64_t rank, const char *problem)
{
    struct gt_found_trace one = {gt_strdup(path), rank, problem ? gt_strdup(problem) : NULL, false};
    GT_PUSH(traces->items, traces->count, traces->capacity, one);
}

/* What a folder of another profiler than PyTorch's has. */
static bool add_profiles(gt_all_traces *traces, const gt_rank_regex *regex, const char *path, gt_error *error)
{
    gt_profile_list found = {0};
    bool ok = gt_report_find_traces(&found, path, error);
    size_t skip = strlen(path);
    for (size_t i = 0; ok && i < found.count; i++) {
        const char *own = found.paths[i];
        add(traces, own, find_rank(regex, own, strncmp(own, path, skip) == 0 ? skip : 0), NULL);
    }
    if (ok && found.skipped_count)
        gt_warn("%s: only the last JAX profile by name is read, %s; name another one to read it: %s", path,
                found.paths[found.count - 1], found.skipped[0]);
    gt_profiles_free(&found);
    return ok;
}

/* Warns about ranks that ran, by what the first trace says or by the last rank, and have no trace. */
static void warn_of_missing(const gt_trace_folder *found, const char *path)
{
    if (!found->are_ranks) return;
    int64_t count = found->ranks[found->count - 1] + 1, ran = gt_own_rank_find(found->paths[0]).world_size;
    if (ran > count && ran <= GT_RANKS_MAX) count = ran;
    gt_rank_files files = {.paths = gt_alloc_zero((size_t)count, sizeof *files.paths),
                           .count = (size_t)count};
    for (size_t i = 0; i < found->count; i++) files.paths[found->ranks[i]] = found->paths[i];
    for (size_t i = 0; i < found->unreadable_count; i++) {
        int64_t rank = found->unreadable[i].rank;
        if (rank >= 0 && rank < count) files.paths[rank] = found->unreadable[i].path;
    }
    gt_rank_files_warn_missing(&files, path, 0);
    gt_free(files.paths);
}

static void warn_of_others(const char *path)
{
    const char *covered;
    size_t count;
    char *first = gt_folder_find_others(path, &covered, &count);
    if (count == 1)
        gt_warn("%s: the query covers the %s; to include its PyTorch trace, name it: %s", path, covered,
                first);
    else if (count)
        gt_warn("%s: the query covers the %s; to include its %zu PyTorch traces, name them: %s ...", path,
                covered, count, first);
    gt_free(first);
}

static bool add_folder(gt_all_traces *traces, const gt_rank_regex *regex, const char *path, gt_error *error)
{
    gt_trace_folder found;
    if (add_profiles(traces, regex, path, error)) {
        warn_of_others(path);
        return true;
    }
    gt_trace_folder_find(&found, path, true);
    for (size_t i = 0; i < found.count; i++)
        add(traces, found.paths[i],
            gt_is_rank(found.ranks[i]) ? found.ranks[i] : find_rank(regex, found.paths[i], strlen(path)),
            NULL);
    for (size_t i = 0; i < found.unreadable_count; i++)
        add(traces, found.unreadable[i].path,
            gt_is_rank(found.unreadable[i].rank) ? found.unreadable[i].rank : -1,
            found.unreadable[i].problem);
    warn_of_missing(&found, path);
    bool any = found.count + found.unreadable_count > 0;
    gt_trace_folder_free(&found);
    return any || (!gt_nsys_fail_folder(path, error) &&
                   gt_fail(error,
                           "%s: no rocprofv3 files, JAX profile, Nsight Systems export or PyTorch traces in "
                           "this folder",
                           path));
}

/* A file, whose rank is found later, with those of the other files. */
static bool add_file(gt_all_traces *traces, const char *path, gt_error *error)
{
    gt_profile_list found = {0};
    bool ok = gt_report_find_traces(&found, path, error);
    for (size_t i = 0; ok && i < found.count; i++) {
        add(traces, found.paths[i], -1, NULL);
        traces->items[traces->count - 1].is_named = true;
    }
    gt_profiles_free(&found);
    return ok;
}

/* Finds the ranks of the traces that the user names, which may be those of one run. */
static void find_ranks_of_files(gt_all_traces *traces, const gt_rank_regex *regex)
{
    const char **paths = gt_alloc(traces->count * sizeof *paths);
    int64_t *ranks = gt_alloc(traces->count * sizeof *ranks);
    size_t count = 0;
    for (size_t i = 0; i < traces->count; i++)
        if (traces->items[i].is_named) paths[count++] = traces->items[i].path;
    for (size_t i = 0; i < count; i++) ranks[i] = find_in_name(regex, paths[i], 0);
    gt_own_ranks_settle(paths, ranks, count, false);
    for (size_t i = 0, at = 0; i < traces->count; i++)
        if (traces->items[i].is_named) traces->items[i].rank = ranks[at++];
    gt_free_all(ranks, paths);
}

bool gt_all_traces_find(gt_all_traces *traces, const char *const *paths, size_t count, gt_error *error)
{
    gt_rank_regex regex;
    *traces = (gt_all_traces){0};
    if (!gt_rank_regex_compile(&regex, GT_RANK_REGEX, "rank_regex", error)) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = gt_path_is_folder(paths[i]) ? add_folder(traces, &regex, paths[i], error)
                                         : add_file(traces, paths[i], error);
    if (ok) find_ranks_of_files(traces, &regex);
    gt_rank_regex_free(&regex);
    return ok;
}

void gt_all_traces_free(gt_all_traces *traces)
{
    for (size_t i = 0; i < traces->count; i++) {
        gt_free_all(traces->items[i].path, traces->items[i].problem);
    }
    gt_free(traces->items);
    *traces = (gt_all_traces){0};
}
