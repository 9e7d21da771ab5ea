/* Nsight Systems exports as they are: tables by name, their columns by name, and rows with checked types.
 *
 *     gt_nsys_rows rows;
 *     gt_nsys_begin(&rows, tables, "OSRT_API", COLUMNS("start", "end"), NULL, error);
 *     while (gt_nsys_next(&rows)) ... gt_nsys_int(&rows, 0, &start) ...
 *     return gt_nsys_end(&rows);
 */
#pragma once

#include "input/nsys/nsys.h"
#include "input/sqlite.h"

typedef struct gt_nsys_tables {
    gt_sqlite sqlite;
    gt_interner *names; /* of the plain tables */
    char *not_plain;    /* the name of a view or virtual table that should be a table; NULL: there is none */
} gt_nsys_tables;

/* Opens a file and lists its tables; `tables` must not move. */
bool gt_nsys_tables_open(gt_nsys_tables *tables, const char *path, gt_error *error);
/* The same of a file that must be a complete export. */
bool gt_nsys_tables_open_export(gt_nsys_tables *tables, const char *path, gt_error *error);
void gt_nsys_tables_close(gt_nsys_tables *tables);
gt_database_kind gt_nsys_tables_kind(const gt_nsys_tables *tables);

bool gt_nsys_has_table(const gt_nsys_tables *tables, const char *name);
bool gt_nsys_has_column(const gt_nsys_tables *tables, const char *table, const char *column);
/* Whether the column alone is the primary key, so that rows are found by it. */
bool gt_nsys_is_key(const gt_nsys_tables *tables, const char *table, const char *column);

typedef struct gt_nsys_rows {
    const gt_nsys_tables *tables;
    const char *table;
    const char *const *columns;
    sqlite3_stmt *rows; /* NULL: there is no such table */
    gt_sqlite_order order;
    bool failed;
    gt_error *error;
} gt_nsys_rows;

/* Starts to read the columns of a table, in the order of its row ids. Columns that it does not have are NULL
 * in every row. With `only`, the name of another column, only rows in which it has the value `value`. */
void gt_nsys_begin(gt_nsys_rows *rows, const gt_nsys_tables *tables, const char *table,
                   const char *const *columns, size_t column_count, gt_error *error);
void gt_nsys_begin_where(gt_nsys_rows *rows, const gt_nsys_tables *tables, const char *table,
                         const char *const *columns, size_t column_count, const char *only, int64_t value,
                         gt_error *error);
/* Moves to the next row; false at the end, also after a failure. */
bool gt_nsys_next(gt_nsys_rows *rows);
/* Frees the rows; false if reading failed. */
bool gt_nsys_end(gt_nsys_rows *rows);

/* The cell of a column that holds integers. False if it is NULL or has no such type; the latter ends the rows
 * with an error that names the table and the row. */
bool gt_nsys_int(gt_nsys_rows *rows, int column, int64_t *value);
int64_t gt_nsys_int_or(gt_nsys_rows *rows, int column, int64_t absent);
int64_t gt_nsys_row_id(const gt_nsys_rows *rows); /* 0 if the table has none */
bool gt_nsys_is_null(const gt_nsys_rows *rows, int column);
/* A cell as a string; empty if it is NULL. Valid until the next row. */
gt_str gt_nsys_text(const gt_nsys_rows *rows, int column);
gt_str gt_nsys_blob(const gt_nsys_rows *rows, int column); /* its bytes, whether it is a blob or text */

#define GT_NSYS_COLUMNS(...)                                                                                 \
    (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)
