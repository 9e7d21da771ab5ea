/* Sheet kernel_details: which dispatches took longest, and how were they launched? */
#ifndef GT_ANALYSIS_ROCPROF_KERNEL_DETAILS_H
#define GT_ANALYSIS_ROCPROF_KERNEL_DETAILS_H

#include "analysis/rocprof/kernel_times.h"
#include "table/table.h"
#include "trace/rocprof/rocprof.h"

/* One row a dispatch, the longest first, equal ones in the order of the trace; no more than `rows_max` rows.
 * `kernels`, the run's kernel times, becomes the sheet: this is the one sheet as large as the trace, and
 * memory holds it once. A run without dispatches gives a table without columns. */
void gt_rocprof_kernel_details(const gt_rocprof *run, gt_table *kernels, size_t rows_max);

#endif
