/* Internal to src/table: single columns, and the radix sort.
 *
 * A column does not know how many rows it has; its table does. Its arrays have room for `capacity` cells, and
 * the null marks of cells after the last row are 0. */
#pragma once

#include "table/table.h"

void gt_column_init(gt_column *column, const char *name, gt_type type);
void gt_column_free(gt_column *column);

/* Gives a new column its cells in an arena, which must outlive it. */
void gt_column_lend(gt_column *column, size_t cells, gt_arena *arena);
void gt_column_reserve(gt_column *column, size_t cells);
void gt_column_set_null(gt_column *column, size_t row);
void gt_column_fill_null(gt_column *column, size_t from, size_t to);
void gt_column_fill_zero(gt_column *column, size_t from, size_t to); /* see gt_table_add_rows */
void gt_column_fill_junk(gt_column *column, size_t rows);            /* for tests */

uint8_t *gt_column_shown(gt_column *column); /* the array `shown`, which is made if there is none */

/* A new column with the given rows of this one; GT_NO_ROW gives null. Without a list, the first `count` rows.
 * The name is copied. */
gt_column gt_column_take(const gt_column *column, const uint32_t *rows, size_t count);
/* Adds the cells of a column of the same type after the first `rows` cells. */
void gt_column_append(gt_column *column, size_t rows, const gt_column *more, size_t more_rows);
void gt_column_make_float(gt_column *column, size_t rows);
/* Drops the cells after the first `kept`. */
void gt_column_truncate(gt_column *column, size_t rows, size_t kept);
/* Interns the strings in `to` and replaces their ids. map: one entry per id of `from`, 0 for those not moved
 * yet. */
void gt_column_move_strings(gt_column *column, size_t rows, const gt_interner *from, gt_interner *to,
                            uint32_t *map);

/* Of a late table, which then has neither rows nor cells. */
void gt_table_drop_source(gt_table *table);

/* Sorts 64-bit keys, each with a row number, stably and in ascending order. `keys` is used as work space: on
 * return it holds the sorted keys only if keep_keys. */
void gt_radix_sort(uint64_t *keys, uint32_t *rows, size_t count, bool keep_keys);
