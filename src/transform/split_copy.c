/* Events are copied as they are written, white space and all. */
#include "transform/split_copy.h"

#include "base/memory.h"
#include "base/progress.h"
#include "json/reader.h"

#include <stdlib.h>
#include <string.h>

typedef struct copying {
    gt_json json;
    gt_trace_copy *copy;
    const uint8_t *chosen;
    size_t count, seen; /* events */
    uint64_t shown;     /* bytes that the progress line knows of */
    bool found;
} copying;

/* Passes over the value at the cursor; its text, good until the reader moves on. */
static bool value_text(gt_json *json, gt_str *text)
{
    gt_json_peek(json);
    gt_json_set_mark(json);
    bool read = gt_json_skip(json);
    *text = (gt_str){(const char *)json->mark, read ? (size_t)(json->at - json->mark) : 0};
    gt_json_clear_mark(json);
    return read;
}

static bool copy_events(copying *c)
{
    gt_str text;
    c->found = true;
    if (!gt_json_enter_array(&c->json)) return false;
    while (c->seen < c->count && gt_json_next_element(&c->json)) {
        if (!value_text(&c->json, &text)) return false;
        if (c->chosen[c->seen++]) {
            uint64_t place = gt_temp_store_add(c->copy->spool, text.bytes, text.len);
            GT_PUSH(c->copy->places, c->copy->count, c->copy->capacity, place);
        }
        if (c->seen % 4096 == 0) {
            uint64_t consumed = gt_stream_consumed(c->json.stream);
            gt_progress_add(consumed - c->shown, 4096);
            c->shown = consumed;
        }
    }
    return !c->json.failed && !gt_json_next_element(&c->json) && !c->json.failed;
}

static bool copy_member(copying *c, gt_str key)
{
    gt_buffer *to = c->found ? &c->copy->behind : &c->copy->before;
    size_t begin = to->len;
    gt_buffer_add_cstr(to, to->len ? ",\n\"" : "\"");
    gt_buffer_add(to, key.bytes, key.len);
    gt_buffer_add_cstr(to, "\":");
    gt_str text;
    bool read = value_text(&c->json, &text);
    gt_buffer_add(to, text.bytes, text.len);
    if (!read) to->len = begin;
    return read;
}

static bool copy_document(copying *c)
{
    gt_str key;
    if (gt_json_peek(&c->json) == GT_JSON_ARRAY) return copy_events(c);
    if (!gt_json_enter_object(&c->json)) return false;
    while (gt_json_next_key(&c->json, &key)) {
        bool is_events = gt_str_equals(key, "traceEvents");
        if (!(is_events ? (c->found ? gt_json_skip(&c->json) : copy_events(c)) : copy_member(c, key)))
            return false;
    }
    return !c->json.failed;
}

bool gt_trace_copy_make(gt_trace_copy *copy, const char *path, const char *near_path, const uint8_t *chosen,
                        size_t count, gt_error *error)
{
    *copy = (gt_trace_copy){.spool = gt_temp_store_open(near_path, error)};
    gt_stream *stream = copy->spool ? gt_stream_open(path, error) : NULL;
    if (!stream) return false;
    copying c = {.copy = copy, .chosen = chosen, .count = count};
    gt_progress_begin(path, gt_stream_size(stream));
    gt_json_begin(&c.json, stream, 0);
    bool done = copy_document(&c) || c.seen == count; /* the first reading has warned of an early end */
    gt_progress_end();
    if (!done) {
        *error = c.json.error;
        gt_error_prefix(error, path);
    }
    gt_stream_close(stream);
    return done && gt_temp_store_seal(copy->spool, error);
}

void gt_trace_copy_free(gt_trace_copy *copy)
{
    gt_temp_store_close(copy->spool);
    gt_free(copy->places);
    gt_buffer_free(&copy->before);
    gt_buffer_free(&copy->behind);
}
