/* Sheets hip_api_summary, hsa_api_summary, ...: which API calls took the CPU's time? And memory_copy_summary:
 * how much was copied in which direction, and how fast? */
#ifndef GT_ANALYSIS_ROCPROF_CALLS_H
#define GT_ANALYSIS_ROCPROF_CALLS_H

#include "base/error.h"
#include "table/table.h"
#include "trace/rocprof/rocprof.h"

/* The calls of one domain by function. NULL with *error untouched where the run has none; NULL and *failed
 * set where times are more than can be added up. */
gt_table *gt_rocprof_call_summary(gt_rocprof *run, gt_call_domain domain, bool *failed, gt_error *error);
gt_table *gt_rocprof_copy_summary(gt_rocprof *run, bool *failed, gt_error *error);

#endif
