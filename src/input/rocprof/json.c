/* The reader of rocprofv3's JSON files.
 *
 * One table of fields per kind of record says which values are read; to read one more, add a column to
 * trace/rocprof/rocprof.h, its type to rocprof.c there, and a row to the table. A column without a row or
 * with the path NULL is not read. The rest is the way down to the arrays of records. Keys may come in any
 * order, and of a repeated key the last value counts. What no sheet uses (code objects, configuration) is
 * skipped. json_extra.c reads what only the extra sheets need. */
#include "input/rocprof/readers.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/progress.h"
#include "input/json/records.h"

#include <stdio.h>
#include <stdlib.h>

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

enum {
    SYMBOL_ID,
    SYMBOL_TRUNCATED,
    SYMBOL_FORMATTED,
    SYMBOL_NAME,
    SYMBOL_CHOSEN,
    SYMBOL_FULL, /* hash of the full name; 0: none */
    SYMBOL_BASIC_COLUMNS,
    SYMBOL_VGPRS = SYMBOL_BASIC_COLUMNS, /* only with GT_WANT_DISPATCH_DETAILS */
    SYMBOL_ACCUM_VGPRS,
    SYMBOL_SGPRS,
    SYMBOL_LDS,
    SYMBOL_COLUMNS
};

static const gt_field symbol_fields[SYMBOL_COLUMNS] = {
    [SYMBOL_ID] = {"kernel_id", GT_FIELD_INT, false},
    [SYMBOL_TRUNCATED] = {"truncated_kernel_name", GT_FIELD_VIEW, false},
    [SYMBOL_FORMATTED] = {"formatted_kernel_name", GT_FIELD_VIEW, false},
    [SYMBOL_NAME] = {"kernel_name", GT_FIELD_VIEW, false},
    [SYMBOL_CHOSEN] = {NULL, GT_FIELD_STRING, false},
    [SYMBOL_FULL] = {NULL, GT_FIELD_INT, false},
    [SYMBOL_VGPRS] = {"arch_vgpr_count", GT_FIELD_INT, false},
    [SYMBOL_ACCUM_VGPRS] = {"accum_vgpr_count", GT_FIELD_INT, false},
    [SYMBOL_SGPRS] = {"sgpr_count", GT_FIELD_INT, false},
    [SYMBOL_LDS] = {"group_segment_size", GT_FIELD_INT, false},
};

