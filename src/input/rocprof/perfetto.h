/* rocprofv3's Perfetto output (`*_results.pftrace`): kernels, copies and API calls are slices, and what is
 * known of them stands in their annotations. */
#ifndef GT_INPUT_ROCPROF_PERFETTO_H
#define GT_INPUT_ROCPROF_PERFETTO_H

#include "input/options.h"
#include "stream/stream.h"
#include "trace/rocprof/rocprof.h"

/* Reads a trace of any number of processes into the run. A file that ends early gives what is whole, with a
 * warning. */
bool gt_rocprof_read_perfetto(gt_rocprof_writers *writers, gt_stream *stream, const gt_read_options *options,
                              gt_error *error);

#endif
