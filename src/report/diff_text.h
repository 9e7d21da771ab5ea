/* The files of a diff that are no tables: the merged tree as text, and maps of ops as JSON. Only src/report
 * uses this. */
#ifndef GT_REPORT_DIFF_TEXT_H
#define GT_REPORT_DIFF_TEXT_H

#include "analysis/diff/diff.h"
#include "output/file.h"
#include "table/table.h"

/* Calls that lie deeper than so many levels are not written: a line is as long as its call is deep. */
enum { GT_DIFF_DEPTH_MAX = 10000 };

/* One line a call. Returns how many calls were too deep. */
size_t gt_diff_write_tree(gt_file *file, const gt_diff_tree *tree, bool prune_non_gpu);

/* {op: [kernel, ...]} of a table cpu_op_name, kernels; {op: {source: {"kernels": [...], "nn_module_parents":
 * [...]}}} where it has more columns, without the sources where there is no such column. As Python's
 * json.dump writes it with an indent of 2. */
void gt_diff_write_map(gt_file *file, const gt_table *map);

#endif
