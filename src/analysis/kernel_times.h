/* What the kernel sheets are made from: one name and one duration a kernel that ran, in the order of the
 * trace.
 *
 * Durations are whole nanoseconds and may be 0 or, in damaged records, negative. Any of them can be added up
 * without overflow (see gt_rocprof_dispatch_durations): sums are exact and become microseconds or
 * milliseconds at the end. */
#ifndef GT_ANALYSIS_KERNEL_TIMES_H
#define GT_ANALYSIS_KERNEL_TIMES_H

#include "base/strings.h"

typedef struct gt_kernel_times {
    gt_strings *strings;
    const uint32_t *names; /* ids in strings */
    const int64_t *dur_ns;
    size_t count;
} gt_kernel_times;

#endif
