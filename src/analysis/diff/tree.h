/* Two call trees as one: which calls of one trace belong to which of the other, and which stand alone?
 *
 * Roots are paired by position. Below a pair, the calls that lead to GPU work are aligned by their names;
 * what is left over on both sides is tried again without the calls that merely wrap others. A node of the
 * merged tree has an event of each trace, or of one alone. Nodes are numbered as they are met from the roots
 * downwards. */
#ifndef GT_ANALYSIS_DIFF_TREE_H
#define GT_ANALYSIS_DIFF_TREE_H

#include "analysis/diff/side.h"
#include "base/error.h"

typedef struct gt_diff_node {
    uint32_t rows[2];                  /* of both traces; GT_NO_EVENT in one that has it not */
    uint32_t first_child, child_count; /* children[first_child ...] */
} gt_diff_node;

typedef struct gt_diff_tree {
    gt_diff_side *sides[2]; /* owned */
    gt_interner *names;     /* owned; see diff_side.h */
    gt_diff_node *nodes;
    size_t count, capacity;
    uint32_t *children; /* nodes; one may be a child twice, where an outermost event shares its children */
    size_t child_count, child_capacity;
    uint32_t *roots;
    size_t root_count;
} gt_diff_tree;

static inline bool gt_diff_is_combined(const gt_diff_node *node)
{
    return node->rows[0] != GT_NO_EVENT && node->rows[1] != GT_NO_EVENT;
}
/* Of a node that one trace alone has: which. */
static inline size_t gt_diff_only_side(const gt_diff_node *node)
{
    return node->rows[0] == GT_NO_EVENT;
}

/* Both traces must have tree and links, and outlive the merged tree. NULL where one has no op, or where lists
 * of calls are too long to be aligned. */
gt_diff_tree *gt_diff_tree_new(const gt_linked_view *first, const gt_linked_view *second, gt_error *error);
void gt_diff_tree_free(gt_diff_tree *merged);

#endif
