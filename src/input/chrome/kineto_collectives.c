/* Reads a trace for its collectives: records of other categories are passed over by their brackets, kernels
 * that are no communication are dropped as soon as their name is seen, and texts that collectives do not have
 * are never kept. */
#include "input/chrome/kineto_collectives.h"
#include "base/memory.h"
#include "input/json/records.h"
#include "trace/collective_names.h"
#include "trace/pytorch/pytorch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The columns are those of all events; the ones not named here stay empty and take no room. */
static const gt_field fields[GT_EVENT_COLUMNS] = {
    [GT_EVENT_CATEGORY] = {"cat", GT_FIELD_STRING, true},
    [GT_EVENT_NAME] = {"name", GT_FIELD_VIEW, false},
    [GT_EVENT_START] = {"ts", GT_FIELD_TIME, false},
    [GT_EVENT_DURATION] = {"dur", GT_FIELD_TIME, false},
    [GT_EVENT_EXTERNAL_ID] = {"args/External id", GT_FIELD_INT, false},
    [GT_EVENT_CORRELATION] = {"args/correlation", GT_FIELD_INT, false},
    [GT_EVENT_STREAM] = {"args/stream", GT_FIELD_JSON, false},
    [GT_EVENT_GROUP_NAME] = {"args/Process Group Name", GT_FIELD_JSON, false},
    [GT_EVENT_GROUP_RANKS] = {"args/Process Group Ranks", GT_FIELD_JSON, false},
    [GT_EVENT_GROUP_SIZE] = {"args/Group size", GT_FIELD_INT, false},
    [GT_EVENT_COLLECTIVE] = {"args/Collective name", GT_FIELD_STRING, false},
    [GT_EVENT_DTYPE] = {"args/dtype", GT_FIELD_STRING, false},
    [GT_EVENT_IN_ELEMENTS] = {"args/In msg nelems", GT_FIELD_INT, false},
    [GT_EVENT_OUT_ELEMENTS] = {"args/Out msg nelems", GT_FIELD_INT, false},
    [GT_EVENT_IN_SPLIT] = {"args/In split size", GT_FIELD_JSON, false},
    [GT_EVENT_OUT_SPLIT] = {"args/Out split size", GT_FIELD_JSON, false},
};

static const double MOST_WHOLE = 9007199254740992.0; /* 2^53 */
static const uint64_t links = UINT64_C(1) << GT_EVENT_EXTERNAL_ID | UINT64_C(1) << GT_EVENT_CORRELATION;
static const uint64_t times = UINT64_C(1) << GT_EVENT_START | UINT64_C(1) << GT_EVENT_DURATION;

static bool is_no_kernel(const gt_record *record, gt_record_reader *reader)
{
    if (!(record->present >> GT_EVENT_CATEGORY & 1)) return true;
    gt_str category =
        gt_interner_get(gt_record_strings(reader), (uint32_t)record->cells[GT_EVENT_CATEGORY].text);
    return category.len != 6 || strcasecmp(category.bytes, "kernel") != 0; /* "Kernel": PyTorch 1.8 to 1.11 */
}

/* The kernel's name, good until the next record is read. */
static gt_str name_of(const gt_record *record, gt_record_reader *reader)
{
    gt_str raw = gt_record_view(record, GT_EVENT_NAME);
    if (!memchr(raw.bytes, '\\', raw.len)) return raw;
    return gt_interner_get(gt_record_strings(reader), gt_record_decode(reader, raw));
}

/* Whether a time was written as an integer that a double holds exactly. */
static bool is_whole(const gt_record *record, size_t field)
{
    return record->integral >> field & 1 && fabs(record->cells[field].time) <= MOST_WHOLE;
}

static const char *check_times(gt_record *record)
{
    if ((record->present & times) != times) return "a collective has no 'ts' or no 'dur'";
    if (!isfinite(record->cells[GT_EVENT_START].time + record->cells[GT_EVENT_DURATION].time))
        return "a collective has a time out of range";
    record->cells[GT_EVENT_INTEGRAL].integer =
        (is_whole(record, GT_EVENT_START) ? GT_INTEGRAL_START : 0) |
        (is_whole(record, GT_EVENT_DURATION) ? GT_INTEGRAL_DURATION : 0);
    record->present |= UINT64_C(1) << GT_EVENT_INTEGRAL;
    return NULL;
}

