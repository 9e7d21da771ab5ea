/* The list of events of a Chrome trace: the walk to it, the check after it, and the reader of plain events.
 */
#include "input/chrome/chrome.h"
#include "base/progress.h"
#include "json/string.h"
#include "model/arch.h"
#include "trace/pytorch/pytorch.h"

/* ---- the document ---- */

bool gt_chrome_visit(gt_json *json, const gt_chrome_visitor *visitor, bool *found)
{
    gt_str key;
    if (gt_json_peek(json) == GT_JSON_ARRAY) {
        *found = true;
        return visitor->events(visitor->context, json) && gt_json_finish(json);
    }
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        bool is_list = gt_str_equals(key, "traceEvents");
        *found |= is_list;
        if (is_list && gt_json_peek(json) != GT_JSON_ARRAY && !json->failed)
            return gt_json_fail(json, "'traceEvents' must be a list");
        bool read = is_list           ? visitor->events(visitor->context, json)
                    : visitor->member ? visitor->member(visitor->context, json, key)
                                      : gt_json_skip(json);
        if (!read) return false;
    }
    return !json->failed && gt_json_finish(json);
}

bool gt_chrome_accept(const gt_json *json, bool read, bool found, size_t events, const char *missing,
                      const gt_read_options *options, gt_error *error)
{
    const char *path = gt_stream_path(json->stream), *damage = gt_stream_damage(json->stream);
    if (!read && json->truncated && events && !options->strict)
        return gt_accept_truncated(path, damage, events, "events", gt_json_offset(json), options, error);
    if (!read) {
        *error = json->error;
        gt_error_prefix(error, path);
        return false;
    }
    if (!found) return gt_fail(error, "%s: %s", path, missing);
    if (damage && options->strict) return gt_fail(error, "%s: %s", path, damage);
    if (damage) gt_warn("%s: %s; the trace itself is complete", path, damage);
    return true;
}

bool gt_chrome_read_base_time(gt_json *json, gt_str key, gt_store *store)
{
    gt_json_number number;
    if (!gt_str_equals(key, "baseTimeNanoseconds") || gt_json_peek(json) != GT_JSON_NUMBER)
        return gt_json_skip(json);
    if (!gt_json_read_number(json, &number)) return false;
    if (number.is_int) gt_store_set_base_time(store, number.integer);
    return true;
}

/* ---- what a trace says about its run ---- */

bool gt_chrome_count_devices(gt_json *json, size_t *devices)
{
    if (gt_json_peek(json) != GT_JSON_ARRAY) return gt_json_skip(json);
    if (!gt_json_enter_array(json)) return false;
    *devices = 0;
    while (gt_json_next_element(json)) {
        if (!gt_json_skip(json)) return false;
        ++*devices;
    }
    return !json->failed;
}

/* The value at the cursor as a string id; GT_STR_NONE if it is no string. */
static bool read_text(gt_json *json, gt_interner *strings, uint32_t *id)
{
    gt_str raw;
    if (gt_json_peek(json) != GT_JSON_STRING) return gt_json_skip(json);
    if (!gt_json_string(json, &raw)) return false;
    char *text = gt_alloc(raw.len * 3 + 1);
    *id = gt_interner_add(strings, text, gt_json_string_decode(raw, text));
    gt_free(text);
    return true;
}

/* PyTorch on ROCm may leave the name of a GPU empty: its other properties tell. `warp` is 64 on these GPUs.
 */
static void find_name(gt_interner *strings, int64_t warp, gt_device_properties *device)
{
    int64_t units = device->multiprocessors;
    bool is_named = gt_interner_get(strings, device->name).len != 0;
    if (is_named || warp == 32 || units <= 0 || device->compute_major <= 0 || device->compute_minor < 0)
        return;
    const gt_amd_properties gpu = {.major = (uint64_t)device->compute_major,
                                   .minor = (uint64_t)device->compute_minor,
                                   .units = (uint64_t)units,
                                   .memory_bytes =
                                       device->memory_bytes > 0 ? (uint64_t)device->memory_bytes : 0};
    gt_buffer name = {0};
    device->is_deduced = gt_amd_gpu_add_name(&gpu, &name);
    if (device->is_deduced) device->name = gt_interner_add_cstr(strings, gt_buffer_str(&name).bytes);
    gt_buffer_free(&name);
}

