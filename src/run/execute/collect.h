/* Puts what a profiler wrote where users look for it. */
#ifndef GT_RUN_EXECUTE_COLLECT_H
#define GT_RUN_EXECUTE_COLLECT_H

#include "run/execute/record.h"

/* Of rocprofv3's tree in the plan's run_dir (or wherever -d led):
 *
 *     run_dir/PID_results.db|json|pftrace                  links to each process's results
 *     run_dir/kernel_trace.csv, hip_api_trace.csv, memory_copy_trace.csv    of all processes; made from other
 * formats where rocprofv3 wrote no CSV rocprof_output/rocprofv3_output_BASE.csv             the same for six
 * kinds, of counters all passes rocprof_output/model_trace.pftrace, trace.json       the largest of this run
 *     rocprof_output/instruction_histogram.json
 *     rocprof_output/latest                                link to run_dir
 *
 * Legacy results.* of the work folder that are newer than the run are moved into run_dir. Files that came of
 * the run are added to the outcome. What fails is a warning. */
void gt_collect(const gt_plan *plan, gt_outcome *outcome);

#endif
