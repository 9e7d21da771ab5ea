/* Arrays of records: record by record on one thread, or chunk by chunk on several. */
#include "input/json/records.h"
#include "base/guard.h"
#include "base/progress.h"
#include "base/team.h"
#include "json/scan.h"

#include <stdatomic.h>

/* Fuzz targets are built with a smaller value, so that small files are read by several threads too. */
#ifndef GT_RECORDS_CHUNK_BYTES
#define GT_RECORDS_CHUNK_BYTES (2 * 1024 * 1024)
#endif

/* Threads are done at the same time if the last chunks are small. Where an array ends is not known, but the
 * one with the most records is often the last of the file. */
enum {
    CHUNK_BYTES = GT_RECORDS_CHUNK_BYTES,
    LAST_CHUNK_BYTES = CHUNK_BYTES / 4,
    LAST_BYTES = 4 * CHUNK_BYTES,         /* of the file, which are read in small chunks */
    MIN_PARALLEL_BYTES = 2 * CHUNK_BYTES, /* a smaller file is not worth a second thread */
    MAX_SEPARATOR = 64,                   /* most bytes between two records that are remembered */
    MAX_JOINT = 256,                      /* most bytes between two records that are searched for */
    PROGRESS_RECORDS = 4096,
};

/* The last text between two records: nearly always the same, so that one comparison is enough. */
typedef struct separator {
    uint8_t text[MAX_SEPARATOR];
    size_t len;
} separator;

/* What one thread parses with. */
typedef struct worker {
    separator separator;
    const gt_record_format *format;
    gt_interner *own_strings; /* NULL: it has those of the stores */
    gt_record_reader *reader;
    gt_store_writer *writers[GT_RECORD_MAX_STORES];
    size_t writer_count;
    gt_record record;
    GT_PADDING; /* cells are written for every record */
} worker;

static void worker_begin(worker *w, const gt_record_format *format, size_t stores, gt_interner *strings)
{
    *w = (worker){.format = format, .writer_count = stores};
    w->reader = gt_record_reader_new(format->fields, format->count, strings);
    gt_record_reader_drop(w->reader, format->unwanted);
    gt_record_reader_need(w->reader, format->needed);
    gt_record_reader_derive(w->reader, format->derived_field, format->derived);
    gt_record_set_context(w->reader, format->context);
    for (size_t i = 0; i < stores; i++)
        w->writers[i] = gt_store_writer_new(format->columns, format->count, strings);
}

static void worker_end(void *workers, size_t index)
{
    worker *w = (worker *)workers + index;
    gt_record_reader_free(w->reader);
    for (size_t i = 0; i < w->writer_count; i++) gt_store_writer_free(w->writers[i]);
    gt_interner_free(w->own_strings);
}

/* Stores the record in one of the worker's stores; in the others it is only counted. */
static void keep_record(worker *w)
{
    const gt_record *record = &w->record;
    size_t place = record->dropped ? GT_RECORD_MAX_STORES : w->format->place ? w->format->place(record) : 0;
    for (size_t i = 0; i < w->writer_count; i++)
        if (i == place)
            gt_store_writer_add(w->writers[i], record->present, record->cells);
        else
            gt_store_writer_skip(w->writers[i], 1);
}

/* Reads the record at the cursor into the worker's stores. */
static bool read_record(worker *w, gt_json *json)
{
    if (!gt_record_read(w->reader, json, &w->record)) return false;
    if (w->format->check && !w->record.dropped) {
        w->record.offset = gt_json_offset(json) - (uint64_t)(json->at - w->record.text);
        const char *problem = w->format->check(&w->record, w->reader);
        if (problem) return gt_json_fail(json, "%s", problem);
    }
    keep_record(w);
    return true;
}

/* As gt_json_next_element. */
static bool next_record(worker *w, gt_json *json)
{
    separator *s = &w->separator;
    if (s->len && s->len < (size_t)(json->end - json->at) && gt_scan_same(json->at, s->text, s->len) &&
        json->at[s->len] == '{') {
        json->at += s->len;
        return true;
    }
    const uint8_t *block = json->block, *from = json->at;
    if (!gt_json_next_element(json)) return false;
    size_t len = (size_t)(json->at - from);
    if (json->block == block && len <= MAX_SEPARATOR) { /* the text is still in memory */
        memcpy(s->text, from, len);
        s->len = len;
    }
    return true;
}

