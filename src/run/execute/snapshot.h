/* What the machine of a run was: NAME_env.csv beside its log. */
#ifndef GT_RUN_EXECUTE_SNAPSHOT_H
#define GT_RUN_EXECUTE_SNAPSHOT_H

#include "run/plan/plan.h"

/* Rows section, key, value: system, processor, memory, GPUs, ROCm, and the variables that matter to GPU
 * programs. */
bool gt_snapshot_write(const gt_plan *plan, gt_error *error);

#endif
