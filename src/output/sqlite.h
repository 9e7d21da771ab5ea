/* An SQLite file that belongs to an output: written completely, or removed with it. */
#ifndef GT_OUTPUT_SQLITE_H
#define GT_OUTPUT_SQLITE_H

#include "output/output.h"

#include <sqlite3.h>

typedef struct gt_database {
    sqlite3 *handle;
    const char *path; /* the final name, for messages; not owned */
} gt_database;

/* Creates the file and begins its one transaction. If this fails, there is nothing to close. The database
 * must stay where it is. */
bool gt_database_begin(gt_database *database, gt_output *output, const char *path, gt_error *error);
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

#endif
