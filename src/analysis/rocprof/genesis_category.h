/* Kinds of kernels of a physics simulation (Genesis, Taichi). */
#ifndef GT_ANALYSIS_ROCPROF_GENESIS_CATEGORY_H
#define GT_ANALYSIS_ROCPROF_GENESIS_CATEGORY_H

#include "base/interner.h"
#include "table/table.h"

const char *gt_genesis_category(gt_str kernel_name);

/* Gives the sheet kernel_summary these categories, and makes kernel_summary_by_category from it. */
void gt_genesis_categorize(gt_table *kernel_summary);
gt_table *gt_genesis_by_category(const gt_table *kernel_summary);

#endif
