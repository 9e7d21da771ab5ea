/* Rows of a trace: in order of a time, and those with a property. */
#pragma once

#include "base/base.h"
#include "base/team.h"

/* How many rows one thread of the team takes at a time in loops over all rows. */
#define GT_ROWS_GRAIN GT_GRAIN(16384)

/* The same in loops over ops, each of which is more work than a row. */
#define GT_OPS_GRAIN GT_GRAIN(2048)

/* Sorts rows by times[row], ascending, on all threads of the team. The sort is stable; NaN comes first.
 * Traces are nearly sorted, and runs that are in order are only merged, so sorted rows cost one pass. */
void gt_order_rows(uint32_t *rows, size_t count, const double *times);
/* The same with ranges of `grain` rows instead of GT_ROWS_GRAIN. */
void gt_order_rows_by_ranges(uint32_t *rows, size_t count, const double *times, size_t grain);

/* For qsort and bsearch: row numbers, ascending. */
int gt_by_row(const void *left, const void *right);

/* A list of rows. {0} is empty; the owner frees items. */
typedef struct gt_row_list {
    uint32_t *items;
    size_t count, capacity;
} gt_row_list;

/* The numbers below `count` for which `wanted` is true, ascending; it is called by all threads of the team.
 */
gt_row_list gt_rows_where(size_t count, bool (*wanted)(const void *context, size_t row), const void *context);

/* Replaces each item by the sum of all before it. */
void gt_sums_before(uint32_t *items, size_t count);
