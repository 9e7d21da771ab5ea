/* Sheet gpu_timeline: how much of the time did the GPU work, and at what? */
#ifndef GT_ANALYSIS_ROCPROF_GPU_TIMELINE_H
#define GT_ANALYSIS_ROCPROF_GPU_TIMELINE_H

#include "table/table.h"
#include "trace/rocprof/rocprof.h"

/* An empty sheet (type, time ms, percent), and a row of it: what every report's timeline is made with. */
gt_table *gt_gpu_timeline_new(gt_interner *strings);
void gt_gpu_timeline_add(gt_table *timeline, const char *type, double time_us, double percent);

/* Of a rocprofv3 run: total_time, kernel, memory, busy_time, idle; no rows where the run has no kernels. */
gt_table *gt_rocprof_gpu_timeline(const gt_rocprof *run);

#endif