static const gt_store_column symbol_columns[SYMBOL_COLUMNS] = {
    [SYMBOL_ID] = {GT_STORE_INT, 0},           [SYMBOL_TRUNCATED] = {GT_STORE_STRING, 0},
    [SYMBOL_FORMATTED] = {GT_STORE_STRING, 0}, [SYMBOL_NAME] = {GT_STORE_STRING, 0},
    [SYMBOL_CHOSEN] = {GT_STORE_STRING, 0},    [SYMBOL_FULL] = {GT_STORE_INT, 0},
    [SYMBOL_VGPRS] = {GT_STORE_INT, -1},       [SYMBOL_ACCUM_VGPRS] = {GT_STORE_INT, -1},
    [SYMBOL_SGPRS] = {GT_STORE_INT, -1},       [SYMBOL_LDS] = {GT_STORE_INT, -1},
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

/* Keeps only the first of three forms of the kernel's name that is not empty; the long forms are most of the
 * file. */
static const char *choose_name(gt_record *record, gt_record_reader *reader, const int forms[3])
{
    if (record->not_object) return "not an object";
    if (!(record->present >> SYMBOL_ID & 1)) return "kernel symbol without an integer 'kernel_id'";
    gt_str chosen = {"", 0};
    for (size_t i = 0; i < 3 && !chosen.len; i++) chosen = gt_record_view(record, (size_t)forms[i]);
    bool named = chosen.len || record->present >> SYMBOL_NAME & 1;
    gt_str full = gt_record_view(record, SYMBOL_FORMATTED);
    if (full.len) {
        record->cells[SYMBOL_FULL].integer = (int64_t)gt_kernel_name_hash(full);
        record->present |= UINT64_C(1) << SYMBOL_FULL;
    }
    record->present &=
        ~(UINT64_C(1) << SYMBOL_TRUNCATED | UINT64_C(1) << SYMBOL_FORMATTED | UINT64_C(1) << SYMBOL_NAME);
    if (!named) return NULL;
    record->cells[SYMBOL_CHOSEN].text = gt_record_decode(reader, chosen);
    if (!record->cells[SYMBOL_CHOSEN].text) return "invalid escape in a kernel name";
    record->present |= UINT64_C(1) << SYMBOL_CHOSEN;
    return NULL;
}

static const char *check_symbol(gt_record *record, gt_record_reader *reader)
{
    static const int forms[] = {SYMBOL_TRUNCATED, SYMBOL_FORMATTED, SYMBOL_NAME};
    return choose_name(record, reader, forms);
}

static const char *check_full_symbol(gt_record *record, gt_record_reader *reader)
{
    static const int forms[] = {SYMBOL_FORMATTED, SYMBOL_NAME, SYMBOL_TRUNCATED};
    return choose_name(record, reader, forms);
}

static const gt_record_format dispatch_format = {"kernel dispatch",
                                                 gt_dispatch_fields,
                                                 gt_dispatch_columns,
                                                 GT_DISPATCH_BASIC_COLUMNS,
                                                 check_dispatch,
                                                 NULL,
                                                 NULL,
                                                 NULL};
static const gt_record_format copy_format = {
    "memory copy", copy_fields, gt_copy_columns, GT_COPY_BASIC_COLUMNS, check_copy, NULL, NULL, NULL};
static const gt_record_format symbol_format = {
    "kernel symbol", symbol_fields, symbol_columns, SYMBOL_BASIC_COLUMNS, check_symbol, NULL, NULL, NULL};
/* The same with all columns. */
static const gt_record_format detailed_dispatch_format = {"kernel dispatch",
                                                          gt_dispatch_fields,
                                                          gt_dispatch_columns,
                                                          GT_DISPATCH_COLUMNS,
                                                          check_dispatch,
                                                          NULL,
                                                          NULL,
                                                          NULL};
static const gt_record_format detailed_copy_format = {
    "memory copy", copy_fields, gt_copy_columns, GT_COPY_COLUMNS, check_copy, NULL, NULL, NULL};
static const gt_record_format detailed_symbol_format = {
    "kernel symbol", symbol_fields, symbol_columns, SYMBOL_COLUMNS, check_symbol, NULL, NULL, NULL};
static const gt_record_format api_format = {"API call", NULL, NULL, 0,
                                            NULL,       NULL, NULL, NULL}; /* counted only */

typedef struct reading {
    gt_json json;
    gt_rocprof *run;
    gt_rocprof_extra *extra; /* NULL if it is not wanted */
    gt_rocprof **more;       /* the runs of the other processes, if they are wanted */
    size_t more_count, more_capacity;
    const gt_read_options *options;
    bool has_tool, has_process, has_buffer_records;
} reading;

/* Of a repeated key the last value counts, so every array starts a new store. */
static bool read_store(reading *r, const gt_record_format *format, gt_store **store)
{
    gt_store_free(*store);
    *store = gt_store_new(format->columns, format->count, r->run->strings);
    return gt_records_read(&r->json, format, *store, r->options);
}

static int32_t register_count(int64_t value)
{
    return value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

/* `columns` by column of symbols, from SYMBOL_VGPRS on. */
static gt_kernel_use use_of(int64_t *const *columns, size_t i)
{
    return (gt_kernel_use){register_count(columns[SYMBOL_VGPRS][i]),
                           register_count(columns[SYMBOL_ACCUM_VGPRS][i]),
                           register_count(columns[SYMBOL_SGPRS][i]), register_count(columns[SYMBOL_LDS][i])};
}

static bool read_symbols(reading *r)
{
    gt_store *symbols = NULL;
    bool detailed = r->run->wanted & GT_WANT_DISPATCH_DETAILS;
    gt_record_format format = detailed ? detailed_symbol_format : symbol_format;
    if (r->options->full_names) format.check = check_full_symbol;
    bool read = read_store(r, &format, &symbols);
    size_t count = gt_store_count(symbols);
    int64_t *ids = gt_store_ints(symbols, SYMBOL_ID);
    int64_t *full_names = gt_store_ints(symbols, SYMBOL_FULL);
    uint32_t *names = gt_store_string_ids(symbols, SYMBOL_CHOSEN);
    int64_t *columns[SYMBOL_COLUMNS] = {0};
    for (size_t c = SYMBOL_VGPRS; detailed && c < SYMBOL_COLUMNS; c++) columns[c] = gt_store_ints(symbols, c);
    for (size_t i = 0; i < count; i++) {
        gt_kernel_names_set_use(r->run, ids[i], names[i],
                                detailed ? use_of(columns, i) : GT_KERNEL_USE_UNKNOWN);
        gt_kernel_names_set_full(r->run, ids[i], (uint64_t)full_names[i]);
    }
    for (size_t c = SYMBOL_VGPRS; c < SYMBOL_COLUMNS; c++) gt_free(columns[c]);
    gt_free(ids);
    gt_free(full_names);
    gt_free(names);
    gt_store_free(symbols);
    return read;
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
        return gt_json_fail(&r->json, "times in 'metadata' are not integers");
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
            read = read_symbols(r);
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

/* A truncated process is kept as far as it was read. */
static bool read_process(reading *r)
{
    gt_rocprof *run = r->run;
    run->process_count = 0; /* of a repeated key the last value counts */
    if (run->wanted & ~(unsigned)(GT_WANT_ALL_PROCESSES | GT_WANT_DISPATCH_DETAILS))
        r->extra = gt_rocprof_extra_new(run, r->options);
    bool read = read_process_members(r);
    if (r->extra) gt_rocprof_extra_finish(r->extra);
    gt_rocprof_extra_free(r->extra);
    r->extra = NULL;
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

gt_rocprof *gt_rocprof_read_stream(gt_stream *stream, const gt_read_options *options, gt_error *error)
{
    unsigned of_one =
        options->wanted &
        ~(unsigned)GT_WANT_DISPATCH_PROCESSES; /* all dispatches of a file are of its one process */
    reading r = {.run = gt_rocprof_new_wanted(of_one), .options = options};
    gt_progress_begin(gt_stream_path(stream), gt_stream_size(stream));
    gt_json_begin(&r.json, stream, 0);
    bool read = read_document(&r);
    gt_progress_end();
    gt_rocprof *run = NULL;
    if (accept(&r, read, gt_stream_path(stream), error)) {
        gt_rocprof_forget_unused_names(r.run);
        for (size_t i = 0; !options->full_names && i <= r.more_count; i++)
            gt_kernel_names_note_dispatched(i ? r.more[i - 1] : r.run);
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
