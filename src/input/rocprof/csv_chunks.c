/* One CSV file on several threads.
 *
 * The file is cut into chunks of the same size; a chunk consists of the rows that begin in it. Each worker
 * looks for the first line end of its chunk and reads from there. A line end may be inside a quoted field, so
 * a chunk counts only if the previous one ends exactly where it began; otherwise, and if a row is damaged,
 * the rest of the file is read on one thread, which also finds the right message.
 *
 * Kernels and processes are numbered in the order in which they appear in the file. Those of the file's first
 * block are known to all workers. For others a worker uses numbers of its own; when it is the chunk's turn,
 * they are replaced in the rows. */
#include "input/rocprof/csv.h"

#include "base/guard.h"
#include "base/progress.h"

/* Fuzz targets are built with a smaller value. */
#ifndef GT_CSV_CHUNK_BYTES
#define GT_CSV_CHUNK_BYTES GT_GRAIN(2 * 1024 * 1024)
#endif

enum { CHUNK_BYTES = GT_CSV_CHUNK_BYTES };

/* Numbers from here on are those of a worker. The run's own are smaller: they count names and processes. */
#define LATER_BASE (INT64_C(1) << 40)

typedef struct later_process {
    int64_t pid;
    gt_str guid; /* valid as long as the worker's strings */
    bool has_guid;
} later_process;

typedef struct later_kernel {
    gt_str name; /* as in the file; valid as long as the worker's names */
    gt_kernel_use use;
} later_kernel;

/* What a chunk is the first of its worker to mention, in the order of the rows. */
typedef struct gt_csv_later {
    later_process *processes;
    size_t process_count, process_capacity;
    later_kernel *kernels;
    size_t kernel_count, kernel_capacity;
    gt_map *process_numbers; /* the worker's */
    gt_map *use_numbers;     /* from a use to a number */
    gt_map *kernel_numbers;  /* from (raw name, that number) to the worker's number */
} gt_csv_later;

typedef struct numbers {
    int64_t *items; /* from the worker's numbers to the run's */
    size_t count, capacity;
} numbers;

typedef struct worker {
    gt_csv_row *row;
    gt_rocprof_writers writers; /* of a run of its own, whose strings the rows refer to */
    gt_csv_source source;
    gt_error error;
    gt_map process_numbers, use_numbers, kernel_numbers;
    numbers processes, kernels; /* changed only with the lock held */
    GT_PADDING;
} worker;

enum { DISPATCHES, COPIES, CALLS, COUNTERS, STORES };

typedef struct chunk {
    bool done, failed, none; /* none: no row seems to begin in it */
    uint64_t begin, end;
    worker *by;
    size_t rows;
    uint64_t api_calls;
    gt_csv_later later;
    gt_store_piece *pieces[STORES];
} chunk;

typedef struct csv_job {
    gt_csv_row *row; /* of the file */
    const gt_stream *stream;
    uint64_t begin, expected; /* expected: where the next chunk's first row must begin */
    chunk *chunks;
    size_t chunk_count, next, committed;
    bool stopped;
    worker *workers;
    pthread_mutex_t lock;
} csv_job;

/* ---- kernels and processes of a chunk ---- */

int64_t gt_csv_later_process(gt_csv_row *r, int64_t pid, uint32_t guid)
{
    gt_csv_later *later = r->later;
    uint32_t *number = gt_map_put(later->process_numbers, (uint64_t)pid, guid);
    if (*number == GT_MAP_NONE) {
        *number = (uint32_t)later->process_numbers->count - 1;
        later_process process = {pid, gt_interner_get(r->run->strings, guid), guid != GT_STR_NONE};
        GT_PUSH(later->processes, later->process_count, later->process_capacity, process);
    }
    return LATER_BASE + *number;
}

