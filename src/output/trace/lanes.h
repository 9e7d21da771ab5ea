/* Slices of a track side by side: which lane each takes so that none hides another.
 *
 * A lane is a track as viewers draw it: slices on it follow each other or lie one inside the other. A slice
 * that overlaps another in part goes to the next lane. On a track that does not nest, as a GPU's stream,
 * slices on one lane only follow each other. */
#ifndef GT_OUTPUT_TRACE_LANES_H
#define GT_OUTPUT_TRACE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gt_lanes {
    bool nests;
    struct gt_lane *nested; /* lanes that hold slices inside each other; the first few */
    size_t nested_count, nested_capacity;
    int64_t *ends; /* of the lanes behind them: a binary tree over the end of the last slice on each */
    size_t count, leaves;
} gt_lanes; /* {.nests = ...} is empty */

/* The lane, from 0 on, of the next slice; slices come by their start, of those that start together the
 * longest first. `end` is not before `start`. */
size_t gt_lanes_place(gt_lanes *lanes, int64_t start, int64_t end);
void gt_lanes_free(gt_lanes *lanes);

#endif
