/* rocprofv3's JSON output (`*_results.json`): {"rocprofiler-sdk-tool": [{metadata, kernel_symbols,
 * buffer_records, ...}]}. */
#ifndef GT_INPUT_ROCPROF_JSON_H
#define GT_INPUT_ROCPROF_JSON_H

#include "input/options.h"
#include "stream/stream.h"
#include "trace/rocprof/rocprof.h"

/* Reads the first process of the file ("-": standard input). A file that ends early gives what is whole, with
 * a warning. NULL and a sentence where it cannot be read. */
gt_rocprof *gt_rocprof_read_json(const char *path, const gt_read_options *options, gt_error *error);
/* The same from a stream at its beginning. */
gt_rocprof *gt_rocprof_read_stream(gt_stream *stream, const gt_read_options *options, gt_error *error);

#endif
