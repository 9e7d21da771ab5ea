/* The parts of rocprofv3's JSON that only the extra sheets need: API calls, counters and agents.
 *
 * Calls and copies refer to their names by the numbers of kind and operation, counters by an id. Records are
 * stored with these numbers while the process is read; gt_rocprof_extra_finish replaces them by names at its
 * end. */
#include "input/rocprof/readers.h"
#include "input/json/records.h"
#include "json/string.h"

/* ---- agents ---- */

/* Where each column of agent_info.csv is in the JSON of an agent, in the order of gt_agent_columns. */
const gt_field gt_agent_fields[GT_AGENT_FIELDS] = {
    [GT_AGENT_ID] = {"id/handle", GT_FIELD_INT, false},
    [GT_AGENT_PROCESS] = {NULL, GT_FIELD_INT, false},
    [GT_AGENT_INFO] = {"node_id", GT_FIELD_INT, false},
    {"logical_node_id", GT_FIELD_INT, false},
    {NULL, GT_FIELD_STRING, false},
    {"cpu_cores_count", GT_FIELD_INT, false},
    {"simd_count", GT_FIELD_INT, false},
    {"cpu_core_id_base", GT_FIELD_INT, false},
    {"simd_id_base", GT_FIELD_INT, false},
    {"max_waves_per_simd", GT_FIELD_INT, false},
    {"lds_size_in_kb", GT_FIELD_INT, false},
    {"gds_size_in_kb", GT_FIELD_INT, false},
    {"num_gws", GT_FIELD_INT, false},
    {"wave_front_size", GT_FIELD_INT, false},
    {"num_xcc", GT_FIELD_INT, false},
    {"cu_count", GT_FIELD_INT, false},
    {"array_count", GT_FIELD_INT, false},
    {"num_shader_banks", GT_FIELD_INT, false},
    {"simd_arrays_per_engine", GT_FIELD_INT, false},
    {"cu_per_simd_array", GT_FIELD_INT, false},
    {"simd_per_cu", GT_FIELD_INT, false},
    {"max_slots_scratch_cu", GT_FIELD_INT, false},
    {"gfx_target_version", GT_FIELD_INT, false},
    {"vendor_id", GT_FIELD_INT, false},
    {"device_id", GT_FIELD_INT, false},
    {"location_id", GT_FIELD_INT, false},
    {"domain", GT_FIELD_INT, false},
    {"drm_render_minor", GT_FIELD_INT, false},
    {"num_sdma_engines", GT_FIELD_INT, false},
    {"num_sdma_xgmi_engines", GT_FIELD_INT, false},
    {"num_sdma_queues_per_engine", GT_FIELD_INT, false},
    {"num_cp_queues", GT_FIELD_INT, false},
    {"max_engine_clk_ccompute", GT_FIELD_INT, false},
    {"max_engine_clk_fcompute", GT_FIELD_INT, false},
    {"sdma_fw_version/uCodeSDMA", GT_FIELD_INT, false},
    {"fw_version/uCode", GT_FIELD_INT, false},
    {NULL, GT_FIELD_INT, false},
    {"cu_per_engine", GT_FIELD_INT, false},
    {"max_waves_per_cu", GT_FIELD_INT, false},
    {"family_id", GT_FIELD_INT, false},
    {"workgroup_max_size", GT_FIELD_INT, false},
    {"grid_max_size", GT_FIELD_INT, false},
    {"local_mem_size", GT_FIELD_INT, false},
    {"hive_id", GT_FIELD_JSON, false},
    {"gpu_id", GT_FIELD_INT, false},
    {"workgroup_max_dim/x", GT_FIELD_INT, false},
    {"workgroup_max_dim/y", GT_FIELD_INT, false},
    {"workgroup_max_dim/z", GT_FIELD_INT, false},
    {"grid_max_dim/x", GT_FIELD_INT, false},
    {"grid_max_dim/y", GT_FIELD_INT, false},
    {"grid_max_dim/z", GT_FIELD_INT, false},
    {"name", GT_FIELD_STRING, false},
    {"vendor_name", GT_FIELD_STRING, false},
    {"product_name", GT_FIELD_STRING, false},
    {"model_name", GT_FIELD_STRING, false},
    [GT_AGENT_TYPE_NUMBER] = {"type", GT_FIELD_INT, false},
};

