/* SQLite databases as input: opened without trusting them, and read with plain SELECTs.
 *
 * What statements may do is bounded by the size of the file: beyond it they fail as those of a damaged one.
 * The file is opened read-only. None of its views, triggers or extensions are used, and limits far below
 * those of SQLite apply to its schema. */
#pragma once

#include "base/base.h"

#include <sqlite3.h>

typedef struct gt_sqlite {
    sqlite3 *handle;
    const char *path;     /* not owned */
    uint64_t bytes, work; /* of the file; done for it so far */
} gt_sqlite;

/* Whether the file has as many bytes as its header says, and there is no journal next to it. */
bool gt_sqlite_is_complete(const char *path, gt_error *error);
/* Whether SQLite left a file with this ending next to it, such as "-wal", that is not empty. */
bool gt_sqlite_has_sibling(const char *path, const char *ending);

/* Opens the file; `database` must not move until it is closed. An immutable database is read without looking
 * at other files next to it. False with an error. */
bool gt_sqlite_open(gt_sqlite *database, const char *path, bool immutable, gt_error *error);
void gt_sqlite_close(gt_sqlite *database); /* also one that was not opened */
/* Says what the last call of SQLite failed with; returns false. Raises if it ran out of memory, so that
 * callers that ignore the error cannot take that for a property of the file. */
bool gt_sqlite_fail(const gt_sqlite *database, gt_error *error);
/* After calls that return the same for "none" and for out of memory. */
void gt_sqlite_check_memory(const gt_sqlite *database);

/* A query; NULL on failure. */
sqlite3_stmt *gt_sqlite_prepare(const gt_sqlite *database, const char *sql);
/* Moves to the next row; false at the end, and on failure with *failed set. */
bool gt_sqlite_next(const gt_sqlite *database, sqlite3_stmt *rows, bool *failed, gt_error *error);
/* The same for a query in the order of the row ids, which `column` has: a row whose id is not above that of
 * the row before is a failure. Columns that are not integers (tables without row ids) are not checked. */
typedef struct gt_sqlite_order {
    int64_t last;
    bool has_row;
} gt_sqlite_order;
bool gt_sqlite_next_in_order(const gt_sqlite *database, sqlite3_stmt *rows, int column,
                             gt_sqlite_order *order, bool *failed, gt_error *error);
void gt_sqlite_end(sqlite3_stmt *rows); /* frees them, before the database is closed; NULL does nothing */

/* A cell as a string; empty if it is NULL. Valid until the next row. */
gt_str gt_sqlite_string(sqlite3_stmt *rows, int column);

/* Adds a name between double quotes to a query. */
void gt_sqlite_add_name(gt_buffer *sql, const char *name, const char *suffix);
