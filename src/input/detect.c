/* Format detection: binary formats by their first bytes, JSON formats by the keys of the outermost object,
 * CSV files of rocprofv3 and ncu by their column names. */
#include "input/detect.h"
#include "procs/part.h"
#include "input/ncu/ncu.h"
#include "input/nsys/nsys.h"
#include "input/perfetto/perfetto.h"
#include "input/rocprof/readers.h"
#include "input/xla/xplane.h"
#include "os/paths.h"

enum { SHORT_LOOK_BYTES = 64 * 1024 }; /* a trace may describe eight GPUs before its events */

static const char *const names[GT_FORMATS] = {
    [GT_FORMAT_UNKNOWN] = "unknown format",
    [GT_FORMAT_ROCPROF_JSON] = "rocprofv3 JSON trace",
    [GT_FORMAT_ROCPROF_CSV] = "rocprofv3 CSV file",
    [GT_FORMAT_NCU_CSV] = "Nsight Compute CSV file",
    [GT_FORMAT_NCU_REPORT] = "Nsight Compute report",
    [GT_FORMAT_KINETO_JSON] = "PyTorch trace (Chrome format)",
    [GT_FORMAT_OTHER_JSON] = "JSON file without a known trace",
    [GT_FORMAT_XPLANE] = "JAX profile (XPlane)",
    [GT_FORMAT_PERFETTO] = "Perfetto trace",
    [GT_FORMAT_SQLITE] = "SQLite database",
    [GT_FORMAT_NSYS_REPORT] = "Nsight Systems report",
    [GT_FORMAT_ZIP] = "zip archive",
    [GT_FORMAT_ELF] = "executable program",
    [GT_FORMAT_INDEX] = "index of gputally, without its trace",
    [GT_FORMAT_PARTIAL] = "partial of gputally",
    [GT_FORMAT_EMPTY] = "empty file",
};

static const struct {
    const char *bytes;
    size_t len;
    gt_trace_format format;
} magics[] = {
    {"SQLite format 3", 16, GT_FORMAT_SQLITE}, /* including the NUL */
    {"PK\3\4", 4, GT_FORMAT_ZIP},
    {"\177ELF", 4, GT_FORMAT_ELF},
    {"GTINDEX\n", 8, GT_FORMAT_INDEX},
    {GT_PART_MAGIC, 8, GT_FORMAT_PARTIAL},
    {"NVR", 4, GT_FORMAT_NCU_REPORT}, /* including the NUL */
};

static const struct {
    const char *key;
    gt_trace_format format;
} keys[] = {
    {"rocprofiler-sdk-tool", GT_FORMAT_ROCPROF_JSON},
    {"traceEvents", GT_FORMAT_KINETO_JSON},
};

const char *gt_format_name(gt_trace_format format)
{
    return names[format];
}

static gt_trace_format format_of_object(gt_json *json)
{
    gt_str key;
    if (!gt_json_enter_object(json)) return GT_FORMAT_UNKNOWN;
    while (gt_json_next_key(json, &key)) {
        for (size_t i = 0; i < GT_LENGTH(keys); i++)
            if (gt_str_equals(key, keys[i].key)) return keys[i].format;
        if (!gt_json_skip(json)) break;
    }
    return GT_FORMAT_OTHER_JSON;
}

/* An array of events, which all have a phase, is a Chrome trace too. */
static gt_trace_format format_of_array(gt_json *json)
{
    gt_str key;
    if (!gt_json_enter_array(json) || !gt_json_next_element(json) || gt_json_peek(json) != GT_JSON_OBJECT ||
        !gt_json_enter_object(json))
        return GT_FORMAT_OTHER_JSON;
    while (gt_json_next_key(json, &key)) {
        if (gt_str_equals(key, "ph")) return GT_FORMAT_KINETO_JSON;
        if (!gt_json_skip(json)) break;
    }
    return GT_FORMAT_OTHER_JSON;
}

