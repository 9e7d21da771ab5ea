/* Statistics of integers, exact and rounded once. */
#ifndef GT_ANALYSIS_PFTRACE_EXACT_H
#define GT_ANALYSIS_PFTRACE_EXACT_H

#include <stddef.h>
#include <stdint.h>

typedef struct gt_exact_statistics {
    double mean, median, std; /* std over n */
    int64_t min, max;
} gt_exact_statistics;

/* Of no values: all 0. The values are put in order. */
gt_exact_statistics gt_exact_measure(int64_t *values, size_t count);

#endif