/* By the number in rocprofiler_agent_type_t. */
static const char *const types[] = {"UNK", "CPU", "GPU"};

void gt_agent_complete(gt_record *record, gt_record_reader *reader)
{
    if (!(record->present >> GT_AGENT_TYPE_NUMBER & 1)) return;
    int64_t number = record->cells[GT_AGENT_TYPE_NUMBER].integer;
    const char *type = number >= 0 && number < 3 ? types[number] : types[0];
    record->cells[GT_AGENT_TYPE].text = gt_interner_add_cstr(gt_record_strings(reader), type);
    record->present |= UINT64_C(1) << GT_AGENT_TYPE;
    record->present &= (UINT64_C(1) << GT_AGENT_COLUMNS) - 1;
}

/* ---- calls, counters and their names ---- */

/* An API call as it is in the file. */
enum { RAW_KIND, RAW_OPERATION, RAW_START, RAW_END, RAW_THREAD, RAW_CORRELATION, RAW_STREAM, RAW_COLUMNS };

static const gt_field raw_fields[RAW_COLUMNS] = {
    [RAW_KIND] = {"kind", GT_FIELD_INT, false},
    [RAW_OPERATION] = {"operation", GT_FIELD_INT, false},
    [RAW_START] = {"start_timestamp", GT_FIELD_INT, false},
    [RAW_END] = {"end_timestamp", GT_FIELD_INT, false},
    [RAW_THREAD] = {"thread_id", GT_FIELD_INT, false},
    [RAW_CORRELATION] = {"correlation_id/internal", GT_FIELD_INT, false},
    [RAW_STREAM] = {"stream_id/handle", GT_FIELD_INT, false},
};

static const gt_store_column raw_columns[RAW_COLUMNS] = {
    [RAW_KIND] = {GT_STORE_INT, -1},   [RAW_OPERATION] = {GT_STORE_INT, -1},
    [RAW_START] = {GT_STORE_INT, 0},   [RAW_END] = {GT_STORE_INT, 0},
    [RAW_THREAD] = {GT_STORE_INT, 0},  [RAW_CORRELATION] = {GT_STORE_INT, 0},
    [RAW_STREAM] = {GT_STORE_INT, -1},
};

static const gt_record_format raw_format = {"API call", raw_fields, raw_columns, RAW_COLUMNS, NULL,
                                            NULL,       NULL,       NULL,        NULL};

typedef struct kind {
    uint32_t name;
    uint32_t *operations; /* string ids */
    size_t count, capacity;
} kind;

typedef struct counter_value {
    int64_t dispatch_id, kernel_id, agent;
    uint64_t counter; /* its id */
    double value;
} counter_value;

struct gt_rocprof_extra {
    gt_rocprof *run;
    gt_rocprof_samples *samples; /* NULL if not wanted */
    const gt_read_options *options;
    gt_store *calls[GT_CALL_DOMAINS]; /* as in the file; NULL if it has none */
    kind *kinds;
    size_t kind_count, kind_capacity;
    gt_map messages;      /* a marker's correlation id to its message */
    gt_map counter_names; /* a counter's id to its name */
    counter_value *values;
    size_t value_count, value_capacity;
    gt_store_writer *dispatches;                      /* of the counters; NULL if there are none */
    gt_map counted;                                   /* their ids */
    gt_record_reader *value_reader, *dispatch_reader; /* of the counters; NULL if there are none */
};

gt_rocprof_extra *gt_rocprof_extra_new(gt_rocprof *run, const gt_read_options *options)
{
    gt_rocprof_extra *extra = gt_alloc_zero(1, sizeof *extra);
    extra->run = run;
    extra->options = options;
    if (run->samples) extra->samples = gt_rocprof_samples_new(run, options);
    return extra;
}