static gt_trace_format format_of_json(gt_str text)
{
    gt_json json;
    if (text.len >= 3 && memcmp(text.bytes, "\xEF\xBB\xBF", 3) == 0)
        text = (gt_str){text.bytes + 3, text.len - 3};
    gt_json_begin_str(&json, text);
    switch (gt_json_peek(&json)) {
    case GT_JSON_OBJECT:
        return format_of_object(&json);
    case GT_JSON_ARRAY:
        return format_of_array(&json);
    default:
        return json.truncated ? GT_FORMAT_EMPTY : GT_FORMAT_UNKNOWN;
    }
}

bool gt_detect(gt_stream *stream, gt_trace_format *format, gt_error *error)
{
    const uint8_t *text;
    size_t len;
    if (!gt_stream_peek(stream, &text, &len, error)) return false;
    for (size_t i = 0; i < GT_LENGTH(magics); i++)
        if (len >= magics[i].len && memcmp(text, magics[i].bytes, magics[i].len) == 0) {
            *format = magics[i].format;
            return true;
        }
    gt_str first = {(const char *)text, len};
    if (gt_nsys_is_report(first)) {
        *format = GT_FORMAT_NSYS_REPORT;
        return true;
    }
    *format = gt_is_xplane(first)     ? GT_FORMAT_XPLANE
              : gt_is_perfetto(first) ? GT_FORMAT_PERFETTO
                                      : format_of_json(first);
    if (*format == GT_FORMAT_UNKNOWN && gt_rocprof_csv_kind(first) != GT_CSV_UNKNOWN)
        *format = GT_FORMAT_ROCPROF_CSV;
    if ((*format == GT_FORMAT_UNKNOWN || *format == GT_FORMAT_OTHER_JSON) && gt_is_ncu_csv(first))
        *format = GT_FORMAT_NCU_CSV;
    return true;
}

/* A key of the outermost object that begins the text tells, whatever follows. Nothing else does: another
 * format may be told by bytes that come later. */
static bool is_told_by_key(gt_stream *stream, gt_trace_format format)
{
    const uint8_t *text;
    size_t len;
    gt_error ignored;
    bool is_object = gt_stream_peek(stream, &text, &len, &ignored) && len && text[0] == '{';
    return is_object && (format == GT_FORMAT_KINETO_JSON || format == GT_FORMAT_ROCPROF_JSON);
}

gt_stream *gt_detect_file(const char *path, gt_trace_format *format, gt_error *error)
{
    if (gt_path_bytes(path) >= GT_STREAM_BLOCK) { /* never of a pipe, which is read only once */
        gt_stream *stream = gt_stream_open_blocks(path, SHORT_LOOK_BYTES, error);
        if (stream && gt_detect(stream, format, error) && is_told_by_key(stream, *format)) return stream;
        gt_stream_close(stream);
    }
    gt_stream *stream = gt_stream_open(path, error);
    if (stream && gt_detect(stream, format, error)) return stream;
    gt_stream_close(stream);
    return NULL;
}

bool gt_detect_fail(gt_stream *stream, gt_trace_format format, gt_error *error)
{
    const uint8_t *text;
    size_t len;
    if (format == GT_FORMAT_NSYS_REPORT && gt_stream_peek(stream, &text, &len, error))
        return gt_nsys_fail_report(gt_stream_path(stream), (gt_str){(const char *)text, len}, error);
    if (format == GT_FORMAT_NCU_REPORT) return gt_ncu_fail_report(gt_stream_path(stream), error);
    return gt_fail(error, "%s: unsupported input: %s%s", gt_stream_path(stream), gt_format_name(format),
                   format == GT_FORMAT_PARTIAL ? "; `gputally merge` makes the report of all ranks"
                   : format == GT_FORMAT_EMPTY ? ""
                                               : "; `gputally doctor` says what it is");
}
