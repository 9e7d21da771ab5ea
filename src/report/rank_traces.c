/* Reading the collectives of many ranks. Traces are read side by side (input/files.h): a thread reads one,
 * makes its rows and frees its events. What is kept of a rank joins that of the others in the order of the
 * ranks. */
#include "report/collective.h"
#include "input/chrome/kineto.h"
#include "input/files.h"
#include "schema/sheets.h"

/* ---- one rank ---- */

/* Gives the rows strings of their own, so that the trace can be freed. */
static gt_rank_collectives *new_collectives(gt_table *rows)
{
    gt_rank_collectives *c = gt_alloc_zero(1, sizeof *c);
    c->strings = gt_interner_new();
    c->rows = rows;
    gt_table_use_strings(rows, c->strings);
    return c;
}

void gt_rank_collectives_free(gt_rank_collectives *collectives)
{
    if (!collectives) return;
    gt_table_free(collectives->rows);
    gt_table_list_free(&collectives->extra.tables);
    gt_interner_free(collectives->strings);
    gt_rank_facts_free(collectives->facts);
    gt_free(collectives);
}

gt_rank_collectives *gt_rank_collectives_read(const char *path, int64_t rank, const gt_comm_kernels *comm,
                                              unsigned threads, gt_error *error)
{
    gt_stream *stream = gt_stream_open(path, error);
    if (!stream) return NULL;
    gt_rank_events *events = gt_kineto_read_collectives(stream, comm, threads, error);
    gt_stream_close(stream);
    if (!events) return NULL;
    gt_rank_collectives *c = new_collectives(gt_collectives_of_store(events->store, rank));
    c->base = gt_store_base_time(events->store);
    c->run = (gt_run_info){events->distributed, events->devices, true};
    c->events = events->events;
    gt_rank_events_free(events);
    return c;
}

static gt_rank_collectives *read_file(const gt_rank_request *request, size_t rank, gt_error *error)
{
    return gt_rank_collectives_read(request->paths[rank], (int64_t)rank, request->comm, request->threads,
                                    error);
}

/* Communication kernels among the events; SIZE_MAX if an event has no time, since then it has no kind. */
static size_t count_kernels(const gt_event_view *trace)
{
    uint8_t *is_communication = gt_alloc_zero(gt_interner_count(trace->strings), 1); /* 1 no, 2 yes */
    size_t count = 0;
    for (uint32_t row = 0; row < trace->count; row++) {
        if (trace->kind[row] == GT_KIND_OTHER && !isfinite(gt_event_end_us(trace, row))) {
            count = SIZE_MAX;
            break;
        }
        if (trace->kind[row] != GT_KIND_KERNEL) continue;
        uint8_t *is = &is_communication[trace->name[row]];
        if (!*is) *is = gt_event_communicates(trace, row) ? 2 : 1;
        count += *is == 2;
    }
    gt_free(is_communication);
    return count;
}

gt_rank_collectives *gt_rank_collectives_of_trace(const gt_event_view *trace, const gt_run_info *run,
                                                  int64_t rank)
{
    size_t count = run->is_whole ? count_kernels(trace) : SIZE_MAX;
    if (count == SIZE_MAX) return NULL;
    gt_table *rows = gt_collectives_of_rank(trace, rank);
    if (rows->row_count != count) { /* it dropped kernels whose links are not integers */
        gt_table_free(rows);
        return NULL;
    }
    gt_rank_collectives *c = new_collectives(rows);
    c->base = gt_store_base_time(trace->store);
    c->run = *run;
    c->events = trace->uid_count;
    return c;
}

void gt_rank_collectives_add_facts(gt_rank_collectives *collectives, const gt_event_view *trace,
                                   const gt_findings *findings)
{
    size_t count;
    uint32_t *rows = gt_collectives_find(trace, &count);
    uint32_t host = trace->facts->host;
    gt_rank_facts_free(collectives->facts);
    collectives->facts = gt_rank_facts_new(
        findings, rows, count, host == GT_STR_NONE ? NULL : gt_interner_get(trace->strings, host).bytes);
    gt_free(rows);
}

