/* PyTorch's profiler output (Kineto, Chrome trace format): {"traceEvents": [...], ...} or a bare array of
 * events. */
#ifndef GT_INPUT_CHROME_KINETO_H
#define GT_INPUT_CHROME_KINETO_H

#include "input/options.h"
#include "stream/stream.h"
#include "trace/pytorch/pytorch.h"

typedef struct gt_kineto_options {
    bool python_functions; /* keep them: half of many traces, and only call stacks and recompute need them */
    bool every_event;      /* keep also what no sheet needs: for benchmarks and tests */
} gt_kineto_options;

/* Reads a trace ("-": standard input) as arrays, without tree and links. A file that ends early gives what is
 * whole, with a warning. NULL and a sentence where it cannot be read. */
gt_pytorch_read *gt_kineto_read(const char *path, gt_kineto_options keep, const gt_read_options *options,
                                gt_error *error);
/* The reading alone, from a stream at its beginning: into two empty stores of gt_event_columns, arrows apart
 * from the other events. */
bool gt_kineto_read_stores(gt_stream *stream, gt_kineto_options keep, const gt_read_options *options,
                           gt_store *store, gt_store *arrows, gt_error *error);
/* The same for a trace in Perfetto's protobuf format, where every argument of the Chrome trace is a debug
 * annotation (kineto_perfetto.c). */
bool gt_kineto_read_perfetto(gt_stream *stream, gt_kineto_options keep, const gt_read_options *options,
                             gt_store *store, gt_store *arrows, gt_error *error);
/* As gt_kineto_read, from a stream at its beginning. */
gt_pytorch_read *gt_kineto_read_stream(gt_stream *stream, gt_kineto_options keep,
                                       const gt_read_options *options, gt_error *error);

#endif
