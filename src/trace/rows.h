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

/* ---- sets of rows ----
 *
 * A set of rows that knows how many members are below each row: an array with one entry per member, and not
 * one per row, is then enough for what is known about the members.
 *
 *     gt_row_set ops = gt_row_set_new(trace->count);
 *     gt_row_set_add(&ops, row); ...
 *     size_t count = gt_row_set_finish(&ops);
 *     uint32_t rank = gt_row_set_rank(&ops, row);    0 for the first member; GT_NO_RANK: not a member
 *     uint32_t below = gt_row_set_below(&ops, row);  members below it; also for trace->count
 *
 * It needs 3 bits per row. */

#define GT_NO_RANK UINT32_MAX

typedef struct gt_row_set {
    uint64_t *bits;
    uint32_t *before; /* by word of bits: members in the words before it */
    size_t words;
} gt_row_set;

gt_row_set gt_row_set_new(size_t rows);
void gt_row_set_free(gt_row_set *set);
/* To be called after the last member is added and before the first rank is asked. Returns the number of
 * members. */
size_t gt_row_set_finish(gt_row_set *set);

/* Threads may add rows at the same time if no 64 rows from a multiple of 64 on are shared. */
static inline void gt_row_set_add(gt_row_set *set, uint32_t row)
{
    set->bits[row / 64] |= UINT64_C(1) << row % 64;
}

/* The same for any rows. Cheap for rows that are in it already. */
static inline void gt_row_set_add_shared(gt_row_set *set, uint32_t row)
{
    uint64_t *word = &set->bits[row / 64], bit = UINT64_C(1) << row % 64;
    if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit)) __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

static inline uint32_t gt_row_set_below(const gt_row_set *set, uint32_t row)
{
    uint64_t below = set->bits[row / 64] & ((UINT64_C(1) << row % 64) - 1);
    return set->before[row / 64] + (uint32_t)__builtin_popcountll(below);
}

static inline bool gt_row_set_has(const gt_row_set *set, uint32_t row)
{
    return set->bits[row / 64] >> row % 64 & 1;
}

static inline uint32_t gt_row_set_rank(const gt_row_set *set, uint32_t row)
{
    return gt_row_set_has(set, row) ? gt_row_set_below(set, row) : GT_NO_RANK;
}
