/* Which part of a run is its steady state: what comes after the long pause in which a simulation is built and
 * compiled? */
#ifndef GT_ANALYSIS_ROCPROF_STEADY_STATE_H
#define GT_ANALYSIS_ROCPROF_STEADY_STATE_H

#include "base/error.h"
#include "table/table.h"

#include <stddef.h>
#include <stdint.h>

typedef struct gt_steady_state {
    char method[64];   /* "after_max_gap_119681.2ms", "last_4.2s" or "single_dispatch" */
    int64_t cutoff_ns; /* dispatches that start from here on count */
    size_t dispatches;
    int64_t begin_ns, end_ns; /* from the first start to the last end of those */
    int64_t busy_ns;          /* in which at least one of them ran */
    double busy_percent;      /* of end - begin, at least 1 ns */
} gt_steady_state;

/* The first dispatch behind the longest pause, where that is at least gap_ns; else what starts within
 * fallback_ns before the end of the dispatch that starts last. */
void gt_steady_state_cutoff(const int64_t *starts, const int64_t *ends, size_t count, int64_t gap_ns,
                            int64_t fallback_ns, gt_steady_state *found);

/* That, or what starts within fallback_ns before the last end of all, whichever is busier. False where no
 * dispatch starts in it. */
bool gt_steady_state_find(const int64_t *starts, const int64_t *ends, size_t count, int64_t gap_ns,
                          int64_t fallback_ns, gt_steady_state *found, gt_error *error);

/* gpu_timeline of that time: total_time, kernel, memory (always 0), busy_time, idle. */
gt_table *gt_steady_state_timeline(const gt_steady_state *state, gt_interner *strings);

#endif
