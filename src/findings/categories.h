/* The categories (analysis/categories.h) of what a schedule's device did. */
#pragma once

#include "analysis/categories.h"
#include "findings/schedule/schedule.h"

/* By op: its gt_category. `launch_ops` are those of gt_launch_ops_find. The caller frees it. */
uint8_t *gt_op_categories_find(const gt_schedule *schedule, const uint32_t *launch_ops);

/* What GPU work was launched by, as gt_categories_find asks; `event` launched it, GT_NONE: unknown. */
void gt_gpu_work_launched(const gt_schedule *schedule, const uint32_t *launch_ops, uint32_t event,
                          gt_gpu_work *work);

/* The categories of names: of each, the one with most of its time, the first of equal ones. Rows: name,
 * category. */
gt_table *gt_kernel_categories(const gt_schedule *schedule, const uint8_t *op_categories);
