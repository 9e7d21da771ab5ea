/* Sorting: tables by several columns, and lists of rows by one array, always stable.
 *
 * Missing values come last in both directions, as pandas puts them; text is in byte order, -0.0 equals 0.0.
 */
#ifndef GT_TABLE_SORT_H
#define GT_TABLE_SORT_H

#include "table/table.h"

typedef struct gt_sort_key {
    gt_col column; /* not a LIST */
    bool descending;
} gt_sort_key;

/* Sorts by the first key, ties by the second, and so on; rows that tie in all keep their order. */
void gt_table_sort(gt_table *table, const gt_sort_key *keys, size_t key_count);
/* The order without the move: row numbers, first row first. The caller frees it. */
uint32_t *gt_table_order(const gt_table *table, const gt_sort_key *keys, size_t key_count);

/* Lists of rows. gt_order_by_* bring a list into the order of the rows' values and keep ties as they stand,
 * so that sorting by two arrays is sorting by the second and then by the first. */
uint32_t *gt_order_new(size_t count); /* 0, 1, 2, ...; the caller frees it */
void gt_order_by_ints(uint32_t *rows, size_t count, const int64_t *values, const uint8_t *nulls,
                      bool descending);
void gt_order_by_floats(uint32_t *rows, size_t count, const double *values, bool descending);
void gt_order_by_strings(uint32_t *rows, size_t count, const uint32_t *ids, const gt_interner *strings,
                         bool descending);
void gt_order_by_column(uint32_t *rows, size_t count, const gt_column *column, const gt_interner *strings,
                        bool descending);

/* Brings different text ids into byte order. */
void gt_sort_strings(uint32_t *ids, size_t count, const gt_interner *strings);

#endif
