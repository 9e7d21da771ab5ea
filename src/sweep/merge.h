/* The GPU work of several ranks as one Chrome trace with two processes a rank: what ran on the GPU, and the
 * calls and marks of the CPU around it.
 *
 * Rank R's GPU is process 1000 R, its CPU 1000 R + 500, threads are numbered from 0 as they are met, names
 * begin with "[R<R>] ". Ops of the CPU and Python's own events are left out. Traces are streamed, each of
 * them twice. */
#ifndef GT_SWEEP_MERGE_H
#define GT_SWEEP_MERGE_H

#include "output/output.h"

typedef struct gt_merge_options {
    bool keep_ids; /* ids of arrows stay as they are: those of several ranks then cross */
    unsigned threads;
    bool quiet;
} gt_merge_options;

/* Adds the file to the output: gzip where `path` ends in ".gz". paths[rank] is NULL where the rank has no
 * trace. A trace that cannot be read is warned of and left out. The count of events written is printed unless
 * quiet. */
bool gt_merge_ranks(gt_output *output, const char *path, char *const *paths, size_t rank_count,
                    const gt_merge_options *options, uint64_t *events, gt_error *error);

#endif
