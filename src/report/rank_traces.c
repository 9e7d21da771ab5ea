/* Reading the collectives of many ranks. Each thread takes the next rank, reads its trace, makes its rows and
 * frees its events. The rows of all ranks become one table at the end. */
#include "report/collective.h"
#include "analysis/collective/sheets.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/progress.h"
#include "base/threads.h"
#include "input/chrome/kineto.h"
#include "os/paths.h"
#include "report/extra_sheets.h"
#include "schema/sheets.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS_TO_TRIM = 65536 };

typedef struct job {
    gt_rank_traces *traces;
    char *const *paths;
    const gt_comm_kernels *comm;
    const gt_hta_options *extra; /* NULL: not requested */
    unsigned threads_per_rank;
    gt_table **tables;            /* by rank */
    gt_extra_sheets *extra_of;    /* by rank, until all previous ranks are done */
    gt_extra_sheets extra_sheets; /* of those that are appended */
    bool *is_done;                /* by rank */
    size_t appended;              /* number of ranks whose extra tables are appended */
    int64_t *rank_in_trace;       /* by rank: the rank number in the trace */
    gt_base_time *bases;          /* by rank */
    size_t next;
    pthread_mutex_t lock;
} job;

static gt_rank_events *read_file(const char *path, const gt_comm_kernels *comm, unsigned threads,
                                 gt_error *error)
{
    gt_stream *stream = gt_stream_open(path, error);
    if (!stream) return NULL;
    gt_rank_events *events = gt_kineto_read_collectives(stream, comm, threads, error);
    gt_stream_close(stream);
    return events;
}

/* The sheets that need more than collectives. The trace is freed before this returns, so the tables get their
 * own interner. */
static bool make_extra(const job *j, size_t rank, gt_extra_sheets *sheets, gt_interner *strings,
                       gt_error *error)
{
    const gt_read_options options = {.threads = j->threads_per_rank, .strict = true, .is_part = true};
    gt_pytorch_read *trace = gt_kineto_read(j->paths[rank], (gt_kineto_options){0}, &options, error);
    if (!trace) return false;
    gt_pytorch_read_use_communication(trace, j->comm);
    gt_extra_make(gt_pytorch_read_view(trace), (int64_t)rank, j->extra, sheets);
    for (size_t i = 0; i < sheets->tables.count; i++) gt_table_use_strings(sheets->tables.items[i], strings);
    gt_pytorch_read_free(trace);
    return true;
}

/* Called with the lock held: the strings are shared. */
static void keep(job *j, size_t rank, const gt_rank_events *events, gt_table *table, gt_extra_sheets *extra)
{
    for (size_t i = 0; i < extra->tables.count; i++)
        gt_table_use_strings(extra->tables.items[i], j->traces->strings);
    j->extra_of[rank] = *extra;
    gt_table_use_strings(table, j->traces->strings);
    j->tables[rank] = table;
    j->rank_in_trace[rank] = events->distributed.rank;
    int64_t world_size = events->distributed.world_size;
    if (world_size > j->traces->world_size && world_size <= GT_COLLECTIVE_RANKS_MAX)
        j->traces->world_size = world_size;
    j->bases[rank] = gt_store_base_time(events->store);
    j->traces->events += events->events;
    if (rank == 0) j->traces->devices = events->devices;
}

/* Called with the lock held. A table with a few rows is mostly overhead, so the sheets of a rank are appended
 * as soon as all previous ranks are done. */
static void append_extra(job *j, size_t rank)
{
    j->is_done[rank] = true;
    for (; j->appended < j->traces->rank_count && j->is_done[j->appended]; j->appended++)
        gt_extra_append(&j->extra_sheets, &j->extra_of[j->appended]);
}

static void read_rank(job *j, size_t rank)
{
    gt_error error = {"no trace"};
    gt_rank_events *events =
        j->paths[rank] ? read_file(j->paths[rank], j->comm, j->threads_per_rank, &error) : NULL;
    gt_interner *own = gt_interner_new();
    gt_extra_sheets extra = {0};
    if (events && j->extra && !make_extra(j, rank, &extra, own, &error)) {
        gt_rank_events_free(events);
        events = NULL;
    }
    gt_table *table = events ? gt_collectives_of_store(events->store, (int64_t)rank) : NULL;
    pthread_mutex_lock(&j->lock);
    if (events)
        keep(j, rank, events, table, &extra);
    else
        j->traces->problems[rank] = gt_format("rank %zu: %s", rank, error.text);
    j->traces->bad_count += !events;
    append_extra(j, rank);
    pthread_mutex_unlock(&j->lock);
    gt_rank_events_free(events);
    gt_interner_free(own);
}

