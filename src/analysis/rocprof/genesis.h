/* The report of a physics simulation (Genesis, Taichi) that rocprofv3 profiled: its own kernel categories,
 * and the timeline of its steady state. */
#pragma once

#include "table/table.h"

/* ---- categories ---- */

/* "Rigid Body Solver", "Time Integration", ... or "Other". */
const char *gt_genesis_category(gt_str kernel_name);

/* Replaces the categories in the sheet kernel_summary by these. */
void gt_genesis_categorize(gt_table *kernel_summary);
/* Makes kernel_summary_by_category from that sheet. */
gt_table *gt_genesis_by_category(const gt_table *kernel_summary);

/* ---- steady state ----
 *
 * A simulation is first built and compiled, which leaves the GPU idle for seconds or minutes; a timeline of
 * the whole run would show mostly that pause. The steady state is what comes after it:
 *
 *     dispatches   ||      (pause of 119.7 s)      |||||||||||||||||||
 *                                                  ^ cutoff
 *
 * If no pause is long enough, the steady state is the end of the run. */
typedef struct gt_steady_state {
    char method[64];   /* "after_max_gap_119681.2ms", "last_4.2s" or "single_dispatch" */
    int64_t cutoff_ns; /* the steady state consists of the dispatches that start here or later */
    size_t dispatches;
    int64_t begin_ns, end_ns; /* their first start and last end */
    int64_t busy_ns;          /* time in which at least one of them ran */
    double busy_percent;      /* of end - begin, which counts as at least 1 ns */
} gt_steady_state;

/* Sets the method and the cutoff: the first dispatch after the longest pause if that pause is at least
 * gap_ns; otherwise fallback_ns before the end of the dispatch that starts last. */
void gt_steady_state_cutoff(const int64_t *starts, const int64_t *ends, size_t count, int64_t gap_ns,
                            int64_t fallback_ns, gt_steady_state *found);

/* Chooses between that cutoff and fallback_ns before the last end of all dispatches, whichever has the higher
 * busy_percent. False if there are no dispatches or none starts after the cutoff. */
bool gt_steady_state_find(const int64_t *starts, const int64_t *ends, size_t count, int64_t gap_ns,
                          int64_t fallback_ns, gt_steady_state *found, gt_error *error);

/* The gpu_timeline of the steady state: total_time, kernel, memory (always 0), busy_time, idle. */
gt_table *gt_steady_state_timeline(const gt_steady_state *state, gt_interner *strings);
