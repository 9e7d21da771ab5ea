/* PyTorch's profiler output (Kineto, Chrome trace format): {"traceEvents": [...], ...} or a bare array of events. */
#ifndef GT_INPUT_KINETO_H
#define GT_INPUT_KINETO_H

#include "input/options.h"
#include "input/stream.h"
#include "trace/events.h"

/* Reads every event into a store of gt_event_columns, in file order; texts go into `strings`. A file that ends early
 * gives what is whole, with a warning. NULL and a sentence where it cannot be read. */
gt_store *gt_kineto_read(const char *path, gt_strings *strings, const gt_read_options *options, gt_error *error);

#endif
