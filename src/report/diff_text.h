/* Internal to src/report: the diff's text files, that is the merged tree and the JSON maps of ops. */
#ifndef GT_REPORT_DIFF_TEXT_H
#define GT_REPORT_DIFF_TEXT_H

#include "analysis/diff/diff.h"
#include "output/file.h"
#include "table/table.h"

/* Deeper calls are not written, because the length of a line grows with the depth. */
enum { GT_DIFF_DEPTH_MAX = 10000 };

/* Writes one line per call. Returns the number of calls that were too deep. */
size_t gt_diff_write_tree(gt_file *file, const gt_diff_tree *tree, bool prune_non_gpu);

/* {op: [kernel, ...]} for a table with cpu_op_name and kernels only; otherwise {op: {source: {"kernels":
 * [...], "nn_module_parents": [...]}}}, without the sources if there is no such column. Formatted like
 * Python's json.dump with indent=2. */
void gt_diff_write_map(gt_file *file, const gt_table *map);

#endif
