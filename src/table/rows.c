/* Which rows a table has: copies, row lists, head, filters, and one table behind another. */
#include "table/column.h"
#include "base/guard.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

gt_table *gt_table_copy_rows(const gt_table *table, const uint32_t *rows, size_t count)
{
    gt_table *copy = gt_table_new(gt_sheet_named(table->name), table->strings);
    for (size_t c = 0; c < table->column_count; c++) {
        gt_column column = gt_column_take(&table->columns[c], rows, count);
        GT_PUSH(copy->columns, copy->column_count, copy->column_capacity, column);
    }
    copy->row_count = count;
    return copy;
}

static uint32_t *all_rows(const gt_table *table)
{
    GT_CHECK(table->row_count < GT_NO_ROW);
    uint32_t *rows = gt_alloc(table->row_count * sizeof *rows);
    for (size_t row = 0; row < table->row_count; row++) rows[row] = (uint32_t)row;
    return rows;
}

gt_table *gt_table_copy(const gt_table *table)
{
    uint32_t *rows = all_rows(table);
    gt_table *copy = gt_table_copy_rows(table, rows, table->row_count);
    gt_free(rows);
    return copy;
}

void gt_table_take(gt_table *table, const uint32_t *rows, size_t count)
{
    for (size_t c = 0; c < table->column_count; c++) {
        gt_column taken = gt_column_take(&table->columns[c], rows, count);
        gt_column_free(&table->columns[c]);
        table->columns[c] = taken;
    }
    table->row_count = count;
}

void gt_table_keep(gt_table *table, const uint8_t *keep)
{
    uint32_t *rows = all_rows(table);
    size_t kept = 0;
    for (size_t row = 0; row < table->row_count; row++)
        if (keep[row]) rows[kept++] = (uint32_t)row;
    if (kept < table->row_count) gt_table_take(table, rows, kept);
    gt_free(rows);
}

void gt_table_head(gt_table *table, int64_t count)
{
    size_t all = table->row_count, dropped;
    if (count >= 0)
        dropped = (uint64_t)count < all ? all - (size_t)count : 0;
    else
        dropped = -(uint64_t)count < all ? -(uint64_t)count : all;
    if (!dropped) return;
    size_t kept = all - dropped;
    for (size_t c = 0; c < table->column_count; c++) gt_column_truncate(&table->columns[c], all, kept);
    table->row_count = kept;
}

void gt_table_use_strings(gt_table *table, gt_interner *strings)
{
    if (strings == table->strings) return;
    uint32_t *map = gt_alloc_zero(gt_interner_count(table->strings), sizeof *map);
    for (size_t c = 0; c < table->column_count; c++)
        gt_column_move_strings(&table->columns[c], table->row_count, table->strings, strings, map);
    gt_free(map);
    table->strings = strings;
}

static bool is_number(const gt_column *column)
{
    return column->type == GT_TYPE_INT || column->type == GT_TYPE_FLOAT;
}

static bool same_type(const gt_column *a, const gt_column *b)
{
    for (; a->type == b->type; a = a->items, b = b->items)
        if (a->type != GT_TYPE_LIST) return true;
    return false;
}

/* Whether `more` has the same columns, INT and FLOAT counting as the same; brings them into the same order.
 */
static bool match_columns(const gt_table *table, gt_table *more, gt_error *error)
{
    if (more->column_count != table->column_count)
        return gt_fail(error, "table '%s' has %zu columns where '%s' has %zu", more->name, more->column_count,
                       table->name, table->column_count);
    for (size_t c = 0; c < table->column_count; c++) {
        const gt_column *column = &table->columns[c];
        size_t other = c;
        while (other < more->column_count && strcmp(more->columns[other].name, column->name)) other++;
        if (other == more->column_count)
            return gt_fail(error, "table '%s' has no column '%s'", more->name, column->name);
        gt_table_move_column(more, other, c);
        if (!same_type(column, &more->columns[c]) && !(is_number(column) && is_number(&more->columns[c])))
            return gt_fail(error, "column '%s' of table '%s' holds another type", column->name, more->name);
    }
    return true;
}

static void append_column(gt_table *table, size_t c, gt_table *more)
{
    if (table->columns[c].type == GT_TYPE_FLOAT && more->columns[c].type == GT_TYPE_INT)
        gt_table_make_float(more, c);
    if (table->columns[c].type == GT_TYPE_INT && more->columns[c].type == GT_TYPE_FLOAT)
        gt_table_make_float(table, c);
    gt_column_append(&table->columns[c], table->row_count, &more->columns[c], more->row_count);
}

bool gt_table_append(gt_table *table, const gt_table *more, gt_error *error)
{
    gt_table *added = gt_table_copy(more);
    bool matched = match_columns(table, added, error);
    if (matched) {
        gt_table_use_strings(added, table->strings);
        for (size_t c = 0; c < table->column_count; c++) append_column(table, c, added);
        table->row_count += added->row_count;
    }
    gt_table_free(added);
    return matched;
}

void gt_table_append_same(gt_table *table, const gt_table *more)
{
    gt_error error;
    if (!gt_table_append(table, more, &error)) gt_raise_internal("%s", error.text);
}

static void add_columns_of(gt_table *table, const gt_table *other)
{
    for (size_t c = 0; c < other->column_count; c++)
        if (gt_table_find(table, gt_col_named(other->columns[c].name)) == SIZE_MAX)
            gt_table_add_column(table, gt_col_named(other->columns[c].name), other->columns[c].type);
}

bool gt_table_append_outer(gt_table *table, const gt_table *more, gt_error *error)
{
    gt_table *added = gt_table_copy(more);
    add_columns_of(table, added);
    add_columns_of(added, table);
    bool matched = gt_table_append(table, added, error);
    gt_table_free(added);
    return matched;
}
