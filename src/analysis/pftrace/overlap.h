/* How much of the communication on a GPU ran beside computation? */
#ifndef GT_ANALYSIS_PFTRACE_OVERLAP_H
#define GT_ANALYSIS_PFTRACE_OVERLAP_H

#include "analysis/pftrace/events.h"

/* The time that communication and computation share, added up over all pairs, so that what overlaps two
 * kernels counts twice; but kernels behind the first one that outlasts the communication do not count.
 * Nanoseconds; both lists are sorted by their beginnings. */
int64_t gt_pftrace_overlap(const gt_pftrace_list *compute, const gt_pftrace_list *communication);

#endif