/* After a record that was dropped: most of the next ones are, too. Returns how many it skipped. */
static size_t skip_dropped(worker *w, gt_json *json, uint64_t limit)
{
    gt_str text = {(const char *)w->separator.text, w->separator.len};
    if (!w->record.dropped || !text.len) return 0;
    size_t count = gt_record_skip_dropped(w->reader, json, text, limit);
    for (size_t i = 0; i < w->writer_count; i++) gt_store_writer_skip(w->writers[i], count);
    return count;
}

/* Adds to the error which record it was. */
static bool fail_in_record(gt_json *json, const gt_record_format *format, size_t number)
{
    gt_error error = json->error;
    return gt_fail(&json->error, "%.800s, in %s %zu", error.text, format->what, number);
}

/* ---- several threads ---- */

/* The text from a record's last byte to the end of the first key of the next record, such as `},{"ph"`. */
typedef struct joint_text {
    uint8_t text[MAX_JOINT];
    size_t len;
    size_t record; /* where the next record begins in it */
} joint_text;

typedef struct chunk {
    uint64_t start, end; /* of its first record, and of the first one after it */
    atomic_bool done;    /* a worker has read it: all else is set */
    bool none;           /* apparently no record begins in it */
    bool array_ended;
    bool failed, truncated;
    gt_error error;
    gt_store_piece *pieces[GT_RECORD_MAX_STORES];
} chunk;

typedef struct array_job {
    const gt_record_format *format;
    const gt_stream *stream;
    const gt_record_stores *stores;
    unsigned depth;
    joint_text joint;
    uint64_t begin; /* of the first chunk */
    chunk *chunks;
    size_t large_count; /* chunks of CHUNK_BYTES; those after them are small */
    size_t chunk_count;
    worker *workers;
    atomic_bool stopped; /* the array has ended, or reading failed */
    /* What only one worker at a time changes, the one that has set is_committing. */
    uint64_t expected; /* where the next chunk's first record must begin */
    chunk last;        /* the chunk that ended the array or failed */
    GT_PADDING;        /* what is below changes often */
    atomic_size_t next_chunk;
    atomic_size_t committed;
    atomic_bool is_committing;
} array_job;

/* Remembers the joint after the last record and moves to the next one. False at the end of the array. */
static bool learn_joint(gt_json *json, joint_text *joint)
{
    joint->len = 0;
    json->at--; /* to the record's last byte, so that the mark keeps it */
    gt_json_set_mark(json);
    json->at++;
    bool more = gt_json_next_element(json);
    const uint8_t *mark = json->mark, *record = json->at, *end = json->end;
    gt_json_clear_mark(json);
    if (!more || *mark != '}' || *record != '{') return more;
    const uint8_t *key = gt_scan_space(record + 1, end);
    if (key == end || *key != '"') return more;
    const uint8_t *close = gt_scan_string(key + 1, end);
    if (close == end || close == key + 1 || (size_t)(close + 1 - mark) > MAX_JOINT) return more;
    joint->len = (size_t)(close + 1 - mark);
    joint->record = (size_t)(record - mark);
    memcpy(joint->text, mark, joint->len);
    return more;
}

/* Moves to where the first record at or after the cursor seems to begin. */
static bool guess_start(gt_json *json, const joint_text *joint, uint64_t limit)
{
    for (;;) {
        const uint8_t *hit = memmem(json->at, (size_t)(json->end - json->at), joint->text, joint->len);
        if (hit) {
            json->at = hit + joint->record;
            return gt_json_offset(json) < limit;
        }
        if ((size_t)(json->end - json->at) >= joint->len) json->at = json->end - (joint->len - 1);
        if (gt_json_offset(json) >= limit || !gt_json_more(json)) return false;
    }
}

/* Reads records from the cursor on while they begin before `limit`. */
static void read_chunk(worker *w, gt_json *json, uint64_t limit, chunk *out)
{
    bool more = true;
    out->start = gt_json_offset(json);
    while (more && gt_json_offset(json) < limit) {
        more = read_record(w, json) && next_record(w, json);
        if (more) skip_dropped(w, json, limit);
    }
    out->end = gt_json_offset(json);
    out->failed = json->failed;
    out->truncated = json->truncated;
    out->error = json->error;
    out->array_ended = !json->failed && !more;
    for (size_t i = 0; i < w->writer_count; i++) out->pieces[i] = gt_store_writer_take(w->writers[i]);
}

