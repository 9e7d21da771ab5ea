/* What the files of the diff share: alignment of two lists of calls, and strings for the sheets. */
#pragma once

#include "analysis/diff/diff.h"

/* ---- alignment (align.c) ---- */

#define GT_NO_INDEX UINT32_MAX

/* A match of item i of the first list with item j of the second, a deletion (no j) or an insertion (no i). */
typedef struct gt_diff_op {
    uint32_t i, j;
} gt_diff_op;

typedef struct gt_diff_ops {
    gt_diff_op *items;
    size_t count, capacity;
} gt_diff_ops;

void gt_diff_ops_add(gt_diff_ops *ops, uint32_t i, uint32_t j);

static inline bool gt_diff_op_is_match(gt_diff_op op)
{
    return op.i != GT_NO_INDEX && op.j != GT_NO_INDEX;
}

/* The alignment with the fewest edits (Wagner and Fischer): deleting, inserting and replacing cost one each.
 * If several alignments cost the same, the result is the one that goes back from the ends, matches equal
 * items whenever it meets them, otherwise deletes if that is optimal, and otherwise inserts. A replaced item
 * is a deletion and an insertion.
 *
 * Fills `ops` in the order of the lists. Items are small numbers, such as string ids. Without the common
 * prefix and suffix of the lists, time is proportional to the product of their lengths / 64, and memory to
 * one length times the square root of the other. Returns false if that needs to compare more than
 * *cells_left pairs of items, which becomes smaller by those that are compared. */
bool gt_align(uint64_t *cells_left, const uint32_t *first, size_t first_count, const uint32_t *second,
              size_t second_count, gt_diff_ops *ops);

/* Appends parts, whose indexes are places in the lists `of`. */
void gt_diff_ops_add_parts(gt_diff_ops *ops, const gt_diff_ops *parts, const gt_row_list of[2]);

/* ---- repeated names (rematch.c) ---- */

typedef struct gt_diff_rematch gt_diff_rematch;
gt_diff_rematch *gt_diff_rematch_new(gt_diff_side *first, gt_diff_side *second);
void gt_diff_rematch_free(gt_diff_rematch *rematch);

/* Changes the alignment of two lists of events: if a matched name occurs several times in a list, its calls
 * are paired again, those that do the same first. As many are paired as the shorter list has. If this finds
 * better pairs, entries of other names stay in order at the front; new matches, deletions and insertions
 * follow, each in order. */
void gt_diff_rematch_pair(gt_diff_rematch *rematch, const uint32_t *first, size_t first_count,
                          const uint32_t *second, size_t second_count, gt_diff_ops *ops);

/* ---- strings for the sheets (side.c) ---- */

typedef struct gt_diff_strings gt_diff_strings;
/* Borrows the tree. */
gt_diff_strings *gt_diff_strings_new(const gt_diff_tree *merged);
void gt_diff_strings_free(gt_diff_strings *texts);

/* A string of either trace as a string id of trace1. */
uint32_t gt_diff_text(gt_diff_strings *texts, size_t side, uint32_t id);

/* The arguments of an op, as Python prints them; "" if it has none. */
enum { GT_DIFF_DIMS, GT_DIFF_STRIDES, GT_DIFF_TYPES, GT_DIFF_CONCRETE, GT_DIFF_ARGUMENTS };
uint32_t gt_diff_argument(gt_diff_strings *texts, size_t side, uint32_t row, size_t which);

/* The modules that contain an event: outermost first, joined by ';', and the innermost. "root" if there are
 * none. */
typedef struct gt_diff_modules {
    uint32_t stack, innermost;
} gt_diff_modules;
gt_diff_modules gt_diff_modules_of(gt_diff_strings *texts, size_t side, uint32_t row);

/* The name of a common call in one trace and in both, without "(12)" in it. */
uint32_t gt_diff_call_name(gt_diff_strings *texts, const gt_diff_node *node, size_t side);
uint32_t gt_diff_common_name(gt_diff_strings *texts, const gt_diff_node *node);

/* Names of the children that lead to GPU events, joined by "; ", and of the events that contain an event,
 * outermost first, joined by ", ". */
uint32_t gt_diff_child_names(gt_diff_strings *texts, size_t side, uint32_t row);
uint32_t gt_diff_call_stack(gt_diff_strings *texts, size_t side, uint32_t row);

/* The node of a row's common call, by the column of ids; GT_NO_EVENT: none. */
uint32_t gt_diff_node_at(const gt_column *ids, size_t row);