static bool read_device(gt_json *json, gt_interner *strings, gt_device_properties *device)
{
    gt_str key;
    int64_t warp = 0;
    if (gt_json_peek(json) != GT_JSON_OBJECT) return gt_json_skip(json);
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        gt_json_number number;
        int64_t *wanted = gt_str_equals(key, "id")               ? &device->id
                          : gt_str_equals(key, "computeMajor")   ? &device->compute_major
                          : gt_str_equals(key, "computeMinor")   ? &device->compute_minor
                          : gt_str_equals(key, "totalGlobalMem") ? &device->memory_bytes
                          : gt_str_equals(key, "numSms")         ? &device->multiprocessors
                          : gt_str_equals(key, "warpSize")       ? &warp
                                                                 : NULL;
        if (gt_str_equals(key, "name")) {
            if (!read_text(json, strings, &device->name)) return false;
        } else if (!wanted || gt_json_peek(json) != GT_JSON_NUMBER) {
            if (!gt_json_skip(json)) return false;
        } else {
            if (!gt_json_read_number(json, &number)) return false;
            if (number.is_int) *wanted = number.integer;
        }
    }
    find_name(strings, warp, device);
    return !json->failed;
}

bool gt_chrome_read_devices(gt_json *json, gt_interner *strings, gt_trace_facts *facts)
{
    if (gt_json_peek(json) != GT_JSON_ARRAY) return gt_json_skip(json);
    if (!gt_json_enter_array(json)) return false;
    facts->device_count = 0;
    while (gt_json_next_element(json)) {
        gt_device_properties device = {.id = GT_EVENT_NONE,
                                       .compute_major = GT_EVENT_NONE,
                                       .compute_minor = GT_EVENT_NONE,
                                       .memory_bytes = GT_EVENT_NONE,
                                       .multiprocessors = GT_EVENT_NONE};
        if (!read_device(json, strings, &device)) return false;
        GT_PUSH(facts->devices, facts->device_count, facts->device_capacity, device);
    }
    return !json->failed;
}

/* Copies as many whole characters as fit, NUL-terminated. */
static void copy_whole(char *out, size_t size, gt_str text)
{
    size_t len = text.len < size ? text.len : size - 1;
    while (len < text.len && len && ((uint8_t)text.bytes[len] & 0xC0) == 0x80) len--;
    memcpy(out, text.bytes, len);
    out[len] = 0;
}

bool gt_chrome_note_member(gt_json *json, const char *prefix, gt_str key, gt_trace_members *members)
{
    struct gt_trace_member *member = &members->items[members->count];
    if (members->count == GT_TRACE_MEMBERS_MAX || strlen(prefix) + key.len >= sizeof member->name ||
        !gt_json_string_is_plain(key) || memchr(key.bytes, 0, key.len))
        return gt_json_skip(json);
    snprintf(member->name, sizeof member->name, "%s%.*s", prefix, (int)key.len, key.bytes);
    gt_json_type type = gt_json_peek(json);
    gt_json_number number;
    gt_str raw;
    if (type == GT_JSON_STRING) {
        if (!gt_json_string(json, &raw)) return false;
        /* Long ones are cut before they are decoded: paths and logs may have any length. */
        char text[3 * sizeof member->value + 1];
        if (raw.len > sizeof member->value) raw.len = sizeof member->value;
        copy_whole(member->value, sizeof member->value, (gt_str){text, gt_json_string_decode(raw, text)});
    } else if (type == GT_JSON_NUMBER) {
        if (!gt_json_read_number(json, &number)) return false;
        if (number.is_int)
            snprintf(member->value, sizeof member->value, "%" PRId64, number.integer);
        else
            snprintf(member->value, sizeof member->value, "%.15g", number.real);
    } else if (type == GT_JSON_TRUE || type == GT_JSON_FALSE) {
        snprintf(member->value, sizeof member->value, "%s", type == GT_JSON_TRUE ? "1" : "0");
        if (!gt_json_literal(json)) return false;
    } else {
        return gt_json_skip(json);
    }
    members->count++;
    return true;
}

bool gt_chrome_read_distributed(gt_json *json, gt_distributed_info *info, gt_trace_members *members)
{
    gt_str key;
    if (gt_json_peek(json) != GT_JSON_OBJECT) return gt_json_skip(json);
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        gt_json_number number;
        int64_t *wanted = gt_str_equals(key, "rank")         ? &info->rank
                          : gt_str_equals(key, "world_size") ? &info->world_size
                                                             : NULL;
        if (!wanted && members) {
            if (!gt_chrome_note_member(json, "distributedInfo/", key, members)) return false;
            continue;
        }
        if (!wanted || gt_json_peek(json) != GT_JSON_NUMBER) {
            if (!gt_json_skip(json)) return false;
            continue;
        }
        if (!gt_json_read_number(json, &number)) return false;
        if (number.is_int) *wanted = number.integer;
    }
    return !json->failed;
}

/* ---- events into a store ---- */

typedef struct event_stores {
    const gt_record_format *format;
    const gt_record_stores *stores;
    const gt_read_options *options;
} event_stores;

