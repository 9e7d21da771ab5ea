/* `sweep merge`: the GPU events of several ranks as one Chrome trace with two processes per rank: the GPU,
 * and the CPU with runtime calls and annotations.
 *
 * The GPU of rank R is process 1000 R, its CPU process 1000 R + 500. Threads are numbered from 0 in the order
 * of appearance, and names start with "[R<R>] ". CPU ops and Python's own events are dropped. Traces are
 * streamed, each of them twice. */
#pragma once

#include "output/output.h"

/* The traces to merge. */
typedef struct gt_merge_traces {
    char **paths; /* by rank; NULL: the rank has no trace */
    size_t count;
} gt_merge_traces;

/* Finds the traces of ranks 0 to rank_count - 1 in the folder torch_profiler of a run: FOLDER/rank<R>/NAME.
 * Without a name, trace_step19.json, or else the trace that `sweep report` uses. rank_count 0: up to the last
 * rank with a trace, or 8 ranks if there is none; at most `most`. Warns about ranks without a trace. */
gt_merge_traces gt_merge_find_traces(const char *folder, const char *name, size_t rank_count, size_t most);
void gt_merge_traces_free(gt_merge_traces *traces);

typedef struct gt_merge_options {
    bool keep_ids; /* do not change the ids of flow arrows; arrows of different ranks may then connect */
    unsigned threads;
    bool quiet;
} gt_merge_options;

/* Adds the merged trace to the output, compressed with gzip if `path` ends in ".gz". Warns about traces that
 * cannot be read and skips them. Prints the number of written events unless quiet. */
bool gt_merge_ranks(gt_output *output, const char *path, const gt_merge_traces *traces,
                    const gt_merge_options *options, uint64_t *events, gt_error *error);
