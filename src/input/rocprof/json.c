/* The reader of rocprofv3's JSON files.
 *
 * One table of fields per kind of record says which values are read; to read one more, add a column to
 * trace/rocprof/rocprof.h, its type to rocprof.c there, and a row to the table. A column without a row or
 * with the path NULL is not read. The rest is the way down to the arrays of records. Keys may come in any
 * order, and of a repeated key the last value counts. What no sheet uses (code objects, configuration) is
 * skipped. json_symbols.c names the kernels, json_extra.c reads what only the extra sheets need. */
#include "input/rocprof/readers.h"
#include "base/progress.h"
#include "input/json/records.h"

const gt_field gt_dispatch_fields[GT_DISPATCH_COLUMNS] = {
    [GT_DISPATCH_KERNEL_ID] = {"dispatch_info/kernel_id", GT_FIELD_INT, false},
    [GT_DISPATCH_START] = {"start_timestamp", GT_FIELD_INT, false},
    [GT_DISPATCH_END] = {"end_timestamp", GT_FIELD_INT, false},
    [GT_DISPATCH_STREAM] = {"stream_id/handle", GT_FIELD_INT, false},
    [GT_DISPATCH_ID] = {"dispatch_info/dispatch_id", GT_FIELD_INT, false},
    [GT_DISPATCH_GRID_X] = {"dispatch_info/grid_size/x", GT_FIELD_INT, false},
    [GT_DISPATCH_GRID_Y] = {"dispatch_info/grid_size/y", GT_FIELD_INT, false},
    [GT_DISPATCH_GRID_Z] = {"dispatch_info/grid_size/z", GT_FIELD_INT, false},
    [GT_DISPATCH_BLOCK_X] = {"dispatch_info/workgroup_size/x", GT_FIELD_INT, false},
    [GT_DISPATCH_BLOCK_Y] = {"dispatch_info/workgroup_size/y", GT_FIELD_INT, false},
    [GT_DISPATCH_BLOCK_Z] = {"dispatch_info/workgroup_size/z", GT_FIELD_INT, false},
    [GT_DISPATCH_AGENT] = {"dispatch_info/agent_id/handle", GT_FIELD_INT, false},
    [GT_DISPATCH_THREAD] = {"thread_id", GT_FIELD_INT, false},
    [GT_DISPATCH_PROCESS] = {NULL, GT_FIELD_INT, false},
    [GT_DISPATCH_QUEUE] = {"dispatch_info/queue_id/handle", GT_FIELD_INT, false},
    [GT_DISPATCH_CORRELATION] = {"correlation_id/internal", GT_FIELD_INT, false},
    [GT_DISPATCH_LDS_BYTES] = {"dispatch_info/group_segment_size", GT_FIELD_INT, false},
    [GT_DISPATCH_SCRATCH_BYTES] = {"dispatch_info/private_segment_size", GT_FIELD_INT, false},
};

static const gt_field copy_fields[GT_COPY_COLUMNS] = {
    [GT_COPY_START] = {"start_timestamp", GT_FIELD_INT, false},
    [GT_COPY_END] = {"end_timestamp", GT_FIELD_INT, false},
    [GT_COPY_PROCESS] = {NULL, GT_FIELD_INT, false},
    [GT_COPY_DIRECTION] = {"operation", GT_FIELD_INT, false}, /* replaced in gt_rocprof_extra_finish */
    [GT_COPY_BYTES] = {"bytes", GT_FIELD_INT, false},
    [GT_COPY_SOURCE] = {"src_agent_id/handle", GT_FIELD_INT, false},
    [GT_COPY_DESTINATION] = {"dst_agent_id/handle", GT_FIELD_INT, false},
    [GT_COPY_STREAM] = {"stream_id/handle", GT_FIELD_INT, false},
    [GT_COPY_THREAD] = {"thread_id", GT_FIELD_INT, false},
    [GT_COPY_CORRELATION] = {"correlation_id/internal", GT_FIELD_INT, false},
};

enum { PROCESS_ID, PROCESS_INIT, PROCESS_FINI, PROCESS_HOST, PROCESS_FIELDS };

static const gt_field process_fields[PROCESS_FIELDS] = {
    [PROCESS_ID] = {"pid", GT_FIELD_INT, false},
    [PROCESS_INIT] = {"init_time", GT_FIELD_INT, false},
    [PROCESS_FINI] = {"fini_time", GT_FIELD_INT, false},
    [PROCESS_HOST] = {"node/hostname", GT_FIELD_STRING, false},
};

