/* Carries a plan out: what runs before, the command under its profiler, what runs after, and the record of it
 * all. */
#ifndef GT_RUN_EXECUTE_EXECUTE_H
#define GT_RUN_EXECUTE_EXECUTE_H

#include "run/execute/record.h"

/* Runs the plan. The outcome is filled in any case; messages have been printed. What was written is there
 * whether the command failed or not. False where it failed. */
bool gt_plan_execute(gt_plan *plan, gt_outcome *outcome);

#endif
