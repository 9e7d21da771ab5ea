/* Sheet diff_stats_unique_args_summary: the rows of diff_stats that differ in nothing but their time and
 * their place, and which kernels stand behind which op in each trace.
 *
 * Ops that do the same under other names (aten::miopen_convolution, aten::cudnn_convolution) get one name
 * where they are under the same common call and their names or modules tell that they belong together. */
#ifndef GT_ANALYSIS_DIFF_UNIQUE_ARGS_H
#define GT_ANALYSIS_DIFF_UNIQUE_ARGS_H

#include "analysis/diff/stats.h"

typedef struct gt_diff_summary {
    gt_table *table;      /* the sheet */
    gt_table *op_maps[2]; /* of each trace: cpu_op_name, kernels; by name, with the names of the trace */
    gt_table *op_map; /* cpu_op_name, source, kernels, nn_module_parents; with the common names, in the order
                         of the sheet */
} gt_diff_summary;

/* `stats` must have rows, of both traces. */
gt_diff_summary gt_diff_summarise(const gt_diff_stats *stats);

#endif