static void work(void *context, unsigned index)
{
    (void)index;
    job *j = context;
    for (;;) {
        pthread_mutex_lock(&j->lock);
        size_t rank = j->next++;
        pthread_mutex_unlock(&j->lock);
        if (rank >= j->traces->rank_count) return;
        const char *about = gt_log_about(j->traces->rank_count > 1 ? j->paths[rank] : NULL);
        read_rank(j, rank);
        gt_log_about(about);
    }
}

static gt_table *join(gt_table **tables, size_t count, gt_interner *strings)
{
    gt_table *all = NULL;
    size_t rows = 0, freed = 0;
    for (size_t i = 0; i < count; i++) rows += tables[i] ? tables[i]->row_count : 0;
    for (size_t i = 0; i < count; i++) {
        if (!tables[i]) continue;
        if (!all) {
            all = tables[i];
            gt_table_reserve(all, rows);
        } else {
            gt_table_append_same(all, tables[i]);
            freed += tables[i]->row_count;
            gt_table_free(tables[i]);
        }
        if (freed < ROWS_TO_TRIM) continue;
        gt_memory_trim(); /* otherwise the rows would be in memory twice */
        freed = 0;
    }
    gt_memory_trim();
    return all ? all : gt_table_new(GT_SHEET_NCCL_LONG, strings);
}

/* File names decide the rank; a trace that names another rank may be misplaced. */
static void compare_ranks(const job *j)
{
    size_t differing = 0, first = 0;
    for (size_t rank = j->traces->rank_count; rank-- > 0;) {
        if (j->rank_in_trace[rank] == GT_EVENT_NONE || j->rank_in_trace[rank] == (int64_t)rank) continue;
        differing++;
        first = rank;
    }
    if (differing)
        gt_warn("%s: rank %zu by its file name, but rank %lld in the trace%s; using the file names",
                j->paths[first], first, (long long)j->rank_in_trace[first],
                differing > 1 ? ", and others differ too" : "");
}

/* Before the rows become nccl_long. */
static void check_completeness(gt_rank_traces *traces)
{
    if (!traces->world_size) traces->world_size = gt_collectives_ranks_named(traces->rows);
    bool *have_trace = gt_alloc_zero(traces->rank_count, sizeof *have_trace);
    for (size_t rank = 0; rank < traces->rank_count; rank++) have_trace[rank] = !traces->problems[rank];
    gt_collectives_warn_uneven(traces->rows, have_trace, traces->rank_count);
    gt_free(have_trace);
}

static uint64_t bytes_of(char *const *paths, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (paths[i]) bytes += gt_path_bytes(paths[i]);
    }
    return bytes;
}

void gt_rank_traces_read(gt_rank_traces *traces, char *const *paths, size_t rank_count,
                         const gt_comm_kernels *comm, const gt_hta_options *extra, unsigned threads)
{
    *traces = (gt_rank_traces){.strings = gt_interner_new(), .rank_count = rank_count};
    traces->problems = gt_alloc_zero(rank_count, sizeof *traces->problems);
    if (!threads) threads = 1;
    size_t at_once = rank_count < threads ? rank_count : threads;
    job j = {.traces = traces,
             .paths = paths,
             .comm = comm,
             .extra = extra,
             .threads_per_rank = at_once ? threads / (unsigned)at_once : 1};
    j.tables = gt_alloc_zero(rank_count, sizeof *j.tables);
    j.extra_of = gt_alloc_zero(rank_count, sizeof *j.extra_of);
    j.is_done = gt_alloc_zero(rank_count, sizeof *j.is_done);
    j.bases = gt_alloc_zero(rank_count, sizeof *j.bases);
    j.rank_in_trace = gt_alloc(rank_count * sizeof *j.rank_in_trace);
    for (size_t rank = 0; rank < rank_count; rank++) j.rank_in_trace[rank] = GT_EVENT_NONE;
    pthread_mutex_init(&j.lock, NULL);
    char title[64];
    snprintf(title, sizeof title, "%zu %s", rank_count, gt_noun(rank_count, "rank", "ranks"));
    gt_progress_begin(title, (extra ? 2 : 1) * bytes_of(paths, rank_count));
    if (at_once) gt_threads_run((unsigned)at_once, work, &j);
    gt_progress_end();
    pthread_mutex_destroy(&j.lock);
    compare_ranks(&j);
    traces->rows = join(j.tables, rank_count, traces->strings);
    gt_collectives_align(traces->rows, j.bases, rank_count);
    check_completeness(traces);
    gt_free(j.tables);
    traces->extra = gt_extra_finish(&j.extra_sheets);
    gt_free(j.extra_of);
    gt_free(j.is_done);
    gt_free(j.rank_in_trace);
    gt_free(j.bases);
}

void gt_rank_traces_free(gt_rank_traces *traces)
{
    for (size_t i = 0; i < traces->rank_count; i++) gt_free(traces->problems[i]);
    gt_free(traces->problems);
    gt_table_free(traces->rows);
    gt_table_list_free(&traces->extra);
    gt_interner_free(traces->strings);
    *traces = (gt_rank_traces){0};
}
