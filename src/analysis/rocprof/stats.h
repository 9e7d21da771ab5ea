/* Sums that rocprofv3 made itself (`--stats`), in the shape of those that are made from records: for runs of
 * which nothing else is there. */
#ifndef GT_ANALYSIS_ROCPROF_STATS_H
#define GT_ANALYSIS_ROCPROF_STATS_H

#include "table/table.h"
#include "trace/rocprof/rocprof.h"

/* By name, ascending: name, Count, total_ns, mean_ns, median_ns (no values), std_ns, min_ns, max_ns. NULL
 * where the run has none of that kind (GT_STATS_OF). */
gt_table *gt_rocprof_stats_by_name(const gt_rocprof *run, int64_t of);

#endif
