/* The folders of a sweep: SWEEP/<T>thread/nccl_<C>channels/torch_profiler/rank<R> for torch.profiler,
 * rocprof_traces for rocprofv3. Traces are only read. */
#ifndef GT_SWEEP_LAYOUT_H
#define GT_SWEEP_LAYOUT_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define GT_SWEEP_ANALYSIS "tracelens_analysis" /* the folder of a sweep that all steps write to */

/* One setting of threads and channels. */
typedef struct gt_sweep_config {
    char *threads;  /* name of the folder: "256thread" */
    char *channels; /* digits of the folder name: "28" */
    int64_t channels_number;
    char *folder;
} gt_sweep_config;

typedef struct gt_sweep {
    gt_sweep_config *configs; /* threads in byte order of their names, channels by number */
    size_t count, capacity;
} gt_sweep;

/* Finds the settings. Fails if there is no folder "*thread". */
bool gt_sweep_open(gt_sweep *sweep, const char *root, gt_error *error);
void gt_sweep_free(gt_sweep *sweep);

typedef struct gt_sweep_trace {
    int64_t rank;
    char *path;
} gt_sweep_trace;

typedef struct gt_sweep_traces {
    gt_sweep_trace *items; /* by rank */
    size_t count, capacity;
} gt_sweep_traces;

/* The traces of torch.profiler. For each rank: the first of customer_trace*.json, *trace*.json, *.json (also
 * .gz, .zst) in its folder rank<R>, rank_<R> or rank_0<R>, then in its subfolder trace, then in any
 * subfolder; else a file next to these folders with the rank in its name. */
gt_sweep_traces gt_sweep_torch_traces(const char *config_folder);
/* The same, given the folder torch_profiler itself. */
gt_sweep_traces gt_sweep_traces_in(const char *profiler_folder);
/* The trace of one rank, found in the same way, or NULL. The caller frees it. */
char *gt_sweep_torch_trace(const char *config_folder, int64_t rank);
/* The traces of rocprofv3, one per process. Ranks follow the byte order of the paths, or the process ids. */
gt_sweep_traces gt_sweep_rocprof_traces(const char *config_folder, bool by_pid);
void gt_sweep_traces_free(gt_sweep_traces *traces);

/* Reads the digits at *text, as many as fit into the number, and advances past them. Returns false if there
 * are none. */
bool gt_take_number(const char **text, int64_t *number);

#endif
