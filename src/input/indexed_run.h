/* Reading a run through the index of its file: from the index if it has the run, else from the file, and then
 * kept in the index if it is to be. */
#pragma once

#include "index/index.h"
#include "input/options.h"
#include "stream/stream.h"
#include "trace/rocprof/rocprof.h"

typedef gt_rocprof *gt_run_reader(gt_stream *stream, const char *path, const gt_read_options *options,
                                  gt_error *error);

/* `key` says how the run is read, so that no other is taken for it. The stream (NULL: none) is at the
 * beginning of the file. On failure the result is NULL with an error that names the file. */
gt_rocprof *gt_indexed_run_read(gt_stream *stream, const char *path, const gt_read_options *options,
                                gt_index_kind kind, const char *key, gt_run_reader *read, gt_error *error);