static void use_strings(gt_extra_sheets *extra, gt_interner *strings)
{
    for (size_t i = 0; i < extra->tables.count; i++) gt_table_use_strings(extra->tables.items[i], strings);
}

void gt_rank_collectives_set_extra(gt_rank_collectives *collectives, gt_extra_sheets extra)
{
    gt_table_list_free(&collectives->extra.tables);
    use_strings(&extra, collectives->strings);
    collectives->extra = extra;
}

/* ---- all ranks ---- */

/* There is one per rank, so it is small. */
typedef struct rank_state {
    gt_rank_collectives *collectives; /* NULL: could not be read */
    char *problem;                    /* owned; then: why; NULL: there is no trace */
} rank_state;

typedef struct job {
    const gt_rank_request *request;
    gt_rank_traces *traces;
    rank_state *ranks;
    gt_extra_sheets extra_sheets; /* of the ranks so far */
    int64_t *rank_in_trace;       /* by rank: the rank number in the trace */
    gt_base_time *bases;          /* by rank */
} job;

enum { ROWS_RESERVED = 1000 * 1000 };

/* Reads the whole trace for the extra sheets, and takes the collectives from it. */
static void read_whole(const job *j, size_t number, gt_error *error)
{
    rank_state *r = &j->ranks[number];
    gt_run_info run = {0};
    const gt_read_options options = {
        .threads = j->request->threads, .strict = true, .is_part = true, .run = &run};
    gt_pytorch_read *trace =
        gt_kineto_read(j->request->paths[number], (gt_kineto_options){0}, &options, error);
    gt_extra_sheets extra = {0};
    gt_interner *strings = gt_interner_new();
    if (trace) {
        const gt_event_view *view = gt_pytorch_read_view(trace);
        gt_pytorch_read_use_communication(trace, j->request->comm);
        r->collectives = gt_rank_collectives_of_trace(view, &run, (int64_t)number);
        gt_extra_make(view, (int64_t)number, j->request->extra, &extra);
        use_strings(&extra, strings);
        gt_pytorch_read_free(trace);
    }
    if (!r->collectives) {
        /* The reader of collectives decides whether the rank counts, and why not. */
        gt_error why = {""};
        gt_rank_collectives *collectives = read_file(j->request, number, &why);
        if (trace)
            r->collectives = collectives;
        else
            gt_rank_collectives_free(collectives);
        if (!collectives) *error = why;
    }
    if (r->collectives)
        gt_rank_collectives_set_extra(r->collectives, extra);
    else
        gt_table_list_free(&extra.tables);
    gt_interner_free(strings);
}

static bool read_rank(void *context, size_t number)
{
    job *j = context;
    rank_state *r = &j->ranks[number];
    const char *path = j->request->paths[number];
    const char *about = gt_log_about(j->request->rank_count > 1 ? path : NULL);
    gt_error error = {""};
    if (j->request->ready) {
        r->collectives = j->request->ready[number];
        j->request->ready[number] = NULL;
    }
    if (path && !r->collectives) {
        if (j->request->load)
            r->collectives = j->request->load(j->request->load_context, number, &error);
        else if (j->request->extra)
            read_whole(j, number, &error);
        else
            r->collectives = read_file(j->request, number, &error);
        if (!r->collectives) r->problem = gt_strdup(error.text);
    }
    gt_log_about(about);
    return true;
}

/* A table with a few rows is mostly overhead, so the rows of a rank are appended at once. */
static void append_rows(gt_rank_traces *traces, gt_table *rows)
{
    gt_table_use_strings(rows, traces->strings);
    if (!traces->rows) {
        size_t expected = rows->row_count * traces->rank_count; /* growing would copy them again and again */
        gt_table_reserve(rows, expected < ROWS_RESERVED ? expected : ROWS_RESERVED);
        traces->rows = rows;
        return;
    }
    gt_table_append_same(traces->rows, rows);
    gt_table_free(rows);
}