void gt_rocprof_extra_free(gt_rocprof_extra *extra)
{
    if (!extra) return;
    for (size_t i = 0; i < GT_CALL_DOMAINS; i++) gt_store_free(extra->calls[i]);
    for (size_t i = 0; i < extra->kind_count; i++) gt_free(extra->kinds[i].operations);
    gt_free_all(extra->kinds, extra->values);
    gt_map_free(&extra->messages);
    gt_map_free(&extra->counter_names);
    gt_store_writer_free(extra->dispatches);
    gt_map_free(&extra->counted);
    gt_record_reader_free(extra->value_reader);
    gt_record_reader_free(extra->dispatch_reader);
    gt_rocprof_samples_free(extra->samples);
    gt_free(extra);
}

/* ---- reading ---- */

bool gt_rocprof_extra_calls(gt_rocprof_extra *extra, gt_json *json, gt_call_domain domain)
{
    gt_store_free(extra->calls[domain]); /* of a repeated key the last value counts */
    extra->calls[domain] = gt_store_new(raw_columns, RAW_COLUMNS, extra->run->strings);
    return gt_records_read(json, &raw_format, extra->calls[domain], extra->options);
}

/* Interns the string at the cursor; GT_STR_NONE for any other value. */
static bool read_string(gt_json *json, gt_interner *strings, uint32_t *text)
{
    gt_str raw;
    *text = GT_STR_NONE;
    if (gt_json_peek(json) != GT_JSON_STRING) return gt_json_skip(json);
    if (!gt_json_string(json, &raw)) return false;
    if (gt_json_string_is_plain(raw)) {
        *text = gt_interner_add(strings, raw.bytes, raw.len);
        return true;
    }
    char *decoded = gt_alloc(raw.len * 3);
    *text = gt_interner_add(strings, decoded, gt_json_string_decode(raw, decoded));
    gt_free(decoded);
    return true;
}

static bool read_operations(gt_rocprof_extra *extra, gt_json *json, kind *of)
{
    if (gt_json_peek(json) != GT_JSON_ARRAY) return gt_json_skip(json);
    if (!gt_json_enter_array(json)) return false;
    while (gt_json_next_element(json)) {
        uint32_t text;
        if (!read_string(json, extra->run->strings, &text)) return false;
        GT_PUSH(of->operations, of->count, of->capacity, text);
    }
    return !json->failed;
}

static bool read_kind(gt_rocprof_extra *extra, gt_json *json, kind *of)
{
    gt_str key;
    if (gt_json_peek(json) != GT_JSON_OBJECT) return gt_json_skip(json);
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        bool read = gt_str_equals(key, "kind")         ? read_string(json, extra->run->strings, &of->name)
                    : gt_str_equals(key, "operations") ? read_operations(extra, json, of)
                                                       : gt_json_skip(json);
        if (!read) return false;
    }
    return !json->failed;
}

static bool read_kinds(gt_rocprof_extra *extra, gt_json *json)
{
    if (gt_json_peek(json) != GT_JSON_ARRAY) return gt_json_skip(json);
    if (!gt_json_enter_array(json)) return false;
    while (gt_json_next_element(json)) {
        kind next = {0};
        bool read = read_kind(extra, json, &next);
        GT_PUSH(extra->kinds, extra->kind_count, extra->kind_capacity, next);
        if (!read) return false;
    }
    return !json->failed;
}

/* Reads an array of objects with an integer and a string into a map. */
static bool read_map(gt_rocprof_extra *extra, gt_json *json, const char *id_path, const char *text_path,
                     gt_map *map)
{
    if (gt_json_peek(json) != GT_JSON_ARRAY) return gt_json_skip(json);
    const gt_field fields[] = {{id_path, GT_FIELD_INT, false}, {text_path, GT_FIELD_STRING, false}};
    gt_record_reader *reader = gt_record_reader_new(fields, 2, extra->run->strings);
    bool read = gt_json_enter_array(json);
    while (read && gt_json_next_element(json)) {
        gt_record record;
        read = gt_record_read(reader, json, &record);
        if (read && (record.present & 3) == 3)
            *gt_map_put(map, (uint64_t)record.cells[0].integer, 0) = (uint32_t)record.cells[1].text;
    }
    gt_record_reader_free(reader);
    return read && !json->failed;
}

