/* What runs before and after the command. */
#ifndef GT_RUN_EXECUTE_ACTIONS_H
#define GT_RUN_EXECUTE_ACTIONS_H

#include "run/plan/plan.h"

/* This program's variables with the plan's over them, for a child; ends with NULL, in the arena. */
const char *const *gt_plan_environment(const gt_plan *plan);

/* Does one action, except collecting, which the caller does. A script's output goes to the log. False where
 * it failed. */
bool gt_action_do(const gt_plan *plan, const gt_action *action, gt_error *error);

#endif
