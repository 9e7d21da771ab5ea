/* How long kernels and API calls took, as profilers for the terminal print it: kernel_summary and
 * hip_summary. */
#ifndef GT_ANALYSIS_PFTRACE_DURATIONS_H
#define GT_ANALYSIS_PFTRACE_DURATIONS_H

#include "analysis/pftrace/events.h"
#include "table/table.h"

typedef struct gt_pftrace_kernel_options {
    bool with_communication; /* rccl kernels too */
    bool by_name;            /* one row a name, not one a name, grid, block and registers */
    bool merge_names;        /* names without their digits */
    int64_t baseline_ns;     /* what the percentages are of */
} gt_pftrace_kernel_options;

/* Without rows they have no columns either. */
gt_table *gt_pftrace_kernel_summary(const gt_chrome *trace, const gt_pftrace_work *work,
                                    const gt_pftrace_kernel_options *options);
gt_table *gt_pftrace_hip_summary(const gt_chrome *trace, const gt_pftrace_list *calls, bool by_stream,
                                 bool by_operation);

#endif
