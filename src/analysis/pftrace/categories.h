/* What kinds of work filled each GPU's time: category_summary, and the kernels of no known kind: xla_top. */
#ifndef GT_ANALYSIS_PFTRACE_CATEGORIES_H
#define GT_ANALYSIS_PFTRACE_CATEGORIES_H

#include "analysis/pftrace/events.h"
#include "table/table.h"

/* Nanoseconds and number of events of each kind on one GPU. */
typedef struct gt_pftrace_totals {
    int64_t ns[GT_PFTRACE_CLASSES], count[GT_PFTRACE_CLASSES];
    int64_t compute_ns; /* of all kinds but communication */
    int64_t overlapped_ns;
} gt_pftrace_totals;

/* One a GPU; the caller frees them. The work must be what counts (gt_pftrace_keep_long). */
gt_pftrace_totals *gt_pftrace_find_totals(const gt_pftrace_work *work);

gt_table *gt_pftrace_category_summary(const gt_pftrace_totals *totals, size_t gpus, gt_interner *strings);
/* All of them; without rows it has no columns either. */
gt_table *gt_pftrace_xla_top(const gt_pftrace_work *work, bool merge_names, gt_interner *strings);

#endif
