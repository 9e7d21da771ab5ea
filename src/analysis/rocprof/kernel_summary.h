/* Sheets kernel_summary and kernel_summary_by_category: which kernels, and which kinds of them, took the
 * time? */
#ifndef GT_ANALYSIS_ROCPROF_KERNEL_SUMMARY_H
#define GT_ANALYSIS_ROCPROF_KERNEL_SUMMARY_H

#include "table/table.h"

/* Groups kernel times (kernel_times.h) by name, in ascending order of names: what both sheets are made from.
 */
gt_table *gt_kernels_by_name(const gt_table *kernels);
/* The last column of that: for a table of names that was made another way (rocprof_stats.h). */
void gt_kernels_add_categories(gt_table *by_name);

gt_table *gt_kernel_summary(const gt_table *by_name);
gt_table *gt_kernel_summary_by_category(const gt_table *by_name);

#endif