/* The problem of a record whose first `basic` values must have the right type; NULL if there is none. */
static const char *check_types(const gt_record *record, const gt_field *fields, size_t basic)
{
    static _Thread_local char problem[128] GT_THREAD_LOCAL;
    if (record->not_object) return "not an object";
    uint64_t mistyped = record->mistyped & ((UINT64_C(1) << basic) - 1);
    if (!mistyped) return NULL;
    snprintf(problem, sizeof problem, "'%s' is not a 64-bit integer", fields[__builtin_ctzll(mistyped)].path);
    return problem;
}

static const char *check_dispatch(gt_record *record, gt_record_reader *reader)
{
    (void)reader;
    return check_types(record, gt_dispatch_fields, GT_DISPATCH_BASIC_COLUMNS);
}

static const char *check_copy(gt_record *record, gt_record_reader *reader)
{
    (void)reader;
    return check_types(record, copy_fields, GT_COPY_BASIC_COLUMNS);
}

static const gt_record_format dispatch_format = {"kernel dispatch",
                                                 gt_dispatch_fields,
                                                 gt_dispatch_columns,
                                                 GT_DISPATCH_BASIC_COLUMNS,
                                                 check_dispatch,
                                                 NULL,
                                                 NULL,
                                                 NULL,
                                                 NULL};
static const gt_record_format copy_format = {
    "memory copy", copy_fields, gt_copy_columns, GT_COPY_BASIC_COLUMNS, check_copy, NULL, NULL, NULL, NULL};
/* The same with all columns. */
static const gt_record_format detailed_dispatch_format = {"kernel dispatch",
                                                          gt_dispatch_fields,
                                                          gt_dispatch_columns,
                                                          GT_DISPATCH_COLUMNS,
                                                          check_dispatch,
                                                          NULL,
                                                          NULL,
                                                          NULL,
                                                          NULL};
static const gt_record_format detailed_copy_format = {
    "memory copy", copy_fields, gt_copy_columns, GT_COPY_COLUMNS, check_copy, NULL, NULL, NULL, NULL};
static const gt_record_format api_format = {"API call", NULL, NULL, 0,   NULL,
                                            NULL,       NULL, NULL, NULL}; /* counted only */

typedef struct reading {
    gt_json json;
    gt_rocprof *run;
    gt_rocprof_symbols *symbols; /* of the current process */
    gt_rocprof_extra *extra;     /* NULL if it is not wanted */
    gt_rocprof **more;           /* the runs of the other processes, if they are wanted */
    size_t more_count, more_capacity;
    const gt_read_options *options;
    bool has_tool, has_process, has_buffer_records;
    bool is_repeated; /* the first process was read more than once, and kernels of all times have names */
} reading;

/* Of a repeated key the last value counts, so every array starts a new store. */
static bool read_store(reading *r, const gt_record_format *format, gt_store **store)
{
    gt_store_free(*store);
    *store = gt_store_new(format->columns, format->count, r->run->strings);
    return gt_records_read(&r->json, format, *store, r->options);
}

/* The domain of the calls under a key of buffer_records; GT_CALL_DOMAINS if it is another key. */
static gt_call_domain domain_of(gt_str key)
{
    for (int domain = 0; domain < GT_CALL_OTHER; domain++)
        if (gt_str_equals(key, gt_call_domain_name((gt_call_domain)domain))) return (gt_call_domain)domain;
    return GT_CALL_DOMAINS;
}

static bool read_api_calls(reading *r, gt_call_domain domain)
{
    if (r->run->calls) return gt_rocprof_extra_calls(r->extra, &r->json, domain);
    if (domain != GT_CALL_HIP && domain != GT_CALL_HSA) return gt_json_skip(&r->json);
    gt_store *calls = NULL;
    bool read = read_store(r, &api_format, &calls);
    r->run->api_calls += gt_store_count(calls);
    gt_store_free(calls);
    return read;
}

static bool read_metadata(reading *r)
{
    gt_record_reader *reader = gt_record_reader_new(process_fields, PROCESS_FIELDS, r->run->strings);
    gt_record record;
    bool read = gt_record_read(reader, &r->json, &record);
    gt_record_reader_free(reader);
    if (!read) return false;
    if (record.not_object) return gt_json_fail(&r->json, "'metadata' is not an object");
    if (record.mistyped & (1u << PROCESS_INIT | 1u << PROCESS_FINI))
        return gt_json_fail(&r->json, "times in 'metadata' are not integers, or out of the range of 64 bits");
    if (record.present >> PROCESS_ID & 1) r->run->pid = record.cells[PROCESS_ID].integer;
    if (record.present >> PROCESS_INIT & 1) r->run->init_ns = record.cells[PROCESS_INIT].integer;
    if (record.present >> PROCESS_FINI & 1) r->run->fini_ns = record.cells[PROCESS_FINI].integer;
    if (record.present >> PROCESS_HOST & 1) r->run->hostname = (uint32_t)record.cells[PROCESS_HOST].text;
    return true;
}

