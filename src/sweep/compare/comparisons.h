/* Comparisons of a sweep's reports: the same channels and rank under each setting of threads. */
#ifndef GT_SWEEP_COMPARE_COMPARISONS_H
#define GT_SWEEP_COMPARE_COMPARISONS_H

#include "sweep/run/layout.h"

typedef struct gt_sweep_ranks {
    int64_t *items; /* ascending, each once */
    size_t count;
} gt_sweep_ranks;

typedef struct gt_sweep_comparisons {
    size_t made, failed;
} gt_sweep_comparisons;

/* Reads reports as they lie in the folder `analysis`, on so many threads. A rank that fewer than two thread
 * settings have is said and left out; one that fails is warned of. */
gt_sweep_comparisons gt_sweep_compare(const gt_sweep *sweep, const char *analysis,
                                      const gt_sweep_ranks *ranks, bool rocprof, unsigned threads);

/* Where a report lies; the caller frees it. */
char *gt_sweep_report_path(const char *analysis, const gt_sweep_config *config, int64_t rank);

#endif
