/* Changes to the call tree of a linked trace: ops that the profiler did not record, other parents, other
 * names. Views (gt_pytorch_view) show the changes when the call that makes them returns.
 *
 * There are two ways to add ops. gt_tree_edit is for our own analyses (pseudo_ops.c): each call wraps events
 * in one new op, and the result is a tree by construction. gt_tree_rewire is for changes that an extension
 * computed in another process: it takes any parents and children and checks them. */
#pragma once

#include "trace/pytorch/pytorch.h"

/* ---- wrapping events in new ops ---- */

/* An op to add. */
typedef struct gt_new_op {
    uint32_t name;         /* string id */
    uint32_t arguments_of; /* the row whose inputs (dims, types, strides, concrete inputs) it copies */
    uint32_t extra;        /* more arguments: string id of a JSON object, or GT_STR_NONE */
} gt_new_op;

/* A list of changes:
 *
 *     gt_tree_edit *edit = gt_tree_edit_begin(trace);
 *     gt_tree_wrap_children(edit, row, (gt_new_op){.name = ..., .arguments_of = ...});
 *     size_t added = gt_tree_edit_finish(edit);
 *
 * The trace does not change before gt_tree_edit_finish, which makes the changes in the order of the calls.
 * The n-th new op is row `count + n` of the trace as it was before. */
typedef struct gt_tree_edit gt_tree_edit;
gt_tree_edit *gt_tree_edit_begin(gt_pytorch_linked *trace);

/* Puts a new op between an event and all its children: the event calls only the op, and the op calls what the
 * event called. The op has the event's time and thread. */
void gt_tree_wrap_children(gt_tree_edit *edit, uint32_t row, gt_new_op op);
/* Puts a new op between an event and its parent, at the event's position and with its time. The event must
 * not be a root. */
void gt_tree_wrap_event(gt_tree_edit *edit, uint32_t row, gt_new_op op);
/* Moves a runtime call from its parent's children into a new op, which becomes the parent's last child and
 * has no time. Only the list of children changes: parent[runtime] stays the same, so that the launch counts
 * for the same op as before. Returns false and does nothing if the call has no parent or was already moved.
 */
bool gt_tree_wrap_launch(gt_tree_edit *edit, uint32_t runtime, gt_new_op op);

/* Makes the changes, frees the edit and returns the number of ops added. */
size_t gt_tree_edit_finish(gt_tree_edit *edit);

/* ---- any change, checked ---- */

/* A cpu_op to append. */
typedef struct gt_new_row {
    uint32_t name;                           /* string id */
    gt_lane_ids lane;                        /* its process and thread */
    double start_us, dur_us;                 /* NaN: none */
    uint8_t integral;                        /* GT_INTEGRAL_* */
    uint32_t dims, types, strides, concrete; /* string ids */
    int64_t sequence;                        /* GT_EVENT_NONE: none */
    uint32_t extra;                          /* as gt_event_view.extra */
} gt_new_row;

/* Row numbers refer to the trace's rows, followed by the new rows in their order. */
typedef struct gt_rewiring {
    const gt_new_row *rows;
    size_t row_count;
    const uint32_t *parent_of, *parents; /* pairs: parents[i] becomes the parent of parent_of[i]; it may be
                                            GT_NO_EVENT */
    size_t parent_count;
    const uint32_t *caller_of; /* events whose list of children is replaced, by ... */
    const size_t *child_begin; /* ... children[child_begin[i]] to children[child_begin[i + 1] - 1] */
    const uint32_t *children;
    size_t caller_count;
} gt_rewiring;

/* Makes the changes. Parents and lists of children are independent: an event that is in no list afterwards is
 * no longer in the tree, except that a new event becomes a root. Returns false if an event would be in two
 * lists or would be its own ancestor; the trace can then only be freed. */
bool gt_tree_rewire(gt_pytorch_linked *trace, const gt_rewiring *rewiring, gt_error *error);

/* ---- names ---- */

void gt_tree_rename(gt_pytorch_linked *trace, uint32_t row, uint32_t name);

/* Removes the numbers that sglang's profiler appends to the names of ops, which change from run to run:
 * sglang_profiler::gemm_17 and sglang_profiler::gemm_18 both become sglang_profiler::gemm. */
void gt_tree_strip_sglang_numbers(gt_pytorch_linked *trace);
