/* The Kineto reader: a table of wanted values, and a walk down to `traceEvents`. */
#include "input/kineto.h"
#include "base/log.h"
#include "base/progress.h"
#include "input/records.h"

#include <string.h>

static const gt_field event_fields[GT_EVENT_COLUMNS] = {
    [GT_EVENT_PHASE] = {"ph", GT_FIELD_TEXT, true},
    [GT_EVENT_CATEGORY] = {"cat", GT_FIELD_TEXT, true},
    [GT_EVENT_NAME] = {"name", GT_FIELD_TEXT, false},
    [GT_EVENT_PROCESS] = {"pid", GT_FIELD_JSON, false},
    [GT_EVENT_THREAD] = {"tid", GT_FIELD_JSON, false},
    [GT_EVENT_START] = {"ts", GT_FIELD_TIME, false},
    [GT_EVENT_DURATION] = {"dur", GT_FIELD_TIME, false},
    [GT_EVENT_FLOW] = {"id", GT_FIELD_INT, false},
    [GT_EVENT_EXTERNAL_ID] = {"args/External id", GT_FIELD_INT, false},
    [GT_EVENT_CORRELATION] = {"args/correlation", GT_FIELD_INT, false},
    [GT_EVENT_STREAM] = {"args/stream", GT_FIELD_JSON, false},
    [GT_EVENT_DEVICE] = {"args/device", GT_FIELD_INT, false},
    [GT_EVENT_SEQUENCE] = {"args/Sequence number", GT_FIELD_INT, false},
    [GT_EVENT_PYTHON_ID] = {"args/Python id", GT_FIELD_INT, false},
    [GT_EVENT_PYTHON_PARENT] = {"args/Python parent id", GT_FIELD_INT, false},
    [GT_EVENT_INPUT_DIMS] = {"args/Input Dims", GT_FIELD_JSON, false},
    [GT_EVENT_INPUT_TYPES] = {"args/Input type", GT_FIELD_JSON, false},
    [GT_EVENT_INPUT_STRIDES] = {"args/Input Strides", GT_FIELD_JSON, false},
    [GT_EVENT_CONCRETE_INPUTS] = {"args/Concrete Inputs", GT_FIELD_JSON, false},
    [GT_EVENT_GRID] = {"args/grid", GT_FIELD_JSON, false},
    [GT_EVENT_BLOCK] = {"args/block", GT_FIELD_JSON, false},
};

static const gt_record_format event_format = {"event", event_fields, gt_event_columns, GT_EVENT_COLUMNS, NULL};

static bool read_document(gt_json *json, gt_store *store, const gt_read_options *options, bool *found)
{
    gt_text key;
    gt_json_type type = gt_json_peek(json);
    if (type == GT_JSON_ARRAY) {
        *found = true;
        return gt_records_read(json, &event_format, store, options) && gt_json_finish(json);
    }
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        bool events = key.len == 11 && memcmp(key.bytes, "traceEvents", 11) == 0;
        *found |= events;
        if (!(events ? gt_records_read(json, &event_format, store, options) : gt_json_skip(json))) return false;
    }
    return !json->failed && gt_json_finish(json);
}

/* Reading went to its end one way or the other: is the result a trace? */
static bool accept(const gt_json *json, bool read, bool found, size_t events, const gt_read_options *options,
                   gt_error *error)
{
    const char *path = gt_stream_path(json->stream), *damage = gt_stream_damage(json->stream);
    if (!read && json->truncated && events && !options->strict) {
        gt_warn("%s: the file ends early%s%s: %zu events up to byte %llu were read, the rest is missing", path,
                damage ? ": " : "", damage ? damage : "", events, (unsigned long long)gt_json_offset(json));
        return true;
    }
    if (!read) {
        *error = json->error;
        gt_error_prefix(error, path);
        return false;
    }
    if (!found) return gt_fail(error, "%s: not a PyTorch trace: it has no 'traceEvents'", path);
    if (damage && options->strict) return gt_fail(error, "%s: %s", path, damage);
    if (damage) gt_warn("%s: %s; the trace itself is whole", path, damage);
    return true;
}

gt_store *gt_kineto_read(const char *path, gt_strings *strings, const gt_read_options *options, gt_error *error)
{
    gt_stream *stream = gt_stream_open(path, error);
    if (!stream) return NULL;
    gt_store *store = gt_store_new(gt_event_columns, GT_EVENT_COLUMNS, strings);
    gt_json json;
    bool found = false;
    gt_progress_begin(gt_stream_path(stream), gt_stream_size(stream));
    gt_json_begin(&json, stream, 0);
    bool read = read_document(&json, store, options, &found);
    gt_progress_end();
    if (!accept(&json, read, found, gt_store_count(store), options, error)) {
        gt_store_free(store);
        store = NULL;
    }
    gt_stream_close(stream);
    return store;
}
