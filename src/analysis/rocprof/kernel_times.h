/* What the kernel sheets are made from: a table of one row a kernel that ran, in the order of the trace, with
 * its name and its duration in nanoseconds (0 and, in damaged records, negative ones occur).
 *
 * Sums of durations are exact and become microseconds or milliseconds in the last step. */
#ifndef GT_ANALYSIS_ROCPROF_KERNEL_TIMES_H
#define GT_ANALYSIS_ROCPROF_KERNEL_TIMES_H

#include "base/error.h"
#include "table/table.h"
#include "trace/rocprof/rocprof.h"

enum { GT_KERNEL_NAME, GT_KERNEL_DUR_NS, GT_KERNEL_COLUMNS }; /* "name", TEXT; "dur_ns", INT */

/* NULL where the durations are more than an int64 can add up. */
gt_table *gt_rocprof_kernel_times(gt_rocprof *run, gt_error *error);

/* Makes a number column of nanoseconds a FLOAT column of microseconds or milliseconds, under its new name. */
void gt_kernel_times_to_us(gt_table *table, size_t column, gt_col name);
void gt_kernel_times_to_ms(gt_table *table, size_t column, gt_col name);

#endif