static uint64_t chunk_begin(const array_job *job, size_t index)
{
    size_t large = index < job->large_count ? index : job->large_count;
    return job->begin + large * (uint64_t)CHUNK_BYTES + (index - large) * (uint64_t)LAST_CHUNK_BYTES;
}

static uint64_t chunk_limit(const array_job *job, size_t index)
{
    return chunk_begin(job, index + 1);
}

static void plan_chunks(array_job *job)
{
    uint64_t bytes = gt_stream_size(job->stream) - job->begin;
    job->large_count = bytes > LAST_BYTES ? (size_t)((bytes - LAST_BYTES) / CHUNK_BYTES) : 0;
    uint64_t rest = bytes - job->large_count * (uint64_t)CHUNK_BYTES;
    job->chunk_count = job->large_count + (size_t)(rest / LAST_CHUNK_BYTES) + 1;
    job->chunks = gt_alloc_zero(job->chunk_count, sizeof *job->chunks);
}

static void begin_at(gt_json *json, gt_stream *range, const array_job *job, uint64_t offset)
{
    gt_stream_move(range, offset);
    gt_json_begin(json, range, offset);
    json->depth = job->depth;
    json->first = false;
}

static void free_pieces(chunk *c)
{
    for (size_t i = 0; i < GT_RECORD_MAX_STORES; i++) {
        gt_store_piece_free(c->pieces[i]);
        c->pieces[i] = NULL;
    }
}

static bool next_is_done(array_job *job)
{
    size_t next = atomic_load(&job->committed);
    return !atomic_load(&job->stopped) && next < job->chunk_count && atomic_load(&job->chunks[next].done);
}

/* Appends all chunks that are next in order to the store. */
static void commit_chunks(array_job *job, worker *w, gt_json *json, gt_stream *range)
{
    while (next_is_done(job)) {
        size_t index = atomic_fetch_add(&job->committed, 1);
        chunk *c = &job->chunks[index];
        if (job->expected >= chunk_limit(job, index)) { /* one record spans all of it */
            free_pieces(c);
            continue;
        }
        if (c->none || c->start != job->expected) {
            free_pieces(c);
            begin_at(json, range, job, job->expected);
            read_chunk(w, json, chunk_limit(job, index), c);
        }
        gt_progress_add(c->end - job->expected, gt_store_piece_records(c->pieces[0]));
        for (size_t i = 0; i < job->stores->count; i++) {
            gt_store_append(job->stores->items[i], c->pieces[i]);
            c->pieces[i] = NULL;
        }
        job->expected = c->end;
        if (c->failed || c->array_ended) {
            job->last = *c;
            atomic_store(&job->stopped, true);
        }
    }
}

/* Nobody waits to append chunks: whoever finds another worker at it leaves his own to that one, which looks
 * again when it is done. */
static void commit_if_free(array_job *job, worker *w, gt_json *json, gt_stream *range)
{
    while (next_is_done(job) && !atomic_exchange(&job->is_committing, true)) {
        commit_chunks(job, w, json, range);
        atomic_store(&job->is_committing, false);
    }
}

/* Reads chunks as long as there are some. `index` is that of a worker, which one thread has at a time. */
static void work(void *context, size_t index)
{
    array_job *job = context;
    worker *w = &job->workers[index];
    gt_json json;
    gt_error error;
    if (atomic_load(&job->stopped) || atomic_load(&job->next_chunk) >= job->chunk_count) return; /* late */
    gt_interner *strings = gt_interner_new();
    worker_begin(w, job->format, job->stores->count, strings);
    w->own_strings = strings;
    gt_stream *range = gt_stream_range(job->stream, job->begin, &error);
    for (size_t number; range && !atomic_load(&job->stopped) &&
                        (number = atomic_fetch_add(&job->next_chunk, 1)) < job->chunk_count;) {
        chunk *c = &job->chunks[number];
        begin_at(&json, range, job, chunk_begin(job, number));
        gt_stream_expect_end(range, chunk_limit(job, number));
        if (number == 0 || guess_start(&json, &job->joint, chunk_limit(job, number)))
            read_chunk(w, &json, chunk_limit(job, number), c);
        else
            c->none = true;
        atomic_store(&c->done, true);
        commit_if_free(job, w, &json, range);
        gt_guard_check(); /* another thread may have failed */
    }
    gt_stream_close(range);
}

