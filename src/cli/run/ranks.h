/* PyTorch traces that the processes of one run wrote, as one folder with one trace per rank. */
#pragma once

#include "base/base.h"

typedef struct gt_run_trace {
    const char *path; /* absolute */
    int64_t node;     /* of a job; 0: the only one, or not known */
} gt_run_trace;

typedef struct gt_run_traces { /* {0} is the empty list */
    gt_run_trace *items;
    size_t count, capacity;
} gt_run_traces;

void gt_run_traces_add(gt_run_traces *traces, gt_arena *arena, const char *path, int64_t node);
/* By path, so that the order does not depend on the file system. */
void gt_run_traces_sort(gt_run_traces *traces);
void gt_run_traces_free(gt_run_traces *traces);

/* Makes the folder with links rank0_trace.json, rank1_trace.json.gz and so on. The rank is that of
 * distributedInfo in the trace, or else that of the file name; names that are the same on every node (local
 * ranks) count on. Of several traces of a rank, the newest is used, with a message. False if there are
 * less than two ranks (the error is empty then), or with an error. */
bool gt_run_ranks_link(gt_arena *arena, const gt_run_traces *traces, const char *folder, gt_error *error);
