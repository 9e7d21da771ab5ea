/* Categories that only one of the profilers writes. */
#include "input/perfetto_origin.h"
#include "input/chrome/kineto_fields.h"
#include "input/perfetto/perfetto.h"
#include "trace/rocprof/rocprof.h"

#include <string.h>

static gt_perfetto_origin origin_of(gt_str category)
{
    if (gt_str_equals(category, "kernel_dispatch") || gt_str_equals(category, "memory_copy") ||
        gt_str_equals(category, "session"))
        return GT_ORIGIN_ROCPROF;
    for (int d = 0; d < GT_CALL_OTHER; d++)
        if (gt_str_equals(category, gt_call_domain_name((gt_call_domain)d))) return GT_ORIGIN_ROCPROF;
    return gt_kineto_kind_of(category, (gt_str){"X", 1}) == GT_KIND_OTHER ? GT_ORIGIN_UNKNOWN
                                                                          : GT_ORIGIN_PYTORCH;
}

static gt_perfetto_origin origin_in(gt_stream *stream)
{
    gt_interner *strings = gt_interner_new();
    gt_perfetto *trace = gt_perfetto_new(stream, strings);
    gt_perfetto_event event;
    gt_perfetto_origin origin = GT_ORIGIN_UNKNOWN;
    while (origin == GT_ORIGIN_UNKNOWN && gt_perfetto_next(trace, &event))
        if (event.category != GT_STR_NONE) origin = origin_of(gt_interner_get(strings, event.category));
    gt_perfetto_free(trace);
    gt_interner_free(strings);
    return origin;
}

bool gt_perfetto_find_origin(gt_stream *stream, gt_perfetto_origin *origin, gt_error *error)
{
    const uint8_t *text;
    size_t len;
    gt_error ignored;
    if (!gt_stream_peek(stream, &text, &len, error)) return false;
    gt_stream *part = gt_stream_memory(text, len, 0, error);
    if (!part) return false;
    *origin = origin_in(part);
    gt_stream_close(part);
    bool is_file = strcmp(gt_stream_path(stream), "standard input") != 0;
    gt_stream *whole =
        *origin == GT_ORIGIN_UNKNOWN && is_file ? gt_stream_open(gt_stream_path(stream), &ignored) : NULL;
    if (whole) *origin = origin_in(whole);
    gt_stream_close(whole);
    return true;
}
