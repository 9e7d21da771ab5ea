/* Which format a file is, from its bytes and never from its name. */
#ifndef GT_INPUT_DETECT_H
#define GT_INPUT_DETECT_H

#include "base/error.h"
#include "stream/stream.h"

typedef enum gt_trace_format {
    GT_FORMAT_UNKNOWN,
    GT_FORMAT_ROCPROF_JSON,
    GT_FORMAT_ROCPROF_CSV,
    GT_FORMAT_KINETO_JSON,
    GT_FORMAT_OTHER_JSON,
    GT_FORMAT_XPLANE,
    GT_FORMAT_PERFETTO,
    GT_FORMAT_SQLITE,
    GT_FORMAT_ZIP,
    GT_FORMAT_ELF,
    GT_FORMAT_EMPTY,
    GT_FORMATS
} gt_trace_format;

/* Looks at the stream's first block, inflated where it is compressed, and leaves the stream at its beginning.
 * False where it cannot be read. */
bool gt_detect(gt_stream *stream, gt_trace_format *format, gt_error *error);

/* "a rocprofv3 JSON trace": to be put into a sentence. */
const char *gt_format_name(gt_trace_format format);

#endif
