/* Traces into other formats: what the events of a run become in a viewer, or in a database. */
#ifndef GT_TRANSFORM_CONVERT_H
#define GT_TRANSFORM_CONVERT_H

#include "input/options.h"
#include "stream/stream.h"
#include "output/trace/timeline.h"
#include "trace/rocprof/rocprof.h"

/* What is to be read of a run, so that nothing is lost. */
enum { GT_CONVERT_WANTS = GT_WANT_ALL };

/* Adds a rocprofv3 run to a timeline: calls on the threads that made them, dispatches and copies on the
 * streams of their GPU, with the arguments that rocprofv3's own traces have. */
void gt_convert_rocprof(gt_rocprof *run, gt_timeline *timeline);

typedef struct gt_chrome_totals {
    size_t events;             /* in the file */
    size_t other;              /* of kinds that are not converted: async events, memory dumps, ... */
    size_t timeless, unpaired; /* without a time; ends without a beginning */
} gt_chrome_totals;

/* Adds the events of a Chrome trace (PyTorch's too), from a stream at its beginning: every argument stays. A
 * file that ends early gives what is whole, with a warning. */
bool gt_convert_chrome(gt_stream *stream, gt_timeline *timeline, const gt_read_options *options,
                       gt_chrome_totals *totals, gt_error *error);

typedef struct gt_rocpd_totals {
    size_t dispatches, copies, calls, values; /* rows written; values of counters */
    size_t left_out;                          /* values of dispatches that the run does not have */
} gt_rocpd_totals;

/* Writes a run that was read with GT_CONVERT_WANTS as a rocpd database. */
bool gt_convert_rocpd(gt_rocprof *run, gt_output *output, const char *path, gt_rocpd_totals *totals,
                      gt_error *error);

#endif
