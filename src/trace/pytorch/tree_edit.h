/* Ops that the trace does not have, put into the call tree: around what an event called, around an event, or
 * around a launch.
 *
 *     gt_tree_edit *edit = gt_tree_edit_begin(trace);
 *     gt_tree_wrap_children(edit, row, (gt_new_op){.name = ..., .arguments_of = ...});
 *     gt_tree_edit_finish(edit);
 *
 * Nothing changes before the end; then new rows stand behind the trace's, and the numbers of the tree are
 * given out anew. */
#ifndef GT_TRACE_PYTORCH_TREE_EDIT_H
#define GT_TRACE_PYTORCH_TREE_EDIT_H

#include "trace/pytorch/pytorch.h"

typedef struct gt_new_op {
    uint32_t name;         /* text id */
    uint32_t arguments_of; /* the row whose inputs (dims, types, strides, concrete inputs) are its own */
    uint32_t extra;        /* more arguments: the text id of a JSON object, or GT_STR_NONE */
} gt_new_op;

typedef struct gt_tree_edit gt_tree_edit;
gt_tree_edit *gt_tree_edit_begin(gt_pytorch *trace);

/* The event now calls the new op alone, which calls what the event did; time and thread are the event's. */
void gt_tree_wrap_children(gt_tree_edit *edit, uint32_t row, gt_new_op op);
/* The new op stands between an event and its parent, at the event's place and time. Not at roots. */
void gt_tree_wrap_event(gt_tree_edit *edit, uint32_t row, gt_new_op op);
/* The new op takes a runtime call away from its parent and becomes the parent's last child. It has no time.
 * The call does not know it: its parent stays the same, so the launch counts for the op that it counted for.
 * A call is taken once; false where it has no parent or was taken. */
bool gt_tree_wrap_launch(gt_tree_edit *edit, uint32_t runtime, gt_new_op op);

/* How many ops there are now that were not there before. Frees the edit. */
size_t gt_tree_edit_finish(gt_tree_edit *edit);

#endif
