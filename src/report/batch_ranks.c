/* Reading the ranks of a batch report. Each thread takes the next rank, reads its trace, makes its rows and
 * frees the trace. The rows are kept by rank until all previous ranks are done, and are then appended. */
#include "report/batch.h"

#include "analysis/collective/sheets.h"
#include "analysis/pytorch/sheets.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/progress.h"
#include "base/threads.h"
#include "input/chrome/kineto.h"
#include "os/paths.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_TRACES_AT_ONCE = 8 }; /* they need most of the memory */

/* The rows of one rank, before they are appended. */
typedef struct rank_rows {
    gt_table *parts[GT_BATCH_PARTS];
    gt_batch_ops ops[GT_BATCH_GROUPS];
    gt_table *kernels; /* NULL: not requested */
    gt_left_out left_out;
    bool is_done;
} rank_rows;

typedef struct job {
    gt_batch_ranks *ranks;
    char *const *paths;
    const gt_read_options *options;
    bool all_kernels;
    unsigned threads_per_rank;
    rank_rows *rows; /* by position */
    size_t next, appended;
    gt_error error; /* of the first rank, by position, that could not be read */
    size_t failed;  /* its position; the number of ranks if all could be read */
    pthread_mutex_t lock;
} job;

/* ---- one rank ---- */

/* If no GPU event is linked to a launch, the timeline includes all GPU events. */
static gt_table *make_timeline(const gt_linked_view *trace, const char *path, gt_left_out *left_out)
{
    gt_error error;
    gt_pytorch_timeline_options options = {0};
    gt_table *timeline = gt_pytorch_gpu_timeline(trace, options, &error);
    if (timeline) *left_out = gt_pytorch_find_left_out(trace);
    if (timeline) return timeline;
    options.include_unlinked = true;
    timeline = gt_pytorch_gpu_timeline(trace, options, &error);
    if (timeline)
        gt_warn("%s: no GPU event is linked to a launch; its timeline includes all GPU events", path);
    else
        gt_warn("%s: no GPU events, so no timeline", path);
    return timeline;
}

static void make_ops(const gt_linked_view *trace, const gt_launchers *launchers, rank_rows *rows)
{
    if (trace->gpu_only) return;
    gt_perf *perf = gt_perf_new(trace, launchers, NULL, (gt_perf_options){0});
    gt_batch_ops_of_rank(perf, rows->ops);
    gt_perf_free(perf);
}

static void make_rows(const job *j, size_t place, const gt_linked_view *trace, rank_rows *rows)
{
    int64_t number = j->ranks->numbers[place];
    gt_launchers launchers = gt_launchers_find(trace);
    gt_pytorch_kernels kernels = gt_pytorch_kernels_find(trace, NULL);
    make_ops(trace, &launchers, rows);
    rows->parts[GT_BATCH_LAUNCHERS] = gt_batch_launchers_of_rank(trace, &launchers);
    rows->parts[GT_BATCH_COUNTS] = gt_batch_kernel_counts_of_rank(trace, number);
    rows->parts[GT_BATCH_UNLINKED] = gt_batch_unlinked_of_rank(trace);
    rows->parts[GT_BATCH_SHORT_OPS] = gt_batch_short_ops_of_rank(&kernels);
    rows->parts[GT_BATCH_CALLS] = gt_batch_calls_of_rank(&trace->events, number);
    rows->parts[GT_BATCH_COLLECTIVES] = gt_collectives_of_rank(&trace->events, (int64_t)place);
    j->ranks->timelines[place] = make_timeline(trace, j->paths[place], &rows->left_out);
    if (j->all_kernels) rows->kernels = gt_batch_kernels_of_rank(&kernels, number);
    gt_pytorch_kernels_free(&kernels);
    gt_launchers_free(&launchers);
}

/* Moves all strings, so that the trace can be freed. */
static void use_strings(rank_rows *rows, gt_table *timeline, gt_interner *strings)
{
    for (size_t i = 0; i < GT_BATCH_PARTS; i++) gt_table_use_strings(rows->parts[i], strings);
    for (size_t i = 0; i < GT_BATCH_GROUPS; i++) gt_batch_ops_use_strings(&rows->ops[i], strings);
    if (timeline) gt_table_use_strings(timeline, strings);
    if (rows->kernels) gt_table_use_strings(rows->kernels, strings);
}

/* ---- append in order ---- */

static void append_rank(gt_batch_ranks *ranks, size_t place, rank_rows *rows)
{
    for (size_t i = 0; i < GT_BATCH_PARTS; i++) {
        if (!ranks->parts[i]) {
            ranks->parts[i] = rows->parts[i];
            continue;
        }
        gt_table_append_same(ranks->parts[i], rows->parts[i]);
        gt_table_free(rows->parts[i]);
    }
    for (size_t i = 0; i < GT_BATCH_GROUPS; i++) {
        ranks->ops_found[i][place] = rows->ops[i].found;
        gt_batch_ops_append(&ranks->ops[i], &rows->ops[i]);
    }
    if (rows->kernels) gt_table_list_add(&ranks->kernels, rows->kernels);
    gt_left_out_add(&ranks->left_out, rows->left_out);
    *rows = (rank_rows){.is_done = true};
}

