/* Column types of the event stores, and whole columns as arrays. */
#include "trace/events.h"

#include "json/string.h"

/* ---- events of PyTorch traces ---- */

const gt_store_column gt_event_columns[GT_EVENT_COLUMNS] = {
    [GT_EVENT_PHASE] = {GT_STORE_STRING, 0},
    [GT_EVENT_CATEGORY] = {GT_STORE_STRING, 0},
    [GT_EVENT_KIND] = {GT_STORE_INT, 0},
    [GT_EVENT_NAME] = {GT_STORE_STRING, 0},
    [GT_EVENT_PROCESS] = {GT_STORE_STRING, 0},
    [GT_EVENT_THREAD] = {GT_STORE_STRING, 0},
    [GT_EVENT_START] = {GT_STORE_TIME, 0},
    [GT_EVENT_DURATION] = {GT_STORE_TIME, 0},
    [GT_EVENT_INTEGRAL] = {GT_STORE_INT, 0},
    [GT_EVENT_FLOW] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_EXTERNAL_ID] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_CORRELATION] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_STREAM] = {GT_STORE_STRING, 0},
    [GT_EVENT_DEVICE] = {GT_STORE_STRING, 0},
    [GT_EVENT_RANK] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_BYTES] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_GRID] = {GT_STORE_STRING, 0},
    [GT_EVENT_SEQUENCE] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_INPUT_DIMS] = {GT_STORE_STRING, 0},
    [GT_EVENT_INPUT_TYPES] = {GT_STORE_STRING, 0},
    [GT_EVENT_INPUT_STRIDES] = {GT_STORE_STRING, 0},
    [GT_EVENT_CONCRETE_INPUTS] = {GT_STORE_STRING, 0},
    [GT_EVENT_GROUP_NAME] = {GT_STORE_STRING, 0},
    [GT_EVENT_GROUP_RANKS] = {GT_STORE_STRING, 0},
    [GT_EVENT_GROUP_SIZE] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_COLLECTIVE] = {GT_STORE_STRING, 0},
    [GT_EVENT_DTYPE] = {GT_STORE_STRING, 0},
    [GT_EVENT_IN_ELEMENTS] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_OUT_ELEMENTS] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_IN_SPLIT] = {GT_STORE_STRING, 0},
    [GT_EVENT_OUT_SPLIT] = {GT_STORE_STRING, 0},
    [GT_EVENT_RECEIVER] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_SENDER] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_KERNEL_FILE] = {GT_STORE_STRING, 0},
    [GT_EVENT_META_NAME] = {GT_STORE_STRING, 0},
    [GT_EVENT_META_LABELS] = {GT_STORE_STRING, 0},
    [GT_EVENT_ALLOCATED] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_RESERVED] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_MEMORY_TYPE] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_MEMORY_ID] = {GT_STORE_INT, GT_EVENT_NONE},
    [GT_EVENT_LAUNCHED] = {GT_STORE_STRING, 0},
};

/* ---- plain events ---- */

const gt_store_column gt_plain_columns[GT_PLAIN_COLUMNS] = {
    [GT_PLAIN_PHASE] = {GT_STORE_STRING, 0},  [GT_PLAIN_CATEGORY] = {GT_STORE_STRING, 0},
    [GT_PLAIN_NAME] = {GT_STORE_STRING, 0},   [GT_PLAIN_PROCESS] = {GT_STORE_STRING, 0},
    [GT_PLAIN_THREAD] = {GT_STORE_STRING, 0}, [GT_PLAIN_START] = {GT_STORE_TIME, 0},
    [GT_PLAIN_DURATION] = {GT_STORE_TIME, 0}, [GT_PLAIN_INTEGRAL] = {GT_STORE_INT, 0},
    [GT_PLAIN_FLOW] = {GT_STORE_STRING, 0},   [GT_PLAIN_CORRELATION] = {GT_STORE_STRING, 0},
};

gt_plain_events *gt_plain_events_new(gt_store *store, gt_interner *strings)
{
    gt_plain_events *e = gt_alloc_zero(1, sizeof *e);
    e->strings = strings;
    e->count = gt_store_count(store);
    e->phase = gt_store_string_ids(store, GT_PLAIN_PHASE);
    e->category = gt_store_string_ids(store, GT_PLAIN_CATEGORY);
    e->name = gt_store_string_ids(store, GT_PLAIN_NAME);
    e->process = gt_store_string_ids(store, GT_PLAIN_PROCESS);
    e->thread = gt_store_string_ids(store, GT_PLAIN_THREAD);
    e->flow = gt_store_string_ids(store, GT_PLAIN_FLOW);
    e->correlation = gt_store_string_ids(store, GT_PLAIN_CORRELATION);
    e->start_us = gt_store_times(store, GT_PLAIN_START);
    e->dur_us = gt_store_times(store, GT_PLAIN_DURATION);
    e->integral = gt_store_small_ints(store, GT_PLAIN_INTEGRAL);
    gt_store_free(store);
    return e;
}

void gt_plain_events_free(gt_plain_events *e)
{
    if (!e) return;
    uint32_t *texts[] = {e->phase, e->category, e->name, e->process, e->thread, e->flow, e->correlation};
    for (size_t i = 0; i < GT_LENGTH(texts); i++) gt_free(texts[i]);
    gt_free_all(e->start_us, e->dur_us, e->integral);
    gt_interner_free(e->strings);
    gt_free(e);
}

/* ---- events of rocprofv3 in Chrome format ---- */

void gt_chrome_free(gt_chrome *trace)
{
    if (!trace) return;
    gt_store_free(trace->store);
    gt_interner_free(trace->strings);
    gt_free_all(trace->order, trace);
}

#define IN_ORDER(values)                                                                                     \
    do {                                                                                                     \
        if (!trace->order) return values;                                                                    \
        __typeof__(values) ordered = gt_alloc(trace->count * sizeof *ordered);                               \
        for (size_t i = 0; i < trace->count; i++) ordered[i] = values[trace->order[i]];                      \
        gt_free(values);                                                                                     \
        return ordered;                                                                                      \
    } while (0)

int64_t *gt_chrome_ints(const gt_chrome *trace, size_t column)
{
    int64_t *values = gt_store_ints(trace->store, column);
    IN_ORDER(values);
}

uint32_t *gt_chrome_strings(const gt_chrome *trace, size_t column)
{
    uint32_t *values = gt_store_string_ids(trace->store, column);
    IN_ORDER(values);
}

double *gt_chrome_times(const gt_chrome *trace, size_t column)
{
    double *values = gt_store_times(trace->store, column);
    IN_ORDER(values);
}

int64_t gt_chrome_agent_number(gt_str json, bool only_numbers)
{
    json = gt_json_unquote(json);
    size_t at = json.len;
    while (at && isdigit((unsigned char)json.bytes[at - 1])) at--;
    if (at == json.len || json.len - at > 9 || (only_numbers && at)) return -1;
    int64_t number = 0;
    for (; at < json.len; at++) number = number * 10 + (json.bytes[at] - '0');
    return number;
}