bool gt_rocprof_extra_names(gt_rocprof_extra *extra, gt_json *json)
{
    gt_str key;
    if (gt_json_peek(json) != GT_JSON_OBJECT) return gt_json_skip(json);
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        bool read;
        if (gt_str_equals(key, "buffer_records") && !extra->kind_count)
            read = read_kinds(extra, json);
        else if (gt_str_equals(key, "marker_api"))
            read = read_map(extra, json, "key", "value", &extra->messages);
        else if (!extra->samples || !gt_rocprof_samples_read(extra->samples, json, key, &read))
            read = gt_json_skip(json);
        if (!read) return false;
    }
    return !json->failed;
}

bool gt_rocprof_extra_buffer(gt_rocprof_extra *extra, gt_json *json, gt_str key)
{
    bool read;
    if (extra->samples && gt_rocprof_samples_read(extra->samples, json, key, &read)) return read;
    return gt_json_skip(json);
}

bool gt_rocprof_extra_counter_names(gt_rocprof_extra *extra, gt_json *json)
{
    return read_map(extra, json, "id/handle", "name", &extra->counter_names);
}

bool gt_rocprof_extra_agents(gt_rocprof_extra *extra, gt_json *json)
{
    gt_rocprof *run = extra->run;
    if (!run->agents || gt_json_peek(json) != GT_JSON_ARRAY) return gt_json_skip(json);
    gt_record_reader *reader = gt_record_reader_new(gt_agent_fields, GT_AGENT_FIELDS, run->strings);
    gt_store_writer *writer = gt_store_writer_new(gt_agent_columns, GT_AGENT_COLUMNS, run->strings);
    bool read = gt_json_enter_array(json);
    while (read && gt_json_next_element(json)) {
        gt_record record;
        read = gt_record_read(reader, json, &record);
        if (!read || record.not_object) continue;
        gt_agent_complete(&record, reader);
        gt_store_writer_add(writer, record.present, record.cells);
    }
    gt_store_append(run->agents, gt_store_writer_take(writer));
    gt_store_writer_free(writer);
    gt_record_reader_free(reader);
    return read && !json->failed;
}

/* ---- counters ---- */

static bool read_values(gt_rocprof_extra *extra, gt_json *json)
{
    if (gt_json_peek(json) != GT_JSON_ARRAY) return gt_json_skip(json);
    if (!gt_json_enter_array(json)) return false;
    while (gt_json_next_element(json)) {
        gt_record record;
        if (!gt_record_read(extra->value_reader, json, &record)) return false;
        if ((record.present & 3) != 3) continue;
        counter_value value = {.kernel_id = GT_NO_KERNEL_ID,
                               .agent = -1,
                               .counter = (uint64_t)record.cells[0].integer,
                               .value = record.cells[1].time};
        GT_PUSH(extra->values, extra->value_count, extra->value_capacity, value);
    }
    return !json->failed;
}

static void make_counter_readers(gt_rocprof_extra *extra)
{
    static const gt_field value_fields[] = {{"counter_id/handle", GT_FIELD_INT, false},
                                            {"value", GT_FIELD_TIME, false}};
    gt_interner *strings = extra->run->strings;
    extra->value_reader = gt_record_reader_new(value_fields, 2, strings);
    extra->dispatch_reader = gt_record_reader_new(gt_dispatch_fields, GT_DISPATCH_COLUMNS, strings);
}

static void forget_collections(gt_rocprof_extra *extra)
{
    extra->value_count = 0;
    gt_store_writer_free(extra->dispatches);
    extra->dispatches = NULL;
    gt_map_free(&extra->counted);
    extra->counted = (gt_map){0};
}

