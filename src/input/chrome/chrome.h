/* Reading a rocprofv3 trace in Chrome's JSON or in Perfetto's protobuf, whichever it is, for the pftrace
 * reports. */
#ifndef GT_INPUT_CHROME_CHROME_H
#define GT_INPUT_CHROME_CHROME_H

#include "input/options.h"
#include "stream/stream.h"
#include "trace/events.h"

/* From a stream at its beginning. NULL and a sentence where it cannot be read. */
gt_chrome *gt_chrome_read(gt_stream *stream, const gt_read_options *options, gt_error *error);

#endif
