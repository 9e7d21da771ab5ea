/* The traces of several ranks as one Chrome trace, which Perfetto and other viewers show side by side.
 *
 * Each rank's ids (`id`, `pid`, and `correlation` or `External id`, whichever links launches to kernels) are
 * moved by its rank times a power of ten that is larger than any id of the first trace; the viewer gets a
 * name and a place for each process. Traces are streamed: of each, one block of text is in memory at a time.
 */
#ifndef GT_TRANSFORM_FUSE_H
#define GT_TRANSFORM_FUSE_H

#include "base/error.h"
#include "output/output.h"

#include <stdint.h>

typedef struct gt_fuse_options {
    const char *const *left_out; /* categories of events that are left out ... */
    size_t left_out_count;
    bool ids_of_all_ranks; /* the power of ten is larger than any id of any trace: reads each of them twice */
    bool align_times;      /* by the traces' baseTimeNanoseconds: reads each of them twice */
    bool keep_damaged;     /* of a damaged trace, what comes before the damage */
    unsigned threads;
} gt_fuse_options;

typedef struct gt_fuse_result {
    size_t ranks, processes;
    uint64_t events_read, events_written;
} gt_fuse_result;

/* Adds the file to the output: gzip where `path` ends in ".gz". paths[rank] is NULL where the rank has no
 * trace; one rank has one. */
bool gt_fuse(gt_output *output, const char *path, char *const *paths, size_t rank_count,
             const gt_fuse_options *options, gt_fuse_result *result, gt_error *error);

#endif
