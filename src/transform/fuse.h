/* The traces of several ranks as one Chrome trace, which Perfetto and other viewers show side by side.
 *
 * The ids of each rank (`id`, `pid`, and `correlation` or `External id`, whichever links launches to
 * kernels) are shifted by the rank times a power of ten that is larger than any id of the first trace;
 * each process gets a name and a position in the viewer. Traces are streamed: only one block of each is in
 * memory. */
#pragma once

#include "transform/fuse_copy.h"

/* Rewrites the events of each rank into a part of its own, in processes that share the work (input/files.h);
 * gt_fuse then puts the parts together, so that the fused trace has the same bytes as without them. Returns
 * in process 0 only; NULL on failure. `path` is that of the fused trace; paths, options and it must outlive
 * the parts. */
gt_fuse_parts *gt_fuse_parts_make(const char *path, char *const *paths, size_t rank_count,
                                  const gt_fuse_options *options, gt_error *error);
void gt_fuse_parts_free(gt_fuse_parts *parts); /* NULL does nothing */

/* Adds the file to the output, compressed with gzip if `path` ends in ".gz". paths[rank] is NULL if the
 * rank has no trace; at least one rank has one. */
bool gt_fuse(gt_output *output, const char *path, char *const *paths, size_t rank_count,
             const gt_fuse_options *options, gt_fuse_result *result, gt_error *error);