static bool read_events(void *context, gt_json *json)
{
    const event_stores *to = context;
    return gt_records_read_apart(json, to->format, to->stores, to->options);
}

static bool read_member(void *context, gt_json *json, gt_str key)
{
    const event_stores *to = context;
    gt_run_info *run = to->options->run;
    gt_store *store = to->stores->items[0];
    if (to->options->facts && gt_str_equals(key, "deviceProperties")) {
        if (!gt_chrome_read_devices(json, gt_store_strings(store), to->options->facts)) return false;
        if (run) run->devices = to->options->facts->device_count;
        return true;
    }
    if (to->options->facts && (gt_str_equals(key, "host_name") || gt_str_equals(key, "hostname")))
        return read_text(json, gt_store_strings(store), &to->options->facts->host);
    if (run && gt_str_equals(key, "deviceProperties")) return gt_chrome_count_devices(json, &run->devices);
    if (run && gt_str_equals(key, "distributedInfo"))
        return gt_chrome_read_distributed(json, &run->distributed, to->options->members);
    if (to->options->members && !gt_str_equals(key, "baseTimeNanoseconds"))
        return gt_chrome_note_member(json, "", key, to->options->members);
    return gt_chrome_read_base_time(json, key, store);
}

bool gt_chrome_read_events(gt_stream *stream, const gt_record_format *format, const gt_record_stores *stores,
                           const char *missing, const gt_read_options *options, gt_error *error)
{
    gt_json json;
    bool found = false;
    event_stores to = {format, stores, options};
    if (options->members) options->members->count = 0;
    if (options->run) *options->run = (gt_run_info){.distributed = {GT_EVENT_NONE, GT_EVENT_NONE}};
    if (!options->is_part) gt_progress_begin(gt_stream_path(stream), gt_stream_size(stream));
    gt_json_begin(&json, stream, 0);
    bool read = gt_chrome_visit(&json, &(gt_chrome_visitor){&to, read_events, read_member}, &found);
    if (!options->is_part) gt_progress_end();
    bool is_whole = read && found && !gt_stream_damage(stream);
    if (options->run) options->run->is_whole = is_whole;
    if (options->facts) options->facts->is_cut_off = !is_whole;
    return gt_chrome_accept(&json, read, found, gt_store_records(stores->items[0]), missing, options, error);
}

/* ---- plain events ---- */

/* Every event is kept, even one that is not an object, so that row numbers are positions in the file. */
static const gt_field plain_fields[GT_PLAIN_COLUMNS] = {
    [GT_PLAIN_PHASE] = {"ph", GT_FIELD_STRING, true},
    [GT_PLAIN_CATEGORY] = {"cat", GT_FIELD_STRING, true},
    [GT_PLAIN_NAME] = {"name", GT_FIELD_STRING, false},
    [GT_PLAIN_PROCESS] = {"pid", GT_FIELD_JSON, false},
    [GT_PLAIN_THREAD] = {"tid", GT_FIELD_JSON, false},
    [GT_PLAIN_START] = {"ts", GT_FIELD_TIME, false},
    [GT_PLAIN_DURATION] = {"dur", GT_FIELD_TIME, false},
    [GT_PLAIN_INTEGRAL] = {NULL, GT_FIELD_INT, false},
    [GT_PLAIN_FLOW] = {"id", GT_FIELD_JSON, false},
    [GT_PLAIN_CORRELATION] = {"args/correlation", GT_FIELD_JSON, false},
};

static const char *set_integral(gt_record *record, gt_record_reader *reader)
{
    (void)reader;
    int64_t bits = (record->integral >> GT_PLAIN_START & 1 ? GT_INTEGRAL_START : 0) |
                   (record->integral >> GT_PLAIN_DURATION & 1 ? GT_INTEGRAL_DURATION : 0);
    record->cells[GT_PLAIN_INTEGRAL].integer = bits;
    record->present |= UINT64_C(1) << GT_PLAIN_INTEGRAL;
    return NULL;
}

gt_plain_events *gt_plain_events_read(gt_stream *stream, const gt_read_options *options, gt_error *error)
{
    const gt_record_format format = {.what = "event",
                                     .fields = plain_fields,
                                     .columns = gt_plain_columns,
                                     .count = GT_PLAIN_COLUMNS,
                                     .check = set_integral};
    gt_interner *strings = gt_interner_new();
    gt_store *store = gt_store_new(gt_plain_columns, GT_PLAIN_COLUMNS, strings);
    if (gt_chrome_read_events(stream, &format, &(gt_record_stores){{store}, 1}, GT_NOT_PYTORCH, options,
                              error))
        return gt_plain_events_new(store, strings);
    gt_store_free(store);
    gt_interner_free(strings);
    return NULL;
}
