/* The list of events of a Chrome trace: the walk to it, the check after it, and the reader of plain events.
 */
#include "input/chrome/chrome.h"
#include "base/log.h"
#include "base/progress.h"
#include "trace/events.h"

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

bool gt_chrome_read_distributed(gt_json *json, gt_distributed_info *info)
{
    gt_str key;
    if (gt_json_peek(json) != GT_JSON_OBJECT) return gt_json_skip(json);
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        gt_json_number number;
        int64_t *wanted = gt_str_equals(key, "rank")         ? &info->rank
                          : gt_str_equals(key, "world_size") ? &info->world_size
                                                             : NULL;
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
    gt_store *store, *aside; /* aside: NULL if the format has none */
    const gt_read_options *options;
} event_stores;

static bool read_events(void *context, gt_json *json)
{
    const event_stores *to = context;
    return to->aside ? gt_records_read_two(json, to->format, to->store, to->aside, to->options)
                     : gt_records_read(json, to->format, to->store, to->options);
}

static bool read_member(void *context, gt_json *json, gt_str key)
{
    const event_stores *to = context;
    gt_run_info *run = to->options->run;
    if (run && gt_str_equals(key, "deviceProperties")) return gt_chrome_count_devices(json, &run->devices);
    if (run && gt_str_equals(key, "distributedInfo"))
        return gt_chrome_read_distributed(json, &run->distributed);
    return gt_chrome_read_base_time(json, key, to->store);
}

bool gt_chrome_read_events(gt_stream *stream, const gt_record_format *format, gt_store *store,
                           gt_store *aside, const char *missing, const gt_read_options *options,
                           gt_error *error)
{
    gt_json json;
    bool found = false;
    event_stores to = {format, store, aside, options};
    if (options->run) *options->run = (gt_run_info){.distributed = {GT_EVENT_NONE, GT_EVENT_NONE}};
    if (!options->is_part) gt_progress_begin(gt_stream_path(stream), gt_stream_size(stream));
    gt_json_begin(&json, stream, 0);
    bool read = gt_chrome_visit(&json, &(gt_chrome_visitor){&to, read_events, read_member}, &found);
    if (!options->is_part) gt_progress_end();
    if (options->run) options->run->is_whole = read && found && !gt_stream_damage(stream);
    return gt_chrome_accept(&json, read, found, gt_store_records(store), missing, options, error);
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

static const gt_store_column plain_columns[GT_PLAIN_COLUMNS] = {
    [GT_PLAIN_PHASE] = {GT_STORE_STRING, 0},  [GT_PLAIN_CATEGORY] = {GT_STORE_STRING, 0},
    [GT_PLAIN_NAME] = {GT_STORE_STRING, 0},   [GT_PLAIN_PROCESS] = {GT_STORE_STRING, 0},
    [GT_PLAIN_THREAD] = {GT_STORE_STRING, 0}, [GT_PLAIN_START] = {GT_STORE_TIME, 0},
    [GT_PLAIN_DURATION] = {GT_STORE_TIME, 0}, [GT_PLAIN_INTEGRAL] = {GT_STORE_INT, 0},
    [GT_PLAIN_FLOW] = {GT_STORE_STRING, 0},   [GT_PLAIN_CORRELATION] = {GT_STORE_STRING, 0},
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
                                     .columns = plain_columns,
                                     .count = GT_PLAIN_COLUMNS,
                                     .check = set_integral};
    gt_interner *strings = gt_interner_new();
    gt_store *store = gt_store_new(plain_columns, GT_PLAIN_COLUMNS, strings);
    if (gt_chrome_read_events(stream, &format, store, NULL, GT_NOT_PYTORCH, options, error))
        return gt_plain_events_new(store, strings);
    gt_store_free(store);
    gt_interner_free(strings);
    return NULL;
}
