/* Any output of rocprofv3 as one run: a file of any of its formats, or a folder of them. */
#ifndef GT_INPUT_ROCPROF_ROCPROF_H
#define GT_INPUT_ROCPROF_ROCPROF_H

#include "input/detect.h"
#include "input/options.h"
#include "trace/rocprof/rocprof.h"

/* Whether there is a reader for the format. */
bool gt_rocprof_reads(gt_trace_format format);

/* Reads a file, from its stream at the beginning. */
gt_rocprof *gt_rocprof_read(gt_stream *stream, const char *path, const gt_read_options *options,
                            gt_error *error);
/* Reads a folder: every process in it is one of the run. Of counter passes, the first gives the dispatches
 * and each its counters. */
gt_rocprof *gt_rocprof_read_folder(const char *folder, const gt_read_options *options, gt_error *error);
/* Whether a folder holds any file of rocprofv3. */
bool gt_rocprof_is_folder(const char *folder);

#endif
