/* Time of ops by category and by name, the longest total first, equal totals as first seen in the trace. */
#ifndef GT_ANALYSIS_PYTORCH_OPS_SUMMARY_H
#define GT_ANALYSIS_PYTORCH_OPS_SUMMARY_H

#include "analysis/pytorch/ops.h"

gt_table *gt_ops_summary_by_category(const gt_ops *ops);
gt_table *gt_ops_summary(const gt_ops *ops);

#endif
