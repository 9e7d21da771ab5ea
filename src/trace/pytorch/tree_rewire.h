/* A call tree changed at will: new ops, other parents, other lists of children. For changes that somebody
 * else has thought out (tree_edit.h has those of our own), so everything about them is checked. */
#ifndef GT_TRACE_PYTORCH_TREE_REWIRE_H
#define GT_TRACE_PYTORCH_TREE_REWIRE_H

#include "trace/pytorch/tree_lists.h"

/* Rows are those of the trace, and behind them the new ones in their order. */
typedef struct gt_rewiring {
    const gt_new_row *rows;
    size_t row_count;
    const uint32_t *parent_of, *parents; /* pairs: whose parent is which; GT_NO_EVENT: none */
    size_t parent_count;
    const uint32_t *caller_of; /* whose list of children; its children are children[child_begin[i] .. */
    const size_t *child_begin; /* .. child_begin[i + 1]) */
    const uint32_t *children;
    size_t caller_count;
} gt_rewiring;

/* An event that is in no list afterwards is no longer in the tree; a new one is a root then. False where an
 * event would stand in two lists, or be its own ancestor; the trace can only be freed then. */
bool gt_tree_rewire(gt_pytorch *trace, const gt_rewiring *rewiring, gt_error *error);

#endif
