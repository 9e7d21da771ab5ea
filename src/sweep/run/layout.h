/* Where the parts of a sweep lie: SWEEP/<T>thread/nccl_<C>channels/torch_profiler/rank<R>, and under
 * rocprof_traces what rocprofv3 wrote. Traces are looked for and never touched. */
#ifndef GT_SWEEP_RUN_LAYOUT_H
#define GT_SWEEP_RUN_LAYOUT_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define GT_SWEEP_ANALYSIS "tracelens_analysis" /* the folder of a sweep that all steps write to */

/* One setting of threads and channels. */
typedef struct gt_sweep_config {
    char *threads;  /* the folder's name: "256thread" */
    char *channels; /* the digits of its name: "28" */
    int64_t channels_number;
    char *folder;
} gt_sweep_config;

typedef struct gt_sweep {
    gt_sweep_config *configs; /* threads in byte order of their names, channels by number */
    size_t count, capacity;
} gt_sweep;

/* Fails where there is no folder "*thread" in it. */
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

/* The traces of torch.profiler: of each rank the first of customer_trace*.json, *trace*.json, *.json (also
 * .gz, .zst) in its folder rank<R>, rank_<R> or rank_0<R>, then in the folder trace in it, then anywhere
 * below; else a file beside these folders that names the rank. */
gt_sweep_traces gt_sweep_torch_traces(const char *config_folder);
/* The same of the folder torch_profiler itself. */
gt_sweep_traces gt_sweep_traces_in(const char *profiler_folder);
/* The trace of one rank, found likewise; NULL where there is none. The caller frees it. */
char *gt_sweep_torch_trace(const char *config_folder, int64_t rank);
/* What rocprofv3 wrote, one a process: ranks are their places in byte order of the paths, or by process
 * number. */
gt_sweep_traces gt_sweep_rocprof_traces(const char *config_folder, bool by_pid);
void gt_sweep_traces_free(gt_sweep_traces *traces);

/* Names of what a folder holds, hidden ones left out, in byte order; none where it cannot be read. */
typedef struct gt_names_found {
    char **items;
    size_t count, capacity;
} gt_names_found;
gt_names_found gt_list_folder(const char *folder);
void gt_names_found_free(gt_names_found *names);

bool gt_sweep_has_folder(const char *path);
bool gt_sweep_has_file(const char *path); /* anything that is there and no folder */

/* Reads digits at *text, at most so many that they fit, and moves behind them. False where there are none. */
bool gt_take_number(const char **text, int64_t *number);

#endif
