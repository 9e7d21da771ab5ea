/* The ranks that PyTorch traces themselves name (distributedInfo), and when these count instead of the ranks
 * in file names.
 *
 * A file name may have a local rank (node1/rank0.json), an old one (rank8.json of a run with four ranks) or a
 * wrong one. What the profiler wrote is better, unless it cannot be the ranks of one run: copies of one trace
 * under several names all name the same rank, and then only the file names tell them apart. */
#include "cli/inputs/inputs.h"

#include "input/chrome/kineto.h"
#include "input/detect.h"

#include <sys/stat.h>

gt_distributed_info gt_own_rank_find(const char *path)
{
    gt_error ignored;
    gt_trace_format format;
    struct stat status;
    bool is_regular = stat(path, &status) == 0 && S_ISREG(status.st_mode); /* a pipe is read only once */
    gt_stream *stream = is_regular ? gt_detect_file(path, &format, &ignored) : NULL;
    gt_distributed_info info = {-1, -1};
    if (stream && format == GT_FORMAT_KINETO_JSON) info = gt_kineto_find_distributed(stream);
    gt_stream_close(stream);
    return info;
}

typedef struct search {
    const char *const *paths;
    gt_distributed_info *own;
} search;

static void find_one(void *context, size_t index)
{
    const search *s = context;
    s->own[index] = s->paths[index] ? gt_own_rank_find(s->paths[index]) : (gt_distributed_info){-1, -1};
}

gt_distributed_info *gt_own_ranks_find(const char *const *paths, size_t count)
{
    search s = {paths, gt_alloc(count * sizeof *s.own)};
    gt_parallel_each(count, find_one, &s);
    return s.own;
}

bool gt_ranks_are_unique(const int64_t *ranks, size_t count)
{
    int64_t *sorted = gt_alloc(count * sizeof *sorted);
    for (size_t i = 0; i < count; i++) sorted[i] = ranks[i];
    if (count) qsort(sorted, count, sizeof *sorted, gt_by_i64);
    bool unique = count && sorted[0] >= 0 && sorted[count - 1] < GT_RANKS_MAX;
    for (size_t i = 1; i < count && unique; i++) unique = sorted[i] != sorted[i - 1];
    gt_free(sorted);
    return unique;
}

bool gt_own_ranks_fit(const gt_distributed_info *own, size_t count)
{
    bool fit = count > 0;
    int64_t *ranks = gt_alloc(count * sizeof *ranks);
    for (size_t i = 0; i < count && fit; i++) {
        ranks[i] = own[i].rank;
        fit = own[i].rank >= 0 && own[i].rank < own[i].world_size && own[i].world_size == own[0].world_size;
    }
    fit = fit && gt_ranks_are_unique(ranks, count);
    gt_free(ranks);
    return fit;
}

/* "run/rank0.json: rank 0 by its file name, but rank 2 in the trace, and others differ too; ..." */
static void warn_of_difference(const char *const *paths, const gt_distributed_info *own, const int64_t *named,
                               size_t count, const char *which)
{
    size_t differing = 0, first = 0;
    for (size_t i = count; i-- > 0;) {
        if (named[i] < 0 || own[i].rank < 0 || named[i] == own[i].rank) continue;
        differing++;
        first = i;
    }
    if (differing)
        gt_warn("%s: rank %lld by its file name, but rank %lld in the trace%s; using the %s", paths[first],
                (long long)named[first], (long long)own[first].rank,
                differing > 1 ? ", and others differ too" : "", which);
}

void gt_own_ranks_warn(const char *const *paths, const gt_distributed_info *own, const int64_t *ranks,
                       size_t count)
{
    warn_of_difference(paths, own, ranks, count, "file names");
}

bool gt_own_ranks_take(const char *const *paths, const gt_distributed_info *own, int64_t *ranks, size_t count)
{
    if (!gt_own_ranks_fit(own, count)) return false;
    /* Names that several traces have are local ranks, as everybody expects who chose them. */
    if (gt_ranks_are_unique(ranks, count))
        warn_of_difference(paths, own, ranks, count, "ranks in the traces");
    for (size_t i = 0; i < count; i++) ranks[i] = own[i].rank;
    return true;
}

void gt_own_ranks_settle(const char *const *paths, int64_t *ranks, size_t count, bool by_names)
{
    gt_distributed_info *own = gt_own_ranks_find(paths, count);
    if (by_names || !gt_own_ranks_take(paths, own, ranks, count)) gt_own_ranks_warn(paths, own, ranks, count);
    for (size_t i = 0; i < count; i++) {
        if (ranks[i] < 0) ranks[i] = own[i].rank;
        if (ranks[i] >= GT_RANKS_MAX) ranks[i] = -1;
    }
    gt_free(own);
}
