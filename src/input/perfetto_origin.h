/* Which profiler wrote a Perfetto trace: told by the categories of its first events. */
#ifndef GT_INPUT_PERFETTO_ORIGIN_H
#define GT_INPUT_PERFETTO_ORIGIN_H

#include "stream/stream.h"

typedef enum gt_perfetto_origin {
    GT_ORIGIN_UNKNOWN,
    GT_ORIGIN_ROCPROF,
    GT_ORIGIN_PYTORCH,
} gt_perfetto_origin;

/* Looks at the stream's first block, and where that does not tell, reads the file anew up to an event that
 * does. Leaves the stream at its beginning. False where it cannot be read. */
bool gt_perfetto_find_origin(gt_stream *stream, gt_perfetto_origin *origin, gt_error *error);

#endif
