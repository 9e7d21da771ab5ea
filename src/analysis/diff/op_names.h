/* One name for ops of two traces that do the same under different names. */
#ifndef GT_ANALYSIS_DIFF_OP_NAMES_H
#define GT_ANALYSIS_DIFF_OP_NAMES_H

#include "analysis/diff/stats.h"

/* Puts common names into the column cpu_op_name of a summary of `stats`, and takes the spaces out of
 * nn_module_parent. */
void gt_diff_name_ops(gt_table *summary, const gt_diff_stats *stats);

#endif
