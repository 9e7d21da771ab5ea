/* Reads the members of a trace before its events. */
#include "input/chrome/head.h"

#include "json/reader.h"

enum { TEXT_MAX = 200 };

/* A string or a number as text; other values are skipped. False if the JSON is damaged. */
static bool read_text(gt_json *json, gt_arena *arena, const char **text)
{
    gt_json_type type = gt_json_peek(json);
    gt_json_number number;
    gt_str raw;
    if (type == GT_JSON_STRING) {
        if (!gt_json_string(json, &raw)) return false;
        if (raw.len && raw.len <= TEXT_MAX) *text = gt_arena_bytes(arena, raw.bytes, raw.len);
        return true;
    }
    if (type != GT_JSON_NUMBER) return gt_json_skip(json);
    if (!gt_json_read_number(json, &number)) return false;
    if (number.is_int) *text = gt_arena_format(arena, "%" PRId64, number.integer);
    return true;
}

typedef struct wanted {
    const char *key;
    const char **text;
} wanted;

/* Reads the value of a key if it is wanted, and skips it otherwise. */
static bool take(gt_json *json, gt_str key, const wanted *list, size_t count, gt_arena *arena)
{
    for (size_t i = 0; i < count; i++)
        if (gt_str_equals(key, list[i].key)) return read_text(json, arena, list[i].text);
    return gt_json_skip(json);
}

static bool read_object(gt_json *json, const wanted *list, size_t count, gt_arena *arena)
{
    gt_str key;
    if (gt_json_peek(json) != GT_JSON_OBJECT) return gt_json_skip(json);
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key))
        if (!take(json, key, list, count, arena)) return false;
    return !json->failed;
}

static bool read_devices(gt_json *json, gt_trace_head *head, gt_arena *arena)
{
    const char *name = NULL;
    const wanted of_device[] = {{"name", &name}};
    if (gt_json_peek(json) != GT_JSON_ARRAY) return gt_json_skip(json);
    if (!gt_json_enter_array(json)) return false;
    while (gt_json_next_element(json)) {
        if (!read_object(json, of_device, 1, arena)) return false;
        if (!head->gpu) head->gpu = name;
        head->gpus++;
    }
    return !json->failed;
}

gt_trace_head gt_kineto_read_head(gt_stream *stream, gt_arena *arena)
{
    gt_trace_head head = {0};
    const wanted of_trace[] = {{"cuda_driver_version", &head.cuda_driver},
                               {"cuda_runtime_version", &head.cuda_runtime},
                               {"hip_driver_version", &head.hip_driver},
                               {"hip_runtime_version", &head.hip_runtime},
                               {"pytorch_version", &head.pytorch}};
    const wanted of_job[] = {
        {"backend", &head.backend}, {"nccl_version", &head.nccl}, {"world_size", &head.world_size}};
    gt_json json;
    gt_str key;
    gt_json_begin(&json, stream, 0);
    if (gt_json_peek(&json) != GT_JSON_OBJECT || !gt_json_enter_object(&json)) return head;
    while (gt_json_next_key(&json, &key) && !gt_str_equals(key, "traceEvents")) {
        bool read = gt_str_equals(key, "deviceProperties") ? read_devices(&json, &head, arena)
                    : gt_str_equals(key, "distributedInfo")
                        ? read_object(&json, of_job, GT_LENGTH(of_job), arena)
                        : take(&json, key, of_trace, GT_LENGTH(of_trace), arena);
        if (!read) break;
    }
    return head;
}
