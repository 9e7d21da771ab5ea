/* Arithmetic with stretches of time: how long was at least one of these running, and how long without those?
 *
 * A list is filled in any order and then merged: sorted, and joined where stretches overlap or touch.
 * Everything else takes merged lists and is one pass over them. Times are doubles in one unit of the caller's
 * choice, never NaN. */
#ifndef GT_TRACE_INTERVALS_H
#define GT_TRACE_INTERVALS_H

#include <stddef.h>

typedef struct gt_interval {
    double start, end;
} gt_interval;

typedef struct gt_intervals {
    gt_interval *items;
    size_t count, capacity;
} gt_intervals; /* {0} is the empty list */

void gt_intervals_reserve(gt_intervals *list, size_t count);
void gt_intervals_add(gt_intervals *list, double start, double end);
void gt_intervals_free(gt_intervals *list); /* leaves an empty list */

/* Sorts by start, stably, and joins in place: an interval that starts at or before the end of the one before
 * it extends that one. Linear where the list is sorted, near it where only neighbours are out of order. An
 * interval that ends before it starts stays as it is unless another covers its start. */
void gt_intervals_merge(gt_intervals *list);

/* All below take merged lists, and those that return a list return a merged one, which the caller frees. */
double gt_intervals_length(const gt_intervals *list); /* sum of end - start, first to last */
gt_intervals gt_intervals_union(const gt_intervals *a, const gt_intervals *b);
gt_intervals gt_intervals_intersect(const gt_intervals *a, const gt_intervals *b);
double gt_intervals_length_without(const gt_intervals *a,
                                   const gt_intervals *b); /* of what of a is not in b */
gt_intervals gt_intervals_subtract(const gt_intervals *a, const gt_intervals *b); /* what of a is not in b */

#endif