static bool read_buffer_records(reading *r)
{
    gt_str key;
    unsigned wanted = r->run->wanted;
    r->has_buffer_records = true;
    if (!gt_json_enter_object(&r->json)) return false;
    while (gt_json_next_key(&r->json, &key)) {
        bool read;
        gt_call_domain domain = domain_of(key);
        if (gt_str_equals(key, "kernel_dispatch"))
            read = read_store(
                r, wanted & GT_WANT_DISPATCH_DETAILS ? &detailed_dispatch_format : &dispatch_format,
                &r->run->dispatches);
        else if (gt_str_equals(key, "memory_copy"))
            read = read_store(r, wanted & GT_WANT_COPY_DETAILS ? &detailed_copy_format : &copy_format,
                              &r->run->copies);
        else if (domain != GT_CALL_DOMAINS)
            read = read_api_calls(r, domain);
        else if (r->extra)
            read = gt_rocprof_extra_buffer(r->extra, &r->json, key);
        else
            read = gt_json_skip(&r->json);
        if (!read) return false;
    }
    return !r->json.failed;
}

static bool read_process_members(reading *r)
{
    gt_str key;
    r->has_process = true;
    if (!gt_json_enter_object(&r->json)) return false;
    while (gt_json_next_key(&r->json, &key)) {
        bool read;
        if (gt_str_equals(key, "metadata"))
            read = read_metadata(r);
        else if (gt_str_equals(key, "kernel_symbols"))
            read = gt_rocprof_symbols_read(r->symbols, &r->json);
        else if (gt_str_equals(key, "buffer_records"))
            read = read_buffer_records(r);
        else if (r->extra && gt_str_equals(key, "strings"))
            read = gt_rocprof_extra_names(r->extra, &r->json);
        else if (r->extra && gt_str_equals(key, "agents"))
            read = gt_rocprof_extra_agents(r->extra, &r->json);
        else if (r->extra && gt_str_equals(key, "counters"))
            read = gt_rocprof_extra_counter_names(r->extra, &r->json);
        else if (r->extra && gt_str_equals(key, "callback_records"))
            read = gt_rocprof_extra_callback_records(r->extra, &r->json);
        else
            read = gt_json_skip(&r->json);
        if (!read) return false;
    }
    return !r->json.failed;
}

static bool name_kernels(reading *r)
{
    gt_error error;
    bool named = gt_rocprof_symbols_finish(r->symbols, r->json.stream, &error);
    gt_rocprof_symbols_free(r->symbols);
    r->symbols = NULL;
    return named || gt_json_fail(&r->json, "%s", error.text);
}

/* A truncated process is kept as far as it was read. */
static bool read_process(reading *r)
{
    gt_rocprof *run = r->run;
    r->is_repeated |= run->process_count > 0;
    run->process_count = 0; /* of a repeated key the last value counts */
    if (run->wanted & ~(unsigned)(GT_WANT_ALL_PROCESSES | GT_WANT_DISPATCH_DETAILS))
        r->extra = gt_rocprof_extra_new(run, r->options);
    r->symbols = gt_rocprof_symbols_new(run, r->options);
    bool read = read_process_members(r);
    if (r->extra) gt_rocprof_extra_finish(r->extra);
    gt_rocprof_extra_free(r->extra);
    r->extra = NULL;
    read &= name_kernels(r);
    gt_rocprof_add_process(run, (gt_rocprof_process){.pid = run->pid,
                                                     .hostname = run->hostname,
                                                     .init_ns = run->init_ns,
                                                     .fini_ns = run->fini_ns});
    return read;
}

static bool read_next_process(reading *r)
{
    gt_rocprof *first = r->run;
    r->run = gt_rocprof_new_wanted(first->wanted);
    bool read = read_process(r);
    GT_PUSH(r->more, r->more_count, r->more_capacity, r->run);
    r->run = first;
    return read;
}

static bool read_processes(reading *r)
{
    size_t processes = 0;
    r->has_tool = true;
    if (!gt_json_enter_array(&r->json)) return false;
    while (gt_json_next_element(&r->json)) {
        bool read = processes == 0                               ? read_process(r)
                    : r->options->wanted & GT_WANT_ALL_PROCESSES ? read_next_process(r)
                                                                 : gt_json_skip(&r->json);
        r->run->processes = ++processes;
        if (!read) return false;
    }
    return !r->json.failed;
}

