/* The one table type. Every sheet of every report is a gt_table: named, typed columns in the order users know.
 *
 * A table owns its columns and their names. Text cells are ids of an intern table that the table borrows and that
 * must outlive it; tables made together usually share one. A table knows nothing of traces or of documents. */
#ifndef GT_TABLE_TABLE_H
#define GT_TABLE_TABLE_H

#include "base/strings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gt_type {
    GT_TYPE_INT,   /* int64 */
    GT_TYPE_FLOAT, /* double; NaN counts as null */
    GT_TYPE_TEXT,  /* interned text; GT_TEXT_NONE counts as null */
    GT_TYPE_BOOL,
    GT_TYPE_LIST,  /* each cell is a run of rows of `items` */
} gt_type;

typedef struct gt_column {
    char *name;
    gt_type type;
    size_t capacity;
    union {
        int64_t *ints;
        double *floats;
        uint32_t *texts;
        uint8_t *bools;
        size_t *list_ends; /* cell i is items[list_ends[i-1] .. list_ends[i]) */
    };
    uint8_t *nulls;          /* one byte a row, NULL while no INT, BOOL or LIST cell is null */
    struct gt_column *items; /* of a LIST column: the cells' elements, any type */
    bool items_as_tuple;     /* of a LIST column: printed (1, 2) and not [1, 2] */
} gt_column;

typedef struct gt_table {
    char *name; /* the sheet's name */
    gt_strings *strings;
    gt_column *columns;
    size_t column_count, column_capacity;
    size_t row_count; /* every column has this many rows once a row is whole */
} gt_table;

gt_table *gt_table_new(const char *name, gt_strings *strings);
void gt_table_free(gt_table *table);

/* Adds an empty column (the table must have no rows yet, or gt_table_add_filled gives its cells). Returns its index. */
size_t gt_table_add_column(gt_table *table, const char *name, gt_type type);
/* Adds a column of row_count cells, all null; the caller sets them. */
size_t gt_table_add_filled(gt_table *table, const char *name, gt_type type);

/* Room for one more row, all null. Returns its index. */
size_t gt_table_add_row(gt_table *table);
void gt_table_reserve(gt_table *table, size_t rows);

void gt_table_set_int(gt_table *table, size_t column, size_t row, int64_t value);
void gt_table_set_float(gt_table *table, size_t column, size_t row, double value);
void gt_table_set_text(gt_table *table, size_t column, size_t row, uint32_t id);
void gt_table_set_cstr(gt_table *table, size_t column, size_t row, const char *text);
void gt_table_set_bool(gt_table *table, size_t column, size_t row, bool value);

bool gt_column_is_null(const gt_column *column, size_t row);
/* The column's index, or SIZE_MAX where there is none of that name. */
size_t gt_table_find(const gt_table *table, const char *name);

#endif
