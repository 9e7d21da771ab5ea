/* Private to the rocpd reader: opens a database and reads its tables by name. Each process has a set of
 * tables, whose names have a suffix of their own. */
#pragma once

#include "input/sqlite.h"

typedef struct gt_rocpd {
    gt_sqlite database;
    const char *path;
    char **suffixes; /* "_0190a4…": one per set of tables; "" if the names have none */
    size_t suffix_count, suffix_capacity;
    gt_interner *tables; /* names of the plain tables */
    bool is_again;       /* opened by gt_rocpd_open_again: sets and tables belong to the original */
} gt_rocpd;

/* Opens the file and finds the sets. Fails if it is damaged, incomplete or not a rocpd database. */
bool gt_rocpd_open(gt_rocpd *rocpd, const char *path, gt_error *error);
void gt_rocpd_close(gt_rocpd *rocpd);
/* Opens a database once more, for another thread, with little memory of its own. The tables are those of
 * `original`, which must outlive it. */
bool gt_rocpd_open_again(gt_rocpd *rocpd, const gt_rocpd *original, gt_error *error);

/* A query of one table of a set: the given columns in this order, NULL for those that the table does not
 * have. A `join` adds the columns of one row of another table, found by its id; if several rows have the id,
 * of one of them. */
typedef struct gt_rocpd_query {
    const char *table;
    const char *const *columns;
    size_t column_count;
    const char *join;    /* the other table, or NULL; its columns are called "join.NAME" */
    const char *join_by; /* the column of this table with the id */
} gt_rocpd_query;

/* Starts a query, in the order of the row ids, which are a column after the others; free the result with
 * gt_sqlite_end. NULL with *missing set if there is no such table, else NULL is an error. */
sqlite3_stmt *gt_rocpd_rows(const gt_rocpd *rocpd, size_t set, const gt_rocpd_query *query, bool *missing,
                            gt_error *error);

/* The rows of a table with these row ids, in their order, as all its rows are. */
typedef struct gt_rowids {
    int64_t first, last;
} gt_rowids;
/* The row ids of a table that can be read in parts; false if there is none or it cannot. */
bool gt_rocpd_rowids(const gt_rocpd *rocpd, size_t set, const gt_rocpd_query *query, gt_rowids *ids);
/* As gt_rocpd_rows. */
sqlite3_stmt *gt_rocpd_rows_of(const gt_rocpd *rocpd, size_t set, const gt_rocpd_query *query, gt_rowids ids,
                               gt_error *error);
/* Whether a table has no rows; also if there is no such table. */
bool gt_rocpd_is_empty(const gt_rocpd *rocpd, size_t set, const char *table);
