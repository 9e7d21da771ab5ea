/* Down to `traceEvents`, or through a bare array of events; of what stands beside them, only the clock
 * counts. */
#include "transform/fuse_walk.h"
#include "base/progress.h"

#include <stdio.h>

enum { PROGRESS_EVENTS = 4096 };

static void show_progress(gt_fuse_walk *w, uint64_t events)
{
    uint64_t consumed = gt_stream_consumed(w->json.stream);
    gt_progress_add(consumed - w->shown, events);
    w->shown = consumed;
}

static bool walk_events(gt_fuse_walk *w)
{
    w->found = true;
    if (!gt_json_enter_array(&w->json)) return false;
    while (gt_json_next_element(&w->json)) {
        if (!w->record(w)) return false;
        if (++w->events % PROGRESS_EVENTS == 0) show_progress(w, PROGRESS_EVENTS);
    }
    return !w->json.failed;
}

static bool read_base_time(gt_fuse_walk *w)
{
    gt_json_number number;
    if (gt_json_peek(&w->json) != GT_JSON_NUMBER) return gt_json_skip(&w->json);
    if (!gt_json_read_number(&w->json, &number)) return false;
    w->has_base_time = number.is_int;
    w->base_time_ns = number.integer;
    return true;
}

static bool walk_document(gt_fuse_walk *w)
{
    gt_json *json = &w->json;
    gt_str key;
    if (gt_json_peek(json) == GT_JSON_ARRAY) return walk_events(w) && gt_json_finish(json);
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        bool read = gt_str_equals(key, "traceEvents")           ? walk_events(w)
                    : gt_str_equals(key, "baseTimeNanoseconds") ? read_base_time(w)
                                                                : gt_json_skip(json);
        if (!read) return false;
    }
    return !json->failed && gt_json_finish(json);
}

bool gt_fuse_walk_trace(gt_fuse_walk *w, const char *path, bool (*record)(gt_fuse_walk *), void *context,
                        gt_error *error)
{
    *w = (gt_fuse_walk){.record = record, .context = context};
    gt_stream *stream = gt_stream_open(path, error);
    if (!stream) return false;
    gt_json_begin(&w->json, stream, 0);
    bool whole = walk_document(w) || w->has_stopped;
    if (!whole) {
        *error = w->json.error;
        gt_error_prefix(error, path);
    } else if (!w->found) {
        whole = gt_fail(error, "%s: not a PyTorch trace: it has no 'traceEvents'", path);
    } else if (gt_stream_damage(stream) && !w->has_stopped) {
        whole = gt_fail(error, "%s: %s", path, gt_stream_damage(stream));
    }
    show_progress(w, w->events % PROGRESS_EVENTS);
    gt_stream_close(stream);
    return whole;
}

void gt_fuse_name_rank(gt_error *error, size_t rank)
{
    char title[32];
    snprintf(title, sizeof title, "rank %zu", rank);
    gt_error_prefix(error, title);
}
