/* Detects the format of a file by its bytes, never by its name. To add a format: a value of gt_trace_format,
 * its name and its test in detect.c, and a reader.
 *
 * gt_perfetto_find_origin (chrome/kineto.h) tells which profiler wrote a Perfetto trace. */
#pragma once

#include "stream/stream.h"

typedef enum gt_trace_format {
    GT_FORMAT_UNKNOWN,
    GT_FORMAT_ROCPROF_JSON,
    GT_FORMAT_ROCPROF_CSV,
    GT_FORMAT_NCU_CSV,
    GT_FORMAT_NCU_REPORT,
    GT_FORMAT_KINETO_JSON,
    GT_FORMAT_OTHER_JSON,
    GT_FORMAT_XPLANE,
    GT_FORMAT_PERFETTO,
    GT_FORMAT_SQLITE,
    GT_FORMAT_NSYS_REPORT,
    GT_FORMAT_ZIP,
    GT_FORMAT_ELF,
    GT_FORMAT_INDEX,   /* of gputally, whose trace is missing (index/index.h) */
    GT_FORMAT_PARTIAL, /* of gputally (procs/part.h) */
    GT_FORMAT_EMPTY,
    GT_FORMATS
} gt_trace_format;

/* Looks at the first block of the stream, decompressed if necessary, and leaves the stream at its beginning.
 * False if it cannot be read. */
bool gt_detect(gt_stream *stream, gt_trace_format *format, gt_error *error);

/* Opens a file only to see what it is. Of a large file, a short block at its beginning is unpacked, if that
 * tells. NULL with an error if it cannot be opened or read. */
gt_stream *gt_detect_file(const char *path, gt_trace_format *format, gt_error *error);

/* Says that a file of this format is not read, and of a report of Nsight Systems what to do; returns false.
 */
bool gt_detect_fail(gt_stream *stream, gt_trace_format format, gt_error *error);

/* For messages: "rocprofv3 JSON trace". */
const char *gt_format_name(gt_trace_format format);