static void keep(job *j, size_t number, gt_rank_collectives *c)
{
    gt_rank_traces *traces = j->traces;
    append_rows(traces, c->rows);
    c->rows = NULL;
    j->rank_in_trace[number] = c->run.distributed.rank;
    int64_t world_size = c->run.distributed.world_size;
    if (world_size > traces->world_size && world_size <= GT_COLLECTIVE_RANKS_MAX)
        traces->world_size = world_size;
    j->bases[number] = c->base;
    traces->events += c->events;
    if (c->facts) traces->facts[number] = gt_rank_facts_pack(c->facts, &traces->facts_arena, traces->strings);
    c->facts = NULL;
    if (number == 0) traces->devices = c->run.devices;
    use_strings(&c->extra, traces->strings);
    gt_extra_append(&j->extra_sheets, &c->extra);
}

static void keep_rank(void *context, size_t number)
{
    job *j = context;
    rank_state *r = &j->ranks[number];
    if (r->collectives) {
        keep(j, number, r->collectives);
    } else {
        j->traces->problems[number] = gt_format("rank %zu: %s", number, r->problem ? r->problem : "no trace");
        j->traces->bad_count++;
    }
    gt_rank_collectives_free(r->collectives);
    gt_free(r->problem);
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
                j->request->paths[first], first, (long long)j->rank_in_trace[first],
                differing > 1 ? ", and others differ too" : "");
}

/* Whether collectives will be matched by the numbers of steps. */
static bool have_steps(const gt_rank_traces *traces)
{
    int64_t *steps =
        gt_rank_facts_steps((const gt_rank_facts *const *)traces->facts, traces->rank_count, traces->rows);
    gt_free(steps);
    return steps != NULL;
}

/* Names the ranks that were recorded at another time, and by how much the first of them. */
static void warn_of_apart(const gt_rank_traces *traces)
{
    enum { RANKS_SHOWN = 20 };
    gt_buffer list = {0};
    size_t count = 0, first = 0;
    for (size_t rank = 0; traces->apart_s && rank < traces->rank_count; rank++) {
        if (traces->apart_s[rank] == 0) continue;
        if (!count++) first = rank;
        if (count <= RANKS_SHOWN) gt_buffer_add_format(&list, "%s%zu", list.len ? ", " : "", rank);
    }
    if (count) {
        char *when = gt_rank_describe_apart(traces->apart_s[first]);
        gt_warn(
            "%s %s%s: recorded %s the others; traces of one run are recorded together, so %s of another run, "
            "or clocks are wrong",
            count > 1 ? "ranks" : "rank", gt_buffer_str(&list).bytes, count > RANKS_SHOWN ? ", ..." : "",
            when, count > 1 ? "these are" : "this one is");
        gt_free(when);
    }
    gt_buffer_free(&list);
}

/* Before the rows become nccl_long. */
static void check_completeness(gt_rank_traces *traces)
{
    if (!traces->world_size) traces->world_size = gt_collectives_ranks_named(traces->rows);
    bool *have_trace = gt_alloc_zero(traces->rank_count, sizeof *have_trace);
    for (size_t rank = 0; rank < traces->rank_count; rank++) have_trace[rank] = !traces->problems[rank];
    gt_collectives_warn_uneven(traces->rows, have_trace, traces->rank_count, have_steps(traces));
    gt_free(have_trace);
}

/* ---- ranks that another process reads ---- */

