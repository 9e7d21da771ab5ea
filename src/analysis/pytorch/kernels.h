/* The kernels of a PyTorch trace, and sheet kernel_summary: which took the time, and for which ops? */
#ifndef GT_ANALYSIS_PYTORCH_KERNELS_H
#define GT_ANALYSIS_PYTORCH_KERNELS_H

#include "analysis/pytorch/extension.h"
#include "analysis/pytorch/launchers.h"
#include "table/table.h"
#include "trace/pytorch/pytorch.h"

/* Every kernel of the trace, linked to a launch or not, in file order; copies and memsets are not kernels. */
typedef struct gt_pytorch_kernels {
    const gt_linked_view *trace;   /* borrowed */
    const gt_extension *extension; /* borrowed; NULL: none */
    uint32_t *rows;
    uint32_t *cpu_ops; /* the nearest cpu_op above each, GT_NO_EVENT where there is none */
    size_t count;
    bool have_cpu_ops; /* at least one kernel of the trace has one */
    bool whole;        /* every kernel's duration was written as an integer */
} gt_pytorch_kernels;

gt_pytorch_kernels gt_pytorch_kernels_find(const gt_linked_view *trace, const gt_extension *extension);
void gt_pytorch_kernels_free(gt_pytorch_kernels *kernels);

/* The longest sum first, equal sums in order of the keys. No rows where the trace has no kernels. `total_ms`
 * is the timeline's total_time. */
gt_table *gt_pytorch_kernel_summary(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                    double total_ms);
/* The same without the share of the total time; `kernels` may be a part of the trace's. */
gt_table *gt_pytorch_kernel_shares(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                   gt_sheet sheet);

/* For this sheet and others of kernels: adds cell / total * 100, FLOAT, empty where the total is not above 0.
 */
void gt_pytorch_kernels_add_share(gt_table *table, gt_col column, double total_us, gt_col name);

#endif