static const char *check(gt_record *record, gt_record_reader *reader)
{
    gt_str name = name_of(record, reader);
    record->dropped = !((record->present | record->mistyped) & links) || !gt_is_communication(name);
    if (record->dropped) return NULL;
    const char *problem = check_times(record);
    if (problem) return problem;
    uint64_t bit = UINT64_C(1);
    if (!(record->present >> GT_EVENT_COLLECTIVE & 1)) {
        const char *told = gt_collective_of_kernel(name);
        if (told) {
            record->cells[GT_EVENT_COLLECTIVE].text = gt_interner_add_cstr(gt_record_strings(reader), told);
            record->present |= bit << GT_EVENT_COLLECTIVE;
        }
    }
    record->present &= ~(links | bit << GT_EVENT_CATEGORY | bit << GT_EVENT_NAME);
    return NULL;
}

static const gt_record_format format = {"event",      fields, gt_event_columns, GT_EVENT_COLUMNS, check,
                                        is_no_kernel, NULL};

static bool count_devices(gt_json *json, size_t *devices)
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

static bool read_rank(gt_json *json, gt_rank_events *into)
{
    gt_str key;
    if (gt_json_peek(json) != GT_JSON_OBJECT) return gt_json_skip(json);
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        gt_json_number number;
        bool wanted = gt_str_equals(key, "rank");
        if (!wanted || gt_json_peek(json) != GT_JSON_NUMBER) {
            if (!gt_json_skip(json)) return false;
            continue;
        }
        if (!gt_json_read_number(json, &number)) return false;
        if (number.is_int) into->rank = number.integer;
    }
    return !json->failed;
}

static bool read_document(gt_json *json, gt_rank_events *into, unsigned threads, bool *found)
{
    const gt_read_options options = {.threads = threads, .strict = true};
    gt_str key;
    if (gt_json_peek(json) == GT_JSON_ARRAY) {
        *found = true;
        return gt_records_read(json, &format, into->store, &options) && gt_json_finish(json);
    }
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        bool events = gt_str_equals(key, "traceEvents");
        *found |= events;
        bool read = events ? gt_records_read(json, &format, into->store, &options)
                    : gt_str_equals(key, "deviceProperties") ? count_devices(json, &into->devices)
                    : gt_str_equals(key, "distributedInfo")  ? read_rank(json, into)
                                                             : gt_json_skip(json);
        if (!read) return false;
    }
    return !json->failed && gt_json_finish(json);
}

gt_rank_events *gt_kineto_read_collectives(gt_stream *stream, unsigned threads, gt_error *error)
{
    gt_rank_events *events = gt_alloc_zero(1, sizeof *events);
    events->strings = gt_interner_new();
    events->store = gt_store_new(gt_event_columns, GT_EVENT_COLUMNS, events->strings);
    events->rank = GT_EVENT_NONE;
    const char *path = gt_stream_path(stream);
    bool found = false;
    gt_json json;
    gt_json_begin(&json, stream, 0);
    bool read = read_document(&json, events, threads, &found);
    if (!read) {
        *error = json.error;
        gt_error_prefix(error, path);
    } else if (!found) {
        read = gt_fail(error, "%s: not a PyTorch trace: it has no 'traceEvents'", path);
    } else if (gt_stream_damage(stream)) {
        read = gt_fail(error, "%s: %s", path, gt_stream_damage(stream));
    }
    events->events = gt_store_records(events->store);
    if (read) return events;
    gt_rank_events_free(events);
    return NULL;
}

void gt_rank_events_free(gt_rank_events *events)
{
    if (!events) return;
    gt_store_free(events->store);
    gt_interner_free(events->strings);
    gt_free(events);
}

size_t gt_kineto_count_devices(gt_stream *stream)
{
    gt_json json;
    gt_str key;
    size_t devices = 0;
    gt_json_begin(&json, stream, 0);
    if (gt_json_peek(&json) != GT_JSON_OBJECT || !gt_json_enter_object(&json)) return 0;
    while (gt_json_next_key(&json, &key) && !gt_str_equals(key, "traceEvents")) {
        if (gt_str_equals(key, "deviceProperties")) return count_devices(&json, &devices) ? devices : 0;
        if (!gt_json_skip(&json)) return 0;
    }
    return 0;
}
