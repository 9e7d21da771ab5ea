/* Traces into other formats: what the events of a run become in a viewer, or in a database. */
#ifndef GT_REPORT_CONVERT_H
#define GT_REPORT_CONVERT_H

#include "input/options.h"
#include "input/stream.h"
#include "output/timeline.h"
#include "trace/rocprof.h"

/* What is to be read of a run, so that nothing is lost. */
enum { GT_CONVERT_WANTS = GT_WANT_ALL };

/* Adds a rocprofv3 run to a timeline: calls on the threads that made them, dispatches and copies on the
 * streams of their GPU, with the arguments that rocprofv3's own traces have. */
void gt_convert_rocprof(gt_rocprof *run, gt_timeline *timeline);

#endif