/* Joins all processes to one run and frees their runs. */
static gt_rocprof *join_processes(reading *r)
{
    if (!r->more_count) return r->run;
    gt_rocprof_writers writers = gt_rocprof_write(gt_rocprof_new_wanted(r->options->wanted));
    gt_rocprof *all = writers.run, *first = r->run;
    gt_rocprof_merge(&writers, first);
    all->init_ns = first->init_ns;
    all->fini_ns = first->fini_ns;
    for (size_t i = 0; i < r->more_count; i++) {
        const gt_rocprof *run = r->more[i];
        gt_rocprof_merge(&writers, r->more[i]);
        all->init_ns = run->init_ns < all->init_ns ? run->init_ns : all->init_ns;
        all->fini_ns = run->fini_ns > all->fini_ns ? run->fini_ns : all->fini_ns;
        gt_rocprof_free(r->more[i]);
    }
    gt_rocprof_write_end(&writers);
    all->pid = first->pid;
    all->hostname = all->process[0].hostname;
    all->processes = all->process_count;
    gt_rocprof_free(first);
    r->more_count = 0;
    return all;
}

static bool read_document(reading *r)
{
    gt_str key;
    if (gt_json_peek(&r->json) != GT_JSON_OBJECT) return gt_json_skip(&r->json) && gt_json_finish(&r->json);
    if (!gt_json_enter_object(&r->json)) return false;
    while (gt_json_next_key(&r->json, &key)) {
        bool read = gt_str_equals(key, "rocprofiler-sdk-tool") ? read_processes(r) : gt_json_skip(&r->json);
        if (!read) return false;
    }
    return !r->json.failed && gt_json_finish(&r->json);
}

/* Decides whether the result is a run, after reading succeeded or failed. */
static bool accept(reading *r, bool read, const char *path, gt_error *error)
{
    const char *damage = gt_stream_damage(r->json.stream);
    r->run->is_cut_off = !read;
    if (!read && r->json.truncated && r->has_tool)
        return gt_accept_truncated(path, damage, gt_store_count(r->run->dispatches), "kernel dispatches",
                                   gt_json_offset(&r->json), r->options, error);
    if (!read) {
        *error = r->json.error;
        gt_error_prefix(error, path);
        return false;
    }
    if (!r->has_tool)
        return gt_fail(error, "%s: Not a valid rocprofv3 file: missing 'rocprofiler-sdk-tool' key", path);
    if (!r->has_process) return gt_fail(error, "%s: 'rocprofiler-sdk-tool' contains no process", path);
    if (!r->has_buffer_records) return gt_fail(error, "%s: no 'buffer_records' in the process", path);
    if (damage && r->options->strict) return gt_fail(error, "%s: %s", path, damage);
    if (damage) gt_warn("%s: %s; the trace itself is complete", path, damage);
    return true;
}

/* Only kernels that were dispatched or have counters got a name. */
static void note_dispatched(gt_rocprof *run, bool is_repeated)
{
    bool has_counters = run->counters && gt_store_count(run->counters);
    gt_kernel_names_note_dispatched(run, !is_repeated && !has_counters);
}

gt_rocprof *gt_rocprof_read_stream(gt_stream *stream, const gt_read_options *options, gt_error *error)
{
    unsigned of_one =
        options->wanted &
        ~(unsigned)GT_WANT_DISPATCH_PROCESSES; /* all dispatches of a file are of its one process */
    reading r = {.run = gt_rocprof_new_wanted(of_one), .options = options};
    gt_records_prepare(stream, options);
    gt_progress_begin(gt_stream_path(stream), gt_stream_size(stream));
    gt_json_begin(&r.json, stream, 0);
    bool read = read_document(&r);
    gt_progress_end();
    gt_rocprof *run = NULL;
    if (accept(&r, read, gt_stream_path(stream), error)) {
        if (!gt_stream_seekable(stream)) gt_rocprof_forget_unused_names(r.run);
        for (size_t i = 0; !options->full_names && i <= r.more_count; i++)
            note_dispatched(i ? r.more[i - 1] : r.run, r.is_repeated);
        run = join_processes(&r);
    } else {
        gt_rocprof_free(r.run);
    }
    for (size_t i = 0; i < r.more_count; i++) gt_rocprof_free(r.more[i]);
    gt_free(r.more);
    return run;
}

gt_rocprof *gt_rocprof_read_json(const char *path, const gt_read_options *options, gt_error *error)
{
    gt_stream *stream = gt_stream_open(path, error);
    if (!stream) return NULL;
    gt_rocprof *run = gt_rocprof_read_stream(stream, options, error);
    gt_stream_close(stream);
    return run;
}