static void free_rows(rank_rows *rows)
{
    for (size_t i = 0; i < GT_BATCH_PARTS; i++) gt_table_free(rows->parts[i]);
    for (size_t i = 0; i < GT_BATCH_GROUPS; i++) gt_batch_ops_free(&rows->ops[i]);
    gt_table_free(rows->kernels);
}

/* Called with the lock held: the strings are shared. */
static void keep(job *j, size_t place, const gt_linked_view *trace, rank_rows *rows)
{
    gt_batch_ranks *ranks = j->ranks;
    use_strings(rows, ranks->timelines[place], ranks->strings);
    ranks->bases[place] = gt_store_base_time(trace->store);
    ranks->events += trace->uid_count;
    ranks->gpu_only &= trace->gpu_only;
    j->rows[place] = *rows;
    j->rows[place].is_done = true;
    for (; j->appended < ranks->count && j->rows[j->appended].is_done; j->appended++)
        append_rank(ranks, j->appended, &j->rows[j->appended]);
}

static void read_rank(job *j, size_t place)
{
    gt_error error;
    gt_read_options options = *j->options;
    options.threads = j->threads_per_rank;
    options.is_part = true;
    rank_rows rows = {0};
    gt_pytorch_read *read = gt_kineto_read(j->paths[place], (gt_kineto_options){0}, &options, &error);
    gt_pytorch_linked *trace = read ? gt_pytorch_link(gt_pytorch_build_tree(read)) : NULL;
    if (trace) make_rows(j, place, gt_pytorch_view(trace), &rows);
    pthread_mutex_lock(&j->lock);
    if (trace) {
        keep(j, place, gt_pytorch_view(trace), &rows);
    } else if (place < j->failed) {
        j->failed = place;
        j->error = error;
    }
    pthread_mutex_unlock(&j->lock);
    gt_pytorch_linked_free(trace);
}

static void work(void *context, unsigned index)
{
    (void)index;
    job *j = context;
    for (;;) {
        pthread_mutex_lock(&j->lock);
        bool goes_on = j->failed == j->ranks->count;
        size_t place = j->next++;
        pthread_mutex_unlock(&j->lock);
        if (!goes_on || place >= j->ranks->count) return;
        const char *about = gt_log_about(j->ranks->count > 1 ? j->paths[place] : NULL);
        read_rank(j, place);
        gt_log_about(about);
    }
}

/* ---- all ranks ---- */

static uint64_t bytes_of(char *const *paths, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += gt_path_bytes(paths[i]);
    return bytes;
}

bool gt_batch_ranks_read(gt_batch_ranks *ranks, char *const *paths, const int64_t *numbers, size_t count,
                         bool all_kernels, const gt_read_options *options, gt_error *error)
{
    *ranks =
        (gt_batch_ranks){.strings = gt_interner_new(), .count = count, .numbers = numbers, .gpu_only = true};
    ranks->timelines = gt_alloc_zero(count, sizeof *ranks->timelines);
    ranks->bases = gt_alloc_zero(count, sizeof *ranks->bases);
    for (size_t i = 0; i < GT_BATCH_GROUPS; i++)
        ranks->ops_found[i] = gt_alloc_zero(count, sizeof *ranks->ops_found[i]);
    unsigned threads = options->threads ? options->threads : 1;
    unsigned at_once = threads < MOST_TRACES_AT_ONCE ? threads : MOST_TRACES_AT_ONCE;
    if (count < at_once) at_once = (unsigned)count;
    job j = {.ranks = ranks,
             .paths = paths,
             .options = options,
             .all_kernels = all_kernels,
             .threads_per_rank = threads / at_once,
             .rows = gt_alloc_zero(count, sizeof *j.rows),
             .failed = count};
    pthread_mutex_init(&j.lock, NULL);
    char title[64];
    snprintf(title, sizeof title, "%zu %s", count, gt_noun(count, "rank", "ranks"));
    gt_progress_begin(title, bytes_of(paths, count));
    gt_threads_run(at_once, work, &j);
    gt_progress_end();
    pthread_mutex_destroy(&j.lock);
    for (size_t i = 0; i < count; i++) free_rows(&j.rows[i]);
    gt_free(j.rows);
    if (j.failed == count) return true;
    *error = j.error;
    gt_batch_ranks_free(ranks);
    return false;
}

void gt_batch_ranks_free(gt_batch_ranks *ranks)
{
    for (size_t i = 0; i < GT_BATCH_PARTS; i++) gt_table_free(ranks->parts[i]);
    for (size_t i = 0; i < GT_BATCH_GROUPS; i++) {
        gt_batch_ops_free(&ranks->ops[i]);
        gt_free(ranks->ops_found[i]);
        gt_table_free(ranks->arguments[i]);
    }
    for (size_t i = 0; i < ranks->count; i++) gt_table_free(ranks->timelines[i]);
    gt_free(ranks->timelines);
    gt_free(ranks->bases);
    gt_table_list_free(&ranks->kernels);
    gt_interner_free(ranks->strings);
    *ranks = (gt_batch_ranks){0};
}
