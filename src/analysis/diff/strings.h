/* Texts of a diff's sheets: those of the second trace among those of the first, and the modules around an op.
 */
#ifndef GT_ANALYSIS_DIFF_STRINGS_H
#define GT_ANALYSIS_DIFF_STRINGS_H

#include "analysis/diff/tree.h"
#include "base/buffer.h"

typedef struct gt_diff_strings gt_diff_strings;
gt_diff_strings *gt_diff_strings_new(const gt_diff_tree *merged);
void gt_diff_strings_free(gt_diff_strings *texts);

/* A text of trace 0 or 1 as a text id of trace 0. */
uint32_t gt_diff_text(gt_diff_strings *texts, size_t side, uint32_t id);

/* The arguments of an op in GT_DIFF_ARGUMENTS order, as Python prints them; "" where it has none. */
enum { GT_DIFF_DIMS, GT_DIFF_STRIDES, GT_DIFF_TYPES, GT_DIFF_CONCRETE, GT_DIFF_ARGUMENTS };
uint32_t gt_diff_argument(gt_diff_strings *texts, size_t side, uint32_t row, size_t which);

/* The modules around an event: outermost first, joined by ';', and the innermost. */
typedef struct gt_diff_modules {
    uint32_t stack, innermost;
} gt_diff_modules;
gt_diff_modules gt_diff_modules_of(gt_diff_strings *texts, size_t side, uint32_t row);

/* The name of a common call: without "(12)" anywhere in it. */
uint32_t gt_diff_call_name(gt_diff_strings *texts, const gt_diff_node *node, size_t side);
uint32_t gt_diff_common_name(gt_diff_strings *texts, const gt_diff_node *node);

/* Names of the children that lead to GPU work, joined by "; ", and of the events around one, outermost first,
 * joined by ", ". */
uint32_t gt_diff_child_names(gt_diff_strings *texts, size_t side, uint32_t row);
uint32_t gt_diff_call_stack(gt_diff_strings *texts, size_t side, uint32_t row);

#endif