/* Once, even if its counters are in several records. */
static void add_counted_dispatch(gt_rocprof_extra *extra, const gt_record *record)
{
    size_t width = gt_dispatch_width(extra->run->wanted);
    int64_t id = record->present >> GT_DISPATCH_ID & 1 ? record->cells[GT_DISPATCH_ID].integer : 0;
    uint32_t *seen = gt_map_put(&extra->counted, (uint64_t)id, 0);
    if (*seen != GT_MAP_NONE) return;
    *seen = 0;
    if (!extra->dispatches)
        extra->dispatches = gt_store_writer_new(gt_dispatch_columns, width, extra->run->strings);
    gt_store_writer_add(extra->dispatches, record->present & ((UINT64_C(1) << width) - 1), record->cells);
}

/* The thread is a member next to dispatch_data; anything but an integer is ignored. */
static bool read_thread(gt_json *json, int64_t *thread, bool *has_thread)
{
    gt_json_number number;
    if (gt_json_peek(json) != GT_JSON_NUMBER) return gt_json_skip(json);
    if (!gt_json_read_number(json, &number)) return false;
    *has_thread = number.is_int;
    *thread = number.integer;
    return true;
}

static bool read_collection(gt_rocprof_extra *extra, gt_json *json)
{
    if (gt_json_peek(json) != GT_JSON_OBJECT) return gt_json_skip(json);
    size_t first = extra->value_count;
    gt_record record = {0};
    gt_str key;
    int64_t thread = 0;
    bool has_thread = false;
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        bool read = gt_str_equals(key, "dispatch_data")
                        ? gt_record_read(extra->dispatch_reader, json, &record)
                    : gt_str_equals(key, "thread_id") ? read_thread(json, &thread, &has_thread)
                    : gt_str_equals(key, "records")   ? read_values(extra, json)
                                                      : gt_json_skip(json);
        if (!read) return false;
    }
    if (has_thread) {
        record.cells[GT_DISPATCH_THREAD].integer = thread;
        record.present |= UINT64_C(1) << GT_DISPATCH_THREAD;
    }
    for (size_t i = first; i < extra->value_count; i++) {
        counter_value *value = &extra->values[i];
        if (record.present >> GT_DISPATCH_KERNEL_ID & 1)
            value->kernel_id = record.cells[GT_DISPATCH_KERNEL_ID].integer;
        if (record.present >> GT_DISPATCH_ID & 1) value->dispatch_id = record.cells[GT_DISPATCH_ID].integer;
        if (record.present >> GT_DISPATCH_AGENT & 1) value->agent = record.cells[GT_DISPATCH_AGENT].integer;
    }
    if (extra->value_count > first) add_counted_dispatch(extra, &record);
    return !json->failed;
}

bool gt_rocprof_extra_callback_records(gt_rocprof_extra *extra, gt_json *json)
{
    gt_str key;
    if (!extra->run->counters || gt_json_peek(json) != GT_JSON_OBJECT) return gt_json_skip(json);
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        if (!gt_str_equals(key, "counter_collection") || gt_json_peek(json) != GT_JSON_ARRAY) {
            if (!gt_json_skip(json)) return false;
            continue;
        }
        forget_collections(extra);
        if (!extra->value_reader) make_counter_readers(extra);
        if (!gt_json_enter_array(json)) return false;
        while (gt_json_next_element(json))
            if (!read_collection(extra, json)) return false;
        if (json->failed) return false;
    }
    return !json->failed;
}

/* ---- the end of a process ---- */

static const kind *find_kind(const gt_rocprof_extra *extra, int64_t number)
{
    return number >= 0 && (uint64_t)number < extra->kind_count ? &extra->kinds[number] : NULL;
}

static uint32_t find_operation(const kind *of, int64_t number)
{
    return of && number >= 0 && (uint64_t)number < of->count ? of->operations[number] : GT_STR_NONE;
}

/* A marker is named by its message. */
static uint32_t find_message(const gt_rocprof_extra *extra, int64_t correlation)
{
    uint32_t text =
        extra->messages.count ? gt_map_get(&extra->messages, (uint64_t)correlation, 0) : GT_MAP_NONE;
    return text == GT_MAP_NONE ? GT_STR_NONE : text;
}

