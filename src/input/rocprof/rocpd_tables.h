/* The tables of a rocpd database, found and read by name: each process has a set of them, with its own
 * ending. */
#ifndef GT_INPUT_ROCPROF_ROCPD_TABLES_H
#define GT_INPUT_ROCPROF_ROCPD_TABLES_H

#include "base/error.h"
#include "base/interner.h"

#include <sqlite3.h>

typedef struct gt_rocpd {
    sqlite3 *database;
    const char *path;
    char **suffixes; /* "_0190a4…": one a set of tables; "" where names have none */
    size_t suffix_count, suffix_capacity;
} gt_rocpd;

/* Opens the file and finds the sets. False and a sentence where it is damaged, unfinished or no rocpd
 * database. */
bool gt_rocpd_open(gt_rocpd *rocpd, const char *path, gt_error *error);
void gt_rocpd_close(gt_rocpd *rocpd);

/* Rows of one table of a set: the columns asked for, in that order, NULL for those that the table does not
 * have. A `join` may add the columns of one row of another table, found by an id. NULL without an error
 * (*missing set) where there is no such table. */
typedef struct gt_rocpd_query {
    const char *table;
    const char *const *columns;
    size_t column_count;
    const char *join;    /* the other table, NULL for none; columns "join.NAME" are of it */
    const char *join_by; /* this table's column that holds its id */
} gt_rocpd_query;

sqlite3_stmt *gt_rocpd_rows(const gt_rocpd *rocpd, size_t set, const gt_rocpd_query *query, bool *missing,
                            gt_error *error);
/* The next row; false at the end, and where reading failed (*failed set, with a sentence). */
bool gt_rocpd_next(const gt_rocpd *rocpd, sqlite3_stmt *rows, bool *failed, gt_error *error);
void gt_rocpd_end_rows(sqlite3_stmt *rows); /* frees them, before the database is closed; NULL does nothing */

/* A cell as text; empty where it is NULL. Valid until the next row. */
gt_str gt_rocpd_string(sqlite3_stmt *rows, int column);

#endif
