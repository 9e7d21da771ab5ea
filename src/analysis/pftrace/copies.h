/* How many memory copies of each size went which way? */
#ifndef GT_ANALYSIS_PFTRACE_COPIES_H
#define GT_ANALYSIS_PFTRACE_COPIES_H

#include "table/table.h"
#include "trace/events.h"

/* memory_copy_by_copy_bytes: copy_bytes, direction, count; ascending by the first two. GPUs are numbered as
 * agents are; with `only_numbers` an agent that is named, as "Agent-2", is "?", as the Python tool has it. */
gt_table *gt_pftrace_memory_copies(const gt_chrome *trace, bool only_numbers);

#endif