static char *key_of(const gt_rank_request *request)
{
    const gt_hta_options *extra = request->extra;
    const char *facts = request->load ? " with facts" : "";
    return extra
               ? gt_format("collective%s %s, extra %d %d %lld %lld, of several %d", facts, request->comm_text,
                           extra->hta_times, extra->include_last_step, (long long)extra->kernel_delay_us,
                           (long long)extra->max_queue_length, request->rank_count > 1)
               : gt_format("collective%s %s, of several %d", facts, request->comm_text,
                           request->rank_count > 1);
}

static bool pack_rank(void *context, size_t number, gt_image *image)
{
    job *j = context;
    const rank_state *r = &j->ranks[number];
    if (r->collectives)
        gt_rank_collectives_save(r->collectives, (int64_t)number, image);
    else
        gt_image_add(image, "rank", "error", r->problem, strlen(r->problem) + 1);
    return true;
}

static bool unpack_rank(void *context, size_t number, const gt_image *image)
{
    job *j = context;
    rank_state *r = &j->ranks[number];
    size_t len;
    const char *text = gt_image_get(image, "rank", "error", 1, &len);
    if (!text) return (r->collectives = gt_rank_collectives_load(image, (int64_t)number)) != NULL;
    if (!len || len > sizeof(gt_error) || text[len - 1]) return false;
    r->problem = gt_strdup(text);
    return true;
}

static void drop_rank(void *context, size_t number)
{
    job *j = context;
    gt_rank_collectives_free(j->ranks[number].collectives);
    gt_free(j->ranks[number].problem);
    j->ranks[number] = (rank_state){0};
}

static void read_all(job *j)
{
    const gt_rank_request *request = j->request;
    char *key = request->comm_text && !request->ready ? key_of(request) : NULL;
    gt_files_work(&(gt_file_work){.paths = (const char *const *)request->paths,
                                  .count = request->rank_count,
                                  .one = "rank",
                                  .many = "ranks",
                                  .without_limit = !request->extra && (!request->load || !request->comm_text),
                                  .work = read_rank,
                                  .finish = keep_rank,
                                  .context = j,
                                  .key = key,
                                  .pack = pack_rank,
                                  .unpack = unpack_rank,
                                  .drop = drop_rank});
    gt_free(key);
}

void gt_rank_traces_read(gt_rank_traces *traces, const gt_rank_request *request)
{
    size_t rank_count = request->rank_count;
    *traces = (gt_rank_traces){.strings = gt_interner_new(), .rank_count = rank_count};
    traces->problems = gt_alloc_zero(rank_count, sizeof *traces->problems);
    traces->facts = gt_alloc_zero(rank_count, sizeof *traces->facts);
    job j = {.traces = traces, .request = request};
    j.ranks = gt_alloc_zero(rank_count, sizeof *j.ranks);
    j.bases = gt_alloc_zero(rank_count, sizeof *j.bases);
    j.rank_in_trace = gt_alloc(rank_count * sizeof *j.rank_in_trace);
    for (size_t rank = 0; rank < rank_count; rank++) j.rank_in_trace[rank] = GT_EVENT_NONE;
    read_all(&j);
    compare_ranks(&j);
    if (!traces->rows) traces->rows = gt_table_new(GT_SHEET_NCCL_LONG, traces->strings);
    gt_collectives_align(traces->rows, j.bases, rank_count);
    traces->apart_s = gt_collectives_find_apart(traces->rows, j.bases, rank_count);
    warn_of_apart(traces);
    check_completeness(traces);
    traces->extra = gt_extra_finish(&j.extra_sheets);
    gt_free_all(j.ranks, j.rank_in_trace, j.bases);
}

void gt_rank_traces_free(gt_rank_traces *traces)
{
    for (size_t i = 0; i < traces->rank_count; i++) gt_free(traces->problems[i]);
    gt_arena_free(&traces->facts_arena);
    gt_free_all(traces->problems, traces->apart_s, traces->facts);
    gt_table_free(traces->rows);
    gt_table_list_free(&traces->extra);
    gt_interner_free(traces->strings);
    *traces = (gt_rank_traces){0};
}
