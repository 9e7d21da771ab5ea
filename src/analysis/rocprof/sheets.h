/* Sheets agent_info and process_summary: on what did a rocprofv3 run take place? */
#ifndef GT_ANALYSIS_ROCPROF_SHEETS_H
#define GT_ANALYSIS_ROCPROF_SHEETS_H

#include "table/table.h"
#include "trace/rocprof/rocprof.h"

/* The CPUs and GPUs of each host. NULL where the run does not tell. */
gt_table *gt_rocprof_agent_info(gt_rocprof *run);
/* One row a process. NULL where there is one. `durations` are those of gt_rocprof_dispatch_durations. */
gt_table *gt_rocprof_process_summary(gt_rocprof *run, const int64_t *durations);

#endif
