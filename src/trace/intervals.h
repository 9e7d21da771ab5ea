/* Arithmetic with intervals of time: how long was at least one of these running, and how long without those?
 *
 * Fill a list in any order, then merge it: gt_intervals_merge sorts it and joins intervals that overlap or
 * touch. All other functions take merged lists and make one pass over them. Times are doubles in a unit of
 * the caller's choice, never NaN. */
#pragma once

#include "base/base.h"

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

/* Sorts by start, stably, and joins in place: an interval that starts at or before the end of the previous
 * one extends it. Takes linear time if the list is sorted, and nearly linear time if only neighbours are out
 * of order. An interval that ends before it starts stays as it is unless another one covers its start. */
void gt_intervals_merge(gt_intervals *list);

/* The functions below take merged lists. Those that return a list return a merged one, which the caller
 * frees. */
double gt_intervals_length(const gt_intervals *list); /* sum of end - start, added from first to last */
gt_intervals gt_intervals_union(const gt_intervals *a, const gt_intervals *b);
gt_intervals gt_intervals_intersect(const gt_intervals *a, const gt_intervals *b);
gt_intervals gt_intervals_subtract(const gt_intervals *a, const gt_intervals *b); /* a without b */
double gt_intervals_length_without(const gt_intervals *a, const gt_intervals *b); /* length of a without b */
