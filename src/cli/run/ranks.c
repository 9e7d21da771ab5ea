/* Finds the rank of each trace and links the traces into one folder, from which `gputally report` makes the
 * report of all ranks. A folder of their own is needed because the work folder may have traces of earlier
 * runs, and because those of several nodes are in several folders. */
#include "cli/run/ranks.h"
#include "cli/inputs/inputs.h"
#include "input/chrome/kineto.h"
#include "os/paths.h"

static const char rank_in_name[] = "rank[\\[\\-_/]?(?P<rank>\\d+)";

typedef struct ranked {
    const char *path;
    int64_t node, written, named, rank; /* `written` in the trace, `named` by the file; -1: none */
    struct timespec time;
} ranked;

void gt_run_traces_add(gt_run_traces *traces, gt_arena *arena, const char *path, int64_t node)
{
    gt_run_trace trace = {gt_arena_bytes(arena, path, strlen(path)), node};
    GT_PUSH(traces->items, traces->count, traces->capacity, trace);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const gt_run_trace *)a)->path, ((const gt_run_trace *)b)->path);
}

void gt_run_traces_sort(gt_run_traces *traces)
{
    if (traces->count) qsort(traces->items, traces->count, sizeof *traces->items, by_path);
}

void gt_run_traces_free(gt_run_traces *traces)
{
    gt_free(traces->items);
    *traces = (gt_run_traces){0};
}

/* ---- finding ranks ---- */

static void look(void *context, size_t index)
{
    ranked *trace = (ranked *)context + index;
    struct stat status;
    gt_error ignored;
    if (stat(trace->path, &status) == 0) trace->time = status.st_mtim;
    gt_stream *stream = gt_stream_open(trace->path, &ignored);
    if (!stream) return;
    gt_distributed_info info = gt_kineto_find_distributed(stream);
    if (info.rank >= 0 && info.rank < GT_RANKS_MAX) trace->written = info.rank;
    gt_stream_close(stream);
}

static void find_names(ranked *traces, size_t count)
{
    gt_rank_regex regex;
    gt_error ignored;
    if (!gt_rank_regex_compile(&regex, rank_in_name, "", &ignored)) return;
    for (size_t i = 0; i < count; i++) {
        int64_t rank = -1;
        if (gt_rank_regex_find(&regex, gt_path_name(traces[i].path), &rank, &ignored) && rank < GT_RANKS_MAX)
            traces[i].named = rank;
    }
    gt_rank_regex_free(&regex);
}

static bool all_written(const ranked *traces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (traces[i].written < 0) return false;
    return true;
}

/* Names such as rank0 may be the same on every node, because they are local ranks: then those of a node
 * follow those of the nodes before it. */
static bool names_repeat(const ranked *traces, size_t count, int64_t *per_node)
{
    gt_map nodes = {0};
    bool repeat = false;
    *per_node = 0;
    for (size_t i = 0; i < count; i++) {
        if (traces[i].named < 0) continue;
        if (traces[i].named >= *per_node) *per_node = traces[i].named + 1;
        uint32_t *first = gt_map_put(&nodes, (uint64_t)traces[i].named, 0);
        if (*first == GT_MAP_NONE) *first = (uint32_t)traces[i].node;
        repeat = repeat || *first != (uint32_t)traces[i].node;
    }
    gt_map_free(&nodes);
    return repeat;
}

static void choose_ranks(ranked *traces, size_t count)
{
    int64_t per_node;
    bool use_written = all_written(traces, count), repeat = names_repeat(traces, count, &per_node);
    for (size_t i = 0; i < count; i++) {
        int64_t named = traces[i].named;
        if (!use_written && repeat && named >= 0) named += traces[i].node * per_node;
        traces[i].rank = use_written ? traces[i].written : named >= 0 ? named : traces[i].written;
    }
    if (!use_written && repeat) gt_info("file names have local ranks; %" PRId64 " per node", per_node);
}

/* By rank; of one rank the newest first, then by name. */
GT_ORDER_BY(by_rank, ranked, GT_UP(rank) GT_DOWN(time.tv_sec) GT_DOWN(time.tv_nsec) GT_UP_TEXT(path))

/* ---- linking ---- */

static bool link_trace(gt_arena *arena, const ranked *trace, const char *folder, gt_error *error)
{
    size_t len = strlen(trace->path);
    bool is_packed = len > 3 && strcmp(trace->path + len - 3, ".gz") == 0;
    const char *name =
        gt_arena_format(arena, "rank%" PRId64 "_trace.json%s", trace->rank, is_packed ? ".gz" : "");
    const char *path = gt_path_join(arena, folder, name);
    if (link(trace->path, path) == 0 || symlink(trace->path, path) == 0) return true;
    return gt_fail(error, "cannot make the link %s: %s", path, strerror(errno));
}

static bool link_ranks(gt_arena *arena, const ranked *traces, size_t count, const char *folder,
                       gt_error *error)
{
    size_t older = 0;
    if (!gt_path_make_folder(folder, error)) return false;
    for (size_t i = 0; i < count; i++) {
        if (traces[i].rank < 0 || (i && traces[i].rank == traces[i - 1].rank))
            older++;
        else if (!link_trace(arena, &traces[i], folder, error))
            return false;
    }
    if (older)
        gt_info("%zu of %zu traces are not in the report of all ranks: older ones of a rank, or of no rank",
                older, count);
    return true;
}

bool gt_run_ranks_link(gt_arena *arena, const gt_run_traces *traces, const char *folder, gt_error *error)
{
    size_t count = traces->count, different = 0;
    error->text[0] = 0;
    if (!count) return false;
    ranked *list = gt_alloc_zero(count, sizeof *list);
    for (size_t i = 0; i < count; i++)
        list[i] = (ranked){.path = traces->items[i].path,
                           .node = traces->items[i].node,
                           .written = -1,
                           .named = -1,
                           .rank = -1};
    gt_parallel_each(count, look, list);
    find_names(list, count);
    choose_ranks(list, count);
    qsort(list, count, sizeof *list, by_rank);
    for (size_t i = 0; i < count; i++)
        different += list[i].rank >= 0 && (i == 0 || list[i].rank != list[i - 1].rank);
    bool ok = different > 1 && link_ranks(arena, list, count, folder, error);
    gt_free(list);
    return ok;
}
