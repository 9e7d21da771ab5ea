/* Which parts of a tool are done here instead of by a script: recognised by the names of madengine's scripts.
 */
#ifndef GT_RUN_PLAN_STAGES_H
#define GT_RUN_PLAN_STAGES_H

#include "run/plan/plan.h"

bool gt_stage_is_library_trace(const gt_arg_list *words); /* python3 .../get_library_trace.py */
bool gt_stage_is_rtl(const gt_arg_list *words);           /* bash .../rtl_trace_wrapper.sh */
bool gt_stage_is_rpd(const gt_arg_list *words);           /* .../runTracer.sh */

gt_action_kind gt_stage_action(const char *path); /* what is done for that script */

void gt_stage_plan_library(gt_plan *plan);
bool gt_stage_plan_rtl(gt_plan *plan, gt_profiler *profiler);
bool gt_stage_plan_rpd(gt_plan *plan, const gt_arg_list *words, gt_profiler *profiler);
/* One sampler for each start script among the pre-scripts. False where its variables make no sense. */
bool gt_stage_plan_samplers(gt_plan *plan, gt_error *error);

#endif
