/* The traces of several ranks as one Chrome trace, which Perfetto and other viewers show side by side.
 *
 * The ids of each rank (`id`, `pid`, and `correlation` or `External id`, whichever links launches to
 * kernels) are shifted by the rank times a power of ten that is larger than any id of the first trace;
 * each process gets a name and a position in the viewer. Traces are streamed: only one block of each is in
 * memory. */
#ifndef GT_TRANSFORM_FUSE_H
#define GT_TRANSFORM_FUSE_H

#include "base/error.h"
#include "output/output.h"

#include <stdint.h>

typedef struct gt_fuse_options {
    const char *const *dropped; /* categories of events to drop */
    size_t dropped_count;
    bool ids_of_all_ranks; /* use a power of ten larger than any id of any trace; reads each trace twice */
    bool align_times;      /* by the traces' baseTimeNanoseconds; reads each trace twice */
    bool keep_damaged;     /* keep the events before the damage of a damaged trace */
    unsigned threads;
} gt_fuse_options;

typedef struct gt_fuse_result {
    size_t ranks, processes;
    uint64_t events_read, events_written;
} gt_fuse_result;

/* Adds the file to the output, compressed with gzip if `path` ends in ".gz". paths[rank] is NULL if the
 * rank has no trace; at least one rank has one. */
bool gt_fuse(gt_output *output, const char *path, char *const *paths, size_t rank_count,
             const gt_fuse_options *options, gt_fuse_result *result, gt_error *error);

#endif
