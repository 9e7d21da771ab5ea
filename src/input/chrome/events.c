/* A walk down to `traceEvents`, and what is said of a file that ends before its time. */
#include "input/chrome/events.h"
#include "base/log.h"
#include "base/progress.h"

static bool read_events(gt_json *json, const gt_record_format *format, gt_store *store, gt_store *aside,
                        const gt_read_options *options)
{
    return aside ? gt_records_read_two(json, format, store, aside, options)
                 : gt_records_read(json, format, store, options);
}

static bool read_document(gt_json *json, const gt_record_format *format, gt_store *store, gt_store *aside,
                          const gt_read_options *options, bool *found)
{
    gt_str key;
    gt_json_type type = gt_json_peek(json);
    if (type == GT_JSON_ARRAY) {
        *found = true;
        return read_events(json, format, store, aside, options) && gt_json_finish(json);
    }
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        bool events = gt_str_equals(key, "traceEvents");
        *found |= events;
        if (events && gt_json_peek(json) != GT_JSON_ARRAY && !json->failed)
            return gt_json_fail(json, "'traceEvents' must be a list");
        if (!(events ? read_events(json, format, store, aside, options) : gt_json_skip(json))) return false;
    }
    return !json->failed && gt_json_finish(json);
}

bool gt_chrome_accept(const gt_json *json, bool read, bool found, size_t events, const char *missing,
                      const gt_read_options *options, gt_error *error)
{
    const char *path = gt_stream_path(json->stream), *damage = gt_stream_damage(json->stream);
    if (!read && json->truncated && events && !options->strict) {
        gt_warn("%s: the file ends early%s%s%s: %zu events up to byte %llu were read, the rest is missing",
                path, damage ? " (" : "", damage ? damage : "", damage ? ")" : "", events,
                (unsigned long long)gt_json_offset(json));
        return true;
    }
    if (!read) {
        *error = json->error;
        gt_error_prefix(error, path);
        return false;
    }
    if (!found) return gt_fail(error, "%s: %s", path, missing);
    if (damage && options->strict) return gt_fail(error, "%s: %s", path, damage);
    if (damage) gt_warn("%s: %s; the trace itself is whole", path, damage);
    return true;
}

bool gt_chrome_read_events(gt_stream *stream, const gt_record_format *format, gt_store *store,
                           gt_store *aside, const char *missing, const gt_read_options *options,
                           gt_error *error)
{
    gt_json json;
    bool found = false;
    if (!options->is_part) gt_progress_begin(gt_stream_path(stream), gt_stream_size(stream));
    gt_json_begin(&json, stream, 0);
    bool read = read_document(&json, format, store, aside, options, &found);
    if (!options->is_part) gt_progress_end();
    return gt_chrome_accept(&json, read, found, gt_store_records(store), missing, options, error);
}
