/* An SQLite file being written: whole, or thrown away with its output. */
#ifndef GT_OUTPUT_DATABASE_H
#define GT_OUTPUT_DATABASE_H

#include "output/output.h"

#include <sqlite3.h>

typedef struct gt_database {
    sqlite3 *handle;
    const char *path; /* the final name, for sentences; not owned */
} gt_database;

/* Makes the file and begins its one transaction. After a false return nothing is left to close. */
bool gt_database_begin(gt_database *database, gt_output *output, const char *path, gt_error *error);
/* Ends the transaction and closes the file; where `ok` is false it closes only. False where either is. */
bool gt_database_end(gt_database *database, bool ok, gt_error *error);

bool gt_database_run(gt_database *database, const char *sql, gt_error *error);
sqlite3_stmt *gt_database_prepare(gt_database *database, const char *sql, gt_error *error);
/* Runs a statement whose parameters are bound, and makes it ready for the next. */
bool gt_database_step(gt_database *database, sqlite3_stmt *statement, gt_error *error);
/* The sentence of the last failure; returns false. */
bool gt_database_fail(const gt_database *database, gt_error *error);

#endif