/* Those of the workers that had something to read. */
static void adopt_strings(const worker *workers, unsigned count, const gt_record_stores *stores)
{
    const gt_interner **lists = gt_alloc(count * sizeof *lists);
    size_t list_count = 0;
    for (unsigned i = 0; i < count; i++)
        if (workers[i].own_strings) lists[list_count++] = workers[i].own_strings;
    gt_stores_adopt_strings(stores->items, stores->count, lists, list_count);
    gt_free(lists);
}

/* Reads the rest of the array, from the record at the cursor on, on several threads. */
static bool read_parallel(gt_json *json, const gt_record_format *format, const gt_record_stores *stores,
                          unsigned threads, const joint_text *joint)
{
    array_job job = {.format = format, .stream = json->stream, .stores = stores};
    job.depth = json->depth;
    job.joint = *joint;
    job.begin = job.expected = gt_json_offset(json);
    plan_chunks(&job);
    if (threads > job.chunk_count) threads = (unsigned)job.chunk_count;
    job.workers = gt_alloc_zero(threads, sizeof *job.workers);
    gt_parallel_each(threads, work, &job);
    adopt_strings(job.workers, threads, stores);
    gt_parallel_each(threads, worker_end, job.workers);
    for (size_t i = 0; i < job.chunk_count; i++) free_pieces(&job.chunks[i]);
    gt_free_all(job.chunks, job.workers);

    if (!job.stopped) return gt_json_fail(json, "the file could not be read further");
    gt_json_move(json, job.last.end);
    json->failed = job.last.failed;
    json->truncated = job.last.truncated;
    json->error = job.last.error;
    if (json->failed) return fail_in_record(json, format, gt_store_records(stores->items[0]) + 1);
    json->depth--;
    json->first = false;
    return true;
}

/* ---- one thread ---- */

/* Adds what was read since the last call to the progress line. */
static void show_progress(const gt_json *json, uint64_t *shown, uint64_t records)
{
    uint64_t consumed = gt_stream_consumed(json->stream);
    if (consumed > *shown) gt_progress_add(consumed - *shown, records);
    *shown = consumed;
}

/* Whether the text from the offset on is. */
static bool worth_more_threads(const gt_stream *stream, uint64_t offset, const gt_read_options *options)
{
    return options->threads > 1 && gt_team_threads() > 1 && gt_stream_seekable(stream) &&
           gt_stream_size(stream) > offset + MIN_PARALLEL_BYTES;
}

void gt_records_prepare(const gt_stream *stream, const gt_read_options *options)
{
    if (worth_more_threads(stream, 0, options)) gt_team_start();
}

bool gt_records_read(gt_json *json, const gt_record_format *format, gt_store *store,
                     const gt_read_options *options)
{
    return gt_records_read_apart(json, format, &(gt_record_stores){{store}, 1}, options);
}

bool gt_records_read_apart(gt_json *json, const gt_record_format *format, const gt_record_stores *stores,
                           const gt_read_options *options)
{
    if (!gt_json_enter_array(json)) return false;
    worker w;
    worker_begin(&w, format, stores->count, gt_store_strings(stores->items[0]));
    joint_text joint = {.len = 0};
    bool several = worth_more_threads(json->stream, gt_json_offset(json), options);
    uint64_t shown = gt_stream_consumed(json->stream), since = 0;
    bool more = gt_json_next_element(json);
    while (more) {
        if (several && joint.len) break;
        if (!read_record(&w, json)) break;
        if (++since >= PROGRESS_RECORDS) {
            show_progress(json, &shown, since);
            since = 0;
        }
        more = several ? learn_joint(json, &joint) : next_record(&w, json);
        if (more && !several) since += skip_dropped(&w, json, UINT64_MAX);
    }
    show_progress(json, &shown, since);
    for (size_t i = 0; i < stores->count; i++)
        gt_store_append(stores->items[i], gt_store_writer_take(w.writers[i]));
    worker_end(&w, 0);
    if (json->failed) return fail_in_record(json, format, gt_store_records(stores->items[0]) + 1);
    return !more || read_parallel(json, format, stores, options->threads, &joint);
}
