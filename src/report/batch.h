/* The batch report: which sheets one folder of PyTorch traces gets, in which order.
 *
 * Sheets: kernels_<rank>, gemm, conv, attn, un_elemwise, bin_elemwise, kernel_launchers, gpu_timelines,
 * linked_and_short_kernels, unlinked_short_kernels_summary, short_cpu_op_counts, cuda_events_summary,
 * grouped_breakdown (gt_batch_tables), and of several ranks summary_nccl_implicit_sync_cat, long,
 * nccl_implicit_sync_cat, nccl_implicit_sync_cat_detailed, nccl_all2allv (gt_batch_collective_tables). Those
 * without rows are absent, but for kernel_launchers, gpu_timelines, linked_and_short_kernels and
 * grouped_breakdown. */
#ifndef GT_REPORT_BATCH_H
#define GT_REPORT_BATCH_H

#include "report/batch_ranks.h"

#include <stdio.h>

/* Adds the sheets; their texts are the ranks'. What the old program says of groups and kernels that are not
 * there goes to `out`, unless that is NULL. To be called once: rows of the ranks become sheets. */
void gt_batch_tables(gt_batch_ranks *ranks, FILE *out, gt_table_list *tables);

/* Adds those of collectives, nothing where no rank has any. Also once. */
void gt_batch_collective_tables(gt_batch_ranks *ranks, gt_table_list *tables);

#endif
