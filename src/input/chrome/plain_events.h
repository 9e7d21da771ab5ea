/* Reads when and where every event of a Chrome trace was. */
#ifndef GT_INPUT_CHROME_PLAIN_EVENTS_H
#define GT_INPUT_CHROME_PLAIN_EVENTS_H

#include "base/error.h"
#include "input/options.h"
#include "stream/stream.h"
#include "trace/events.h"

/* NULL where it fails. A file that ends early gives what is whole, with a warning, unless options->strict. */
gt_plain_events *gt_plain_events_read(gt_stream *stream, const gt_read_options *options, gt_error *error);

#endif
