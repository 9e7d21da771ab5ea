/* Converting traces to other formats: to a timeline for viewers, or to a database. */
#pragma once

#include "input/options.h"
#include "stream/stream.h"
#include "output/trace/timeline.h"
#include "trace/rocprof/rocprof.h"

/* What to read of a run so that nothing is lost. */
enum { GT_CONVERT_WANTS = GT_WANT_ALL };

/* Adds a rocprofv3 run to a timeline: calls on the threads that made them, dispatches and copies on the
 * streams of their GPU, with the arguments of rocprofv3's own traces. */
void gt_convert_rocprof(gt_rocprof *run, gt_timeline *timeline);

typedef struct gt_chrome_totals {
    size_t events;             /* in the file */
    size_t other;              /* of unsupported kinds: async events, memory dumps, ... */
    size_t timeless, unpaired; /* without a time; ends without a begin */
} gt_chrome_totals;

/* Adds the events of a Chrome trace, also of PyTorch, from a stream at its start; all arguments are kept.
 * A truncated file gives its complete events and a warning. */
bool gt_convert_chrome(gt_stream *stream, gt_timeline *timeline, const gt_read_options *options,
                       gt_chrome_totals *totals, gt_error *error);

typedef struct gt_rocpd_totals {
    size_t dispatches, copies, calls, values; /* rows written; values: of counters */
    size_t dropped;                           /* counter values of dispatches that are not in the run */
} gt_rocpd_totals;

/* Writes a run that was read with GT_CONVERT_WANTS as a rocpd database. */
bool gt_convert_rocpd(gt_rocprof *run, gt_output *output, const char *path, gt_rocpd_totals *totals,
                      gt_error *error);
