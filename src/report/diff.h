/* The diff of two PyTorch traces.
 *
 *     merged_tree_output.txt                the merged call tree
 *     diff_stats.csv                        see analysis/diff/diff.h
 *     diff_stats_unique_args_summary.csv    see analysis/diff/diff.h
 *     cpu_op_map.json, cpu_op_map_trace1.json, cpu_op_map_trace2.json    the kernels of each op
 *
 * If no kernel of either trace belongs to an op, only the tree is written. */
#pragma once

#include "analysis/diff/diff.h"
#include "output/output.h"

typedef struct gt_diff_options {
    bool prune_non_gpu; /* omit root calls without kernels from the tree file */
    bool explain;       /* four more columns (gt_diff_stats_make) */
} gt_diff_options;

typedef struct gt_diff gt_diff;

/* Compares two traces. Borrows them: free the diff first. NULL if one has no ops. */
gt_diff *gt_diff_new(const gt_linked_view *first, const gt_linked_view *second,
                     const gt_diff_options *options, gt_error *error);
void gt_diff_free(gt_diff *diff);

/* diff_stats and diff_stats_unique_args_summary; none if there are no rows. */
const gt_table_list *gt_diff_tables(const gt_diff *diff);
/* Writes all files into a folder. */
bool gt_diff_write(const gt_diff *diff, gt_output *output, const char *dir, gt_error *error);

/* How much GPU time the traces have in common, and where they differ most. */
void gt_diff_print_summary(FILE *out, const gt_diff *diff, int width, bool utf8);
