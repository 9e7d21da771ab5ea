/* All traces at some paths, as `gputally report` finds them, with their ranks. A folder is a rocprofv3 run,
 * or has JAX profiles, exports of Nsight Systems, or PyTorch traces. */
#include "cli/inputs/inputs.h"

#include "input/nsys/nsys.h"
#include "os/paths.h"
#include "report/report.h"
#include "input/rocprof/rocprof.h"

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

/* ---- traces of PyTorch next to others ----
 *
 * PyTorch traces in a folder whose report is about files of another profiler. A JAX profile has Chrome traces
 * of its own next to it, which are no traces of PyTorch: HOST.trace.json.gz and perfetto_trace.json.gz. */

static bool is_of_jax(const char *path)
{
    return strstr(gt_path_name(path), ".trace.json") || gt_path_is_named(path, "perfetto_trace.json.gz");
}

char *gt_folder_find_others(const char *path, const char **covered, size_t *count)
{
    gt_trace_folder others;
    bool is_rocprof = gt_rocprof_is_folder(path), is_nsys = !is_rocprof && gt_nsys_is_folder(path);
    char *first = NULL;
    *count = 0;
    gt_trace_folder_find(&others, path, false);
    for (size_t i = 0; i < others.count; i++) {
        if (!is_rocprof && !is_nsys && is_of_jax(others.paths[i])) continue;
        if (!first) first = gt_strdup(others.paths[i]);
        ++*count;
    }
    *covered = is_rocprof ? "rocprofv3 files" : is_nsys ? "exports of Nsight Systems" : "JAX profile";
    gt_trace_folder_free(&others);
    return first;
}

void gt_folder_warn_of_others(const char *path)
{
    const char *covered;
    size_t count;
    char *first = gt_folder_find_others(path, &covered, &count);
    if (count == 1)
        gt_warn("%s: the report covers the %s; for its PyTorch trace use gputally report %s", path, covered,
                first);
    else if (count)
        gt_warn("%s: the report covers the %s; for its %zu PyTorch traces use gputally report %s ...", path,
                covered, count, first);
    gt_free(first);
}

/* ---- two files of one trace ----
 *
 * Two files with the name of one trace: "t.json" and "t.json.gz". */

/* What is left of a block of a file. */
typedef struct rest {
    gt_stream *stream;
    const uint8_t *bytes;
    size_t len;
} rest;

static bool read_more(rest *r)
{
    gt_error ignored;
    return r->len || gt_stream_next(r->stream, NULL, 0, &r->bytes, &r->len, &ignored);
}

/* Whether two files have the same contents once they are unpacked. */
static bool have_same_contents(const char *a, const char *b)
{
    gt_error ignored;
    if (!gt_path_is_regular(a) || !gt_path_is_regular(b)) return false;
    rest x = {.stream = gt_stream_open(a, &ignored)}, y = {.stream = gt_stream_open(b, &ignored)};
    bool are_same = x.stream && y.stream;
    while (are_same) {
        are_same = read_more(&x) && read_more(&y) && !x.len == !y.len;
        size_t len = x.len < y.len ? x.len : y.len;
        if (!are_same || !len) break;
        are_same = memcmp(x.bytes, y.bytes, len) == 0;
        x = (rest){x.stream, x.bytes + len, x.len - len};
        y = (rest){y.stream, y.bytes + len, y.len - len};
    }
    gt_stream_close(x.stream);
    gt_stream_close(y.stream);
    return are_same;
}

bool gt_trace_warn_copy(const char *path, const char *taken)
{
    bool is_copy = have_same_contents(taken, path);
    if (is_copy) gt_warn("%s: skipped, because %s is the same trace", path, taken);
    return is_copy;
}

void gt_trace_warn_second(const char *path, const char *taken)
{
    char *other = gt_path_sibling(path, taken);
    if (have_same_contents(other, path)) {
        gt_warn("%s: skipped, because %s is the same trace", path, taken);
    } else {
        int64_t ranks[] = {gt_own_rank_find(other).rank, gt_own_rank_find(path).rank};
        char *named = ranks[0] != ranks[1] && ranks[0] >= 0 && ranks[1] >= 0
                          ? gt_format(" (of rank %lld, and this one of rank %lld)", (long long)ranks[0],
                                      (long long)ranks[1])
                          : gt_strdup("");
        gt_warn(
            "%s: skipped, because %s has the same name, but other contents%s; remove or rename one of them",
            path, taken, named);
        gt_free(named);
    }
    gt_free(other);
}