static uint64_t pair(int32_t a, int32_t b)
{
    return (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
}

int64_t gt_csv_later_kernel(gt_csv_row *r, uint32_t raw, gt_kernel_use use)
{
    gt_csv_later *later = r->later;
    uint32_t *of_use =
        gt_map_put(later->use_numbers, pair(use.vgprs, use.accum_vgprs), pair(use.sgprs, use.lds_bytes));
    if (*of_use == GT_MAP_NONE) *of_use = (uint32_t)later->use_numbers->count;
    uint32_t *number = gt_map_put(later->kernel_numbers, raw, *of_use);
    if (*number == GT_MAP_NONE) {
        *number = (uint32_t)later->kernel_numbers->count - 1;
        later_kernel kernel = {gt_interner_get(r->raw, raw), use};
        GT_PUSH(later->kernels, later->kernel_count, later->kernel_capacity, kernel);
    }
    return LATER_BASE + *number;
}

static void free_chunk(chunk *c)
{
    gt_free_all(c->later.processes, c->later.kernels);
    for (size_t i = 0; i < STORES; i++) gt_store_piece_free(c->pieces[i]);
    *c = (chunk){.done = true};
}

/* ---- reading ---- */

static gt_store_writer *writer_of(const gt_rocprof_writers *writers, size_t store)
{
    gt_store_writer *const all[STORES] = {writers->dispatches, writers->copies, writers->calls,
                                          writers->counters};
    return all[store];
}

static gt_store *store_of(const gt_rocprof *run, size_t store)
{
    gt_store *const all[STORES] = {run->dispatches, run->copies, run->calls, run->counters};
    return all[store];
}

static void worker_begin(worker *w, const csv_job *job)
{
    const gt_csv_row *file = job->row;
    gt_read_options names = {.long_names = file->long_names, .full_names = file->full_names};
    w->writers = gt_rocprof_write(gt_rocprof_new_wanted(file->run->wanted));
    w->source = *file->source; /* of which only the agents are used */
    gt_csv_row *r = w->row = gt_csv_row_new(&w->writers, &w->source, &names);
    r->seed = file;
    r->path = file->path;
    r->kind = file->kind;
    r->doubled = file->doubled;
    r->columns = file->columns;
    memcpy(r->plan, file->plan, sizeof r->plan);
    memcpy(r->names, file->names, sizeof r->names);
    r->error = &w->error;
}

static void worker_end(worker *w)
{
    if (!w->row) return;
    gt_csv_row_free(w->row);
    gt_rocprof_write_end(&w->writers);
    gt_rocprof_free(w->writers.run);
    gt_map_free(&w->process_numbers);
    gt_map_free(&w->use_numbers);
    gt_map_free(&w->kernel_numbers);
    gt_free_all(w->processes.items, w->kernels.items);
}

/* Reads blocks of the range, from offset `at` on, until a row begins at `limit` or later. With `searching`,
 * the first row is the one after the first line end. */
static void read_rows(worker *w, gt_stream *range, uint64_t at, uint64_t limit, bool searching, chunk *c)
{
    const uint8_t *text = NULL, *next = NULL;
    size_t kept = 0, len;
    bool begun = !searching;
    gt_stream_move(range, at);
    c->begin = at;
    for (;;) {
        if (!gt_stream_next(range, next, kept, &text, &len, &w->error)) break;
        const uint8_t *end = text + len;
        bool last = len == kept;
        next = text;
        if (!begun) {
            while (next < end && *next != '\n' && *next != '\r') next++;
            while (next < end && (*next == '\n' || *next == '\r')) next++;
            begun = next < end;
            c->begin = at + (uint64_t)(next - text);
            c->none = c->begin >= limit;
            if (c->none) return;
        }
        uint64_t here = at + (uint64_t)(next - text);
        uint64_t left = here < limit ? limit - here : 0;
        const uint8_t *stop = left < (uint64_t)(end - next) ? next + left : end;
        gt_csv_end read = begun ? gt_csv_read_rows(w->row, &next, end, last, stop) : GT_CSV_ROW_COMPLETE;
        kept = (size_t)(end - next);
        at += (uint64_t)(next - text);
        c->end = at;
        if (read == GT_CSV_ROW_COMPLETE && ((at >= limit && kept) || last)) return;
        if (read == GT_CSV_ROW_BAD || last || kept > GT_CSV_MAX_ROW) break;
    }
    c->failed = true;
}

static void read_chunk(csv_job *job, worker *w, gt_stream *range, size_t index)
{
    chunk *c = &job->chunks[index];
    uint64_t from = job->begin + index * (uint64_t)CHUNK_BYTES;
    c->by = w;
    c->later = (gt_csv_later){.process_numbers = &w->process_numbers,
                              .use_numbers = &w->use_numbers,
                              .kernel_numbers = &w->kernel_numbers};
    gt_csv_row *r = w->row;
    r->later = &c->later;
    size_t rows = r->row;
    uint64_t api_calls = r->run->api_calls;
    read_rows(w, range, index ? from - 1 : from, from + CHUNK_BYTES, index > 0, c);
    r->later = NULL;
    c->rows = r->row - rows;
    c->api_calls = r->run->api_calls - api_calls;
    for (size_t i = 0; i < STORES; i++)
        if (writer_of(&w->writers, i)) c->pieces[i] = gt_store_writer_take(writer_of(&w->writers, i));
}

/* ---- a chunk's turn ---- */

/* Gives the run the kernels and processes that its worker mentions in this chunk first. */
static void number_later(csv_job *job, chunk *c)
{
    worker *w = c->by;
    for (size_t i = 0; i < c->later.process_count; i++) {
        const later_process *p = &c->later.processes[i];
        uint32_t guid =
            p->has_guid ? gt_interner_add(job->row->run->strings, p->guid.bytes, p->guid.len) : GT_STR_NONE;
        GT_PUSH(w->processes.items, w->processes.count, w->processes.capacity,
                gt_csv_process(job->row, p->pid, guid));
    }
    for (size_t i = 0; i < c->later.kernel_count; i++) {
        uint32_t text = GT_STR_NONE;
        GT_PUSH(w->kernels.items, w->kernels.count, w->kernels.capacity,
                gt_csv_kernel_id(job->row, c->later.kernels[i].name, &text, c->later.kernels[i].use));
    }
}

static void replace(gt_store_piece *piece, size_t column, const numbers *by)
{
    if (piece) gt_store_piece_replace(piece, column, LATER_BASE, by->items, by->count);
}

static void commit(csv_job *job, chunk *c)
{
    gt_rocprof *run = job->row->run;
    number_later(job, c);
    const numbers *kernels = &c->by->kernels, *processes = &c->by->processes;
    replace(c->pieces[DISPATCHES], GT_DISPATCH_KERNEL_ID, kernels);
    if (gt_dispatch_width(run->wanted) > GT_DISPATCH_PROCESS)
        replace(c->pieces[DISPATCHES], GT_DISPATCH_PROCESS, processes);
    if (gt_copy_width(run->wanted) > GT_COPY_PROCESS) replace(c->pieces[COPIES], GT_COPY_PROCESS, processes);
    replace(c->pieces[CALLS], GT_CALL_PROCESS, processes);
    replace(c->pieces[COUNTERS], GT_COUNTER_KERNEL_ID, kernels);
    replace(c->pieces[COUNTERS], GT_COUNTER_PROCESS, processes);
    for (size_t i = 0; i < STORES; i++) {
        if (c->pieces[i]) gt_store_append(store_of(run, i), c->pieces[i]);
        c->pieces[i] = NULL;
    }
    run->api_calls += c->api_calls;
    job->row->row += c->rows;
    gt_progress_add(c->end - job->expected, c->rows);
}

/* Adds all chunks that are next in order to the run. Called with the lock held. */
static void commit_chunks(csv_job *job)
{
    while (!job->stopped && job->committed < job->chunk_count && job->chunks[job->committed].done) {
        size_t index = job->committed++;
        chunk *c = &job->chunks[index];
        uint64_t limit = job->begin + (index + 1) * (uint64_t)CHUNK_BYTES;
        bool spanned = job->expected >= limit; /* one row spans all of it */
        if (!spanned && (c->none || c->failed || c->begin != job->expected)) {
            job->stopped = true;
        } else if (!spanned) {
            commit(job, c);
            job->expected = c->end;
        } else if (!c->none) {
            job->stopped = true; /* rows were read where none begins */
        }
        free_chunk(c);
    }
}

/* Reads chunks as long as there are some. `index` is that of a worker, which one thread has at a time. */
static void work(void *context, size_t index)
{
    csv_job *job = context;
    worker *w = &job->workers[index];
    gt_stream *range = NULL;
    gt_lock(&job->lock);
    while (!job->stopped && job->next < job->chunk_count) {
        size_t number = job->next++;
        gt_unlock(&job->lock);
        if (!w->row) worker_begin(w, job);
        if (!range) range = gt_stream_range(job->stream, job->begin, &w->error);
        if (range)
            read_chunk(job, w, range, number);
        else
            job->chunks[number].failed = true;
        gt_lock(&job->lock);
        job->chunks[number].done = true;
        commit_chunks(job);
    }
    gt_unlock(&job->lock);
    gt_stream_close(range);
}

/* Rows of a counter file become dispatches only if no row before has the same one; results.csv has a counter
 * per column. Both are read on one thread, and so are the small files. */
bool gt_csv_chunks_pay(const gt_csv_row *r, const gt_stream *stream, uint64_t offset)
{
    bool apart = r->kind == GT_CSV_KERNELS || r->kind == GT_CSV_CALLS || r->kind == GT_CSV_COPIES ||
                 (r->kind == GT_CSV_COUNTERS && !r->source->kernels_from_counters);
    return apart && gt_team_threads() > 1 && gt_stream_seekable(stream) &&
           gt_stream_size(stream) > offset + 2 * (uint64_t)CHUNK_BYTES;
}

uint64_t gt_csv_read_chunks(gt_csv_row *r, const gt_stream *stream, uint64_t offset)
{
    csv_job job = {.row = r, .stream = stream, .begin = offset, .expected = offset};
    job.chunk_count = (size_t)((gt_stream_size(stream) - offset) / CHUNK_BYTES + 1);
    size_t workers = gt_team_threads() < job.chunk_count ? gt_team_threads() : job.chunk_count;
    job.chunks = gt_alloc_zero(job.chunk_count, sizeof *job.chunks);
    job.workers = gt_alloc_zero(workers, sizeof *job.workers);
    pthread_mutex_init(&job.lock, NULL);
    gt_csv_source_prepare(r->source);
    gt_rocprof_write_flush(r->writers); /* the rows before the first chunk */
    gt_parallel_each(workers, work, &job);
    for (size_t i = 0; i < job.chunk_count; i++) free_chunk(&job.chunks[i]);
    for (size_t i = 0; i < workers; i++) {
        if (!job.workers[i].row) continue;
        const gt_interner *strings = job.workers[i].writers.run->strings;
        for (size_t s = CALLS; s <= COUNTERS; s++) /* the stores with strings */
            if (store_of(r->run, s)) gt_store_adopt_strings(store_of(r->run, s), strings);
        worker_end(&job.workers[i]);
    }
    gt_free_all(job.chunks, job.workers);
    pthread_mutex_destroy(&job.lock);
    return job.expected;
}
