/* How long from an API call to the end of the kernel that it launched: api_kernel_summary. */
#ifndef GT_ANALYSIS_PFTRACE_API_H
#define GT_ANALYSIS_PFTRACE_API_H

#include "compat/python_regex.h"
#include "table/table.h"
#include "trace/events.h"

typedef struct gt_pftrace_api_options {
    const gt_python_regex *exclude; /* kernels whose names match are left out; NULL: none */
    bool all_kernels;               /* of a call, not only the one that begins first */
    bool other_calls;               /* calls that are no launches or have no kernel too */
} gt_pftrace_api_options;

/* NULL if the expression takes too many steps on one of the names. */
gt_table *gt_pftrace_api_kernel_summary(const gt_chrome *trace, const gt_pftrace_api_options *options,
                                        gt_error *error);

#endif
