/* Traces of several cycles of a profiler's schedule in one folder: torch.profiler.schedule(..., repeat=2)
 * writes a trace per rank and cycle. The steps in them, "ProfilerStep#7", tell which belong together: those
 * of one run overlap, and a rank's own traces follow each other. Anything else that a rank has twice cannot
 * be sorted out.
 *
 * Steps are searched as text, at the speed of reading, and only if a rank has several traces. */
#include "cli/inputs/inputs.h"

#include "base/team.h"
#include "stream/stream.h"

static const char mark[] = "ProfilerStep#";
enum { MARK = sizeof mark - 1, LONGEST = MARK + 20 }; /* with the digits */

typedef struct cycle {
    char *path;                /* not owned */
    int64_t rank, first, last; /* steps; first > last: none */
    size_t run;
} cycle;

/* Takes the steps whose digits end within the text. */
static void take_steps(cycle *c, const char *text, size_t len)
{
    const char *end = text + len;
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), mark, MARK));) {
        int64_t number = 0;
        const char *digits = at += MARK;
        while (at < end && at - digits < 18 && gt_is_digit(*at)) number = number * 10 + (*at++ - '0');
        if (at == digits || at == end) continue;
        if (number < c->first) c->first = number;
        if (number > c->last) c->last = number;
    }
}

static void find_steps(void *context, size_t index)
{
    cycle *c = (cycle *)context + index;
    gt_error ignored;
    const uint8_t *text = NULL;
    size_t len = 0, kept = 0;
    c->first = INT64_MAX;
    c->last = INT64_MIN;
    gt_stream *stream = gt_stream_open(c->path, &ignored);
    while (stream && gt_stream_next(stream, text ? text + len - kept : NULL, kept, &text, &len, &ignored) &&
           len > kept) {
        take_steps(c, (const char *)text, len);
        kept = len < LONGEST ? len : LONGEST;
    }
    gt_stream_close(stream);
}

static int compare(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

static int by_rank_and_step(const void *a, const void *b)
{
    const cycle *x = a, *y = b;
    return x->rank != y->rank ? compare(x->rank, y->rank) : compare(x->first, y->first);
}

static int by_step(const void *a, const void *b)
{
    const cycle *x = a, *y = b;
    return x->first != y->first ? compare(x->first, y->first) : compare(x->rank, y->rank);
}

static int by_run(const void *a, const void *b)
{
    const cycle *x = a, *y = b;
    return x->run != y->run ? compare((int64_t)x->run, (int64_t)y->run) : compare(x->rank, y->rank);
}

/* The ranks in the traces, if all have one of the same run, or else those in their names. */
static bool find_ranks(const gt_trace_folder *found, cycle *cycles)
{
    bool own = true, named = true;
    for (size_t i = 0; i < found->count; i++) {
        own &= found->own[i].rank >= 0 && found->own[i].rank < found->own[i].world_size &&
               found->own[i].world_size == found->own[0].world_size;
        named &= found->ranks[i] >= 0 && found->ranks[i] < GT_RANKS_MAX;
    }
    own &= found->own[0].world_size <= GT_RANKS_MAX;
    for (size_t i = 0; i < found->count; i++)
        cycles[i] = (cycle){.path = found->paths[i], .rank = own ? found->own[i].rank : found->ranks[i]};
    return own || named;
}

/* Whether all traces have steps and those of one rank follow each other; otherwise says why not. */
static bool follow_each_other(gt_trace_folder *found, cycle *cycles)
{
    char *why = NULL;
    for (size_t i = 0; i < found->count && !why; i++)
        if (cycles[i].first > cycles[i].last)
            why = gt_format(
                "%s, and %s has no steps (ProfilerStep) that would tell which traces belong together",
                found->why_not, cycles[i].path);
    qsort(cycles, found->count, sizeof *cycles, by_rank_and_step);
    for (size_t i = 1; i < found->count && !why; i++)
        if (cycles[i].rank == cycles[i - 1].rank &&
            (cycles[i].first < cycles[i - 1].last || cycles[i].first == cycles[i - 1].first))
            why = gt_format("%s and %s are both of rank %" PRId64 ", and both have step %" PRId64,
                            cycles[i - 1].path, cycles[i].path, cycles[i].rank, cycles[i].first);
    if (!why) return true;
    gt_free(found->why_not);
    found->why_not = why;
    return false;
}

/* A run ends where its rank has another trace, or with a step after all of its own. Returns their number. */
static size_t number_runs(cycle *cycles, size_t count)
{
    size_t run = 0;
    int64_t last = INT64_MIN;
    qsort(cycles, count, sizeof *cycles, by_step);
    for (size_t i = 0, begin = 0; i < count; i++) {
        bool is_next = i && cycles[i].first > last;
        for (size_t k = begin; k < i && !is_next; k++) is_next = cycles[k].rank == cycles[i].rank;
        if (is_next) run++, begin = i;
        if (is_next || cycles[i].last > last) last = cycles[i].last;
        cycles[i].run = run;
    }
    qsort(cycles, count, sizeof *cycles, by_run);
    return run + 1;
}

static gt_trace_folder folder_of(const cycle *cycles, size_t count)
{
    gt_trace_folder run = {.count = count, .are_ranks = count > 1};
    int64_t first = INT64_MAX, last = INT64_MIN;
    run.paths = gt_alloc(count * sizeof *run.paths);
    run.ranks = gt_alloc(count * sizeof *run.ranks);
    for (size_t i = 0; i < count; i++) {
        run.paths[i] = gt_strdup(cycles[i].path);
        run.ranks[i] = cycles[i].rank;
        if (cycles[i].first < first) first = cycles[i].first;
        if (cycles[i].last > last) last = cycles[i].last;
    }
    run.steps = first == last ? gt_format("step %" PRId64, first)
                              : gt_format("steps %" PRId64 "-%" PRId64, first, last);
    return run;
}

gt_trace_folder *gt_trace_folder_split(gt_trace_folder *found, size_t *count)
{
    cycle *cycles = gt_alloc_zero(found->count + 1, sizeof *cycles);
    gt_trace_folder *runs = NULL;
    bool may_be = !found->are_ranks && found->count > 1 && find_ranks(found, cycles);
    *count = 0;
    if (may_be) gt_parallel_each(found->count, find_steps, cycles);
    if (may_be && follow_each_other(found, cycles)) {
        *count = number_runs(cycles, found->count);
        runs = gt_alloc(*count * sizeof *runs);
        for (size_t run = 0, at = 0; run < *count; run++) {
            size_t begin = at;
            while (at < found->count && cycles[at].run == run) at++;
            runs[run] = folder_of(&cycles[begin], at - begin);
        }
    }
    gt_free(cycles);
    return runs;
}

void gt_trace_runs_free(gt_trace_folder *runs, size_t count)
{
    for (size_t i = 0; i < count; i++) gt_trace_folder_free(&runs[i]);
    gt_free(runs);
}

char *gt_trace_runs_describe(const gt_trace_folder *runs, size_t count)
{
    enum { SHOWN = 8 };
    gt_buffer text = {0};
    gt_buffer_add_format(&text, "%zu runs, told apart by their steps: ", count);
    for (size_t i = 0; i < count && i < SHOWN; i++)
        gt_buffer_add_format(&text, "%s%s (%zu %s)", i ? ", " : "", runs[i].steps, runs[i].count,
                             gt_noun(runs[i].count, "rank", "ranks"));
    if (count > SHOWN) gt_buffer_add_cstr(&text, ", ...");
    return gt_buffer_take(&text);
}
