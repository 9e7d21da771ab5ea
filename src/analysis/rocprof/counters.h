/* Sheet counters_by_kernel: what did the hardware count while each kernel ran? */
#ifndef GT_ANALYSIS_ROCPROF_COUNTERS_H
#define GT_ANALYSIS_ROCPROF_COUNTERS_H

#include "table/table.h"
#include "trace/rocprof/rocprof.h"

/* NULL where the run has no counters. */
gt_table *gt_rocprof_counters_by_kernel(gt_rocprof *run);

#endif