/* The calls of a domain, of which each thread completes a range. */
typedef struct call_job {
    const gt_rocprof_extra *extra;
    gt_call_domain domain;
    const int64_t *columns[RAW_COLUMNS];
    gt_store_piece **pieces; /* by range */
} call_job;

static void finish_range(void *context, size_t begin, size_t end)
{
    const call_job *job = context;
    const gt_rocprof_extra *extra = job->extra;
    gt_store_writer *writer = gt_store_writer_new(gt_call_columns, GT_CALL_COLUMNS, extra->run->strings);
    for (size_t i = begin; i < end; i++) {
        const kind *of = find_kind(extra, job->columns[RAW_KIND][i]);
        uint32_t name = find_operation(of, job->columns[RAW_OPERATION][i]);
        int64_t correlation = job->columns[RAW_CORRELATION][i];
        uint32_t message = job->domain == GT_CALL_MARKER ? find_message(extra, correlation) : GT_STR_NONE;
        gt_store_cell cells[GT_CALL_COLUMNS];
        cells[GT_CALL_DOMAIN].integer = job->domain;
        cells[GT_CALL_KIND].text = of ? of->name : GT_STR_NONE;
        cells[GT_CALL_NAME].text = message ? message : name;
        cells[GT_CALL_START].integer = job->columns[RAW_START][i];
        cells[GT_CALL_END].integer = job->columns[RAW_END][i];
        cells[GT_CALL_PROCESS].integer = 0;
        cells[GT_CALL_THREAD].integer = job->columns[RAW_THREAD][i];
        cells[GT_CALL_CORRELATION].integer = correlation;
        cells[GT_CALL_STREAM].integer = job->columns[RAW_STREAM][i];
        gt_store_writer_add(writer, (UINT64_C(1) << GT_CALL_COLUMNS) - 1, cells);
    }
    job->pieces[begin / GT_ROCPROF_ROWS] = gt_store_writer_take(writer);
    gt_store_writer_free(writer);
}

static void finish_calls(gt_rocprof_extra *extra, gt_call_domain domain)
{
    gt_store *raw = extra->calls[domain];
    size_t count = raw ? gt_store_count(raw) : 0, ranges = gt_range_count(count, GT_ROCPROF_ROWS);
    if (!count) return;
    static const size_t all[] = {RAW_KIND,   RAW_OPERATION,   RAW_START, RAW_END,
                                 RAW_THREAD, RAW_CORRELATION, RAW_STREAM};
    int64_t *columns[RAW_COLUMNS];
    gt_store_take_ints(raw, all, RAW_COLUMNS, columns);
    call_job job = {.extra = extra, .domain = domain, .pieces = gt_alloc_zero(ranges, sizeof *job.pieces)};
    for (size_t c = 0; c < RAW_COLUMNS; c++) job.columns[c] = columns[c];
    gt_parallel_ranges(count, GT_ROCPROF_ROWS, finish_range, &job);
    for (size_t i = 0; i < ranges; i++) gt_store_append(extra->run->calls, job.pieces[i]);
    gt_free(job.pieces);
    for (size_t c = 0; c < RAW_COLUMNS; c++) gt_free(columns[c]);
    if (domain == GT_CALL_HIP || domain == GT_CALL_HSA) extra->run->api_calls += count;
}

