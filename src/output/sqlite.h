/* An SQLite file that belongs to an output: written completely, or removed with it. */
#pragma once

#include "output/output.h"
#include "output/text.h"

#include <sqlite3.h>

typedef struct gt_database {
    sqlite3 *handle;
    const char *path; /* the final name, for messages; not owned */
} gt_database;

/* Creates the file and begins its one transaction. If this fails, there is nothing to close. The database
 * must stay where it is. */
bool gt_database_begin(gt_database *database, gt_output *output, const char *path, gt_error *error);
/* The same for a database that disappears with the program: in memory, and what is too large for that in a
 * file without a name, in $TMPDIR, /var/tmp or /tmp. */
bool gt_database_begin_temporary(gt_database *database, gt_error *error);
/* Commits the transaction if `ok`, and closes the file. False if `ok` is false or one of these fails. */
bool gt_database_end(gt_database *database, bool ok, gt_error *error);

bool gt_database_run(gt_database *database, const char *sql, gt_error *error);
/* NULL on failure; to be finished before the database is closed. */
sqlite3_stmt *gt_database_prepare(gt_database *database, const char *sql, gt_error *error);
void gt_database_finish(sqlite3_stmt *statement); /* NULL does nothing */
/* Runs a statement whose parameters are bound, and resets it. */
bool gt_database_step(gt_database *database, sqlite3_stmt *statement, gt_error *error);
/* Writes the last failure to `error`. Returns false. */
bool gt_database_fail(const gt_database *database, gt_error *error);

/* ---- sheets as tables ---- */

/* The names that a sheet and a column get, of which a database and a table have each only once. They belong
 * to the set. */
const char *gt_database_table_name(gt_name_set *names, const char *sheet);
const char *gt_database_column_name(gt_name_set *names, const char *column);
/* What a column with values of this type is declared as. */
const char *gt_database_type(gt_type type);
/* Binds a cell to a parameter. Returns an SQLite result code. The scratch memory must stay until the next
 * call. */
int gt_database_bind(sqlite3_stmt *insert, int parameter, const gt_table *table, size_t column, size_t row,
                     gt_buffer *scratch);
