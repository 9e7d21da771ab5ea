/* What the changes to a call tree share: the tree as lists of children, and room for more rows. Only
 * src/trace/pytorch includes this. */
#pragma once

#include "trace/pytorch/state.h"

/* ---- lists of children ---- */

/* Arrays by row, owned; GT_NO_EVENT: none. */
typedef struct gt_child_lists {
    uint32_t *caller; /* the event in whose list a row is; not always its parent (gt_tree_wrap_launch) */
    uint32_t *first, *last; /* of an event's own list */
    uint32_t *previous, *next;
    gt_row_list roots; /* in order */
} gt_child_lists;

/* The lists of the tree as it is, with room for `rows` rows. */
gt_child_lists gt_child_lists_new(const gt_linked_view *trace, size_t rows);
void gt_child_lists_free(gt_child_lists *lists);
/* Appends an event that is in no list to the list of `caller`. */
void gt_child_lists_append(gt_child_lists *lists, uint32_t caller, uint32_t row);
/* Removes an event from the list that it is in. */
void gt_child_lists_remove(gt_child_lists *lists, uint32_t row);
/* Sets preorder, subtree_end and what depends on them from the lists. Events in no list are no longer in the
 * tree. */
void gt_child_lists_number(const gt_child_lists *lists, gt_pytorch_state *trace);

/* ---- more rows ---- */

/* Makes the arrays `count` rows long, but not the lanes. Entries of new rows are not set, except in
 * recompute, grafted and extra. */
void gt_state_resize(gt_pytorch_state *trace, size_t count);
void gt_state_add_late_root(gt_pytorch_state *trace, uint32_t row);