static void finish_counters(gt_rocprof_extra *extra, gt_store_writer *writer)
{
    for (size_t i = 0; i < extra->value_count; i++) {
        const counter_value *value = &extra->values[i];
        uint32_t name =
            extra->counter_names.count ? gt_map_get(&extra->counter_names, value->counter, 0) : GT_MAP_NONE;
        if (name == GT_MAP_NONE) continue;
        gt_store_cell cells[GT_COUNTER_COLUMNS];
        double sum = value->value;
        /* One value per hardware instance; those of one counter are adjacent, and are added up. */
        while (i + 1 < extra->value_count && extra->values[i + 1].counter == value->counter &&
               extra->values[i + 1].dispatch_id == value->dispatch_id)
            sum += extra->values[++i].value;
        cells[GT_COUNTER_PROCESS].integer = 0;
        cells[GT_COUNTER_DISPATCH].integer = value->dispatch_id;
        cells[GT_COUNTER_KERNEL_ID].integer = value->kernel_id;
        cells[GT_COUNTER_NAME].text = name;
        cells[GT_COUNTER_VALUE].time = sum;
        cells[GT_COUNTER_AGENT].integer = value->agent;
        gt_store_writer_add(writer, (UINT64_C(1) << GT_COUNTER_COLUMNS) - 1, cells);
    }
}

/* The direction per operation number, from the file's own table of names. */
static bool find_directions(const gt_rocprof_extra *extra, int64_t *directions, size_t count)
{
    for (size_t k = 0; k < extra->kind_count; k++) {
        const kind *of = &extra->kinds[k];
        if (!gt_str_equals(gt_interner_get(extra->run->strings, of->name), "MEMORY_COPY")) continue;
        for (size_t i = 0; i < count; i++) {
            gt_str name = gt_interner_get(extra->run->strings, find_operation(of, (int64_t)i));
            directions[i] = gt_copy_direction_of(name);
        }
        return true;
    }
    return false;
}

static void finish_copies(gt_rocprof_extra *extra)
{
    enum { OPERATIONS = 16 };
    gt_rocprof *run = extra->run;
    size_t count = gt_store_count(run->copies);
    int64_t directions[OPERATIONS];
    if (!(run->wanted & GT_WANT_COPY_DETAILS) || !count) return;
    bool known = find_directions(extra, directions, OPERATIONS);
    int64_t *columns[GT_COPY_COLUMNS];
    for (size_t c = 0; c < GT_COPY_COLUMNS; c++) columns[c] = gt_store_ints(run->copies, c);
    gt_store_free(run->copies);
    run->copies = gt_store_new(gt_copy_columns, GT_COPY_COLUMNS, run->strings);
    gt_store_writer *writer = gt_store_writer_new(gt_copy_columns, GT_COPY_COLUMNS, run->strings);
    for (size_t i = 0; i < count; i++) {
        gt_store_cell cells[GT_COPY_COLUMNS];
        for (size_t c = 0; c < GT_COPY_COLUMNS; c++) cells[c].integer = columns[c][i];
        int64_t operation = columns[GT_COPY_DIRECTION][i];
        bool in_table = known && operation >= 0 && operation < OPERATIONS;
        cells[GT_COPY_DIRECTION].integer = in_table ? directions[operation]
                                           : !known && operation > 0 && operation < GT_COPY_DIRECTIONS
                                               ? operation
                                               : GT_COPY_UNKNOWN;
        gt_store_writer_add(writer, (UINT64_C(1) << GT_COPY_COLUMNS) - 1, cells);
    }
    gt_store_append(run->copies, gt_store_writer_take(writer));
    gt_store_writer_free(writer);
    for (size_t c = 0; c < GT_COPY_COLUMNS; c++) gt_free(columns[c]);
}

void gt_rocprof_extra_finish(gt_rocprof_extra *extra)
{
    gt_rocprof *run = extra->run;
    for (int domain = 0; run->calls && domain < GT_CALL_DOMAINS; domain++)
        finish_calls(extra, (gt_call_domain)domain);
    if (run->counters && extra->value_count) {
        gt_store_writer *writer = gt_store_writer_new(gt_counter_columns, GT_COUNTER_COLUMNS, run->strings);
        finish_counters(extra, writer);
        gt_store_append(run->counters, gt_store_writer_take(writer));
        gt_store_writer_free(writer);
    }
    if (extra->dispatches && !gt_store_count(run->dispatches))
        gt_store_append(run->dispatches, gt_store_writer_take(extra->dispatches));
    finish_copies(extra);
    if (extra->samples) gt_rocprof_samples_finish(extra->samples);
}
