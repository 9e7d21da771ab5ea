/* The file has a temporary name until the output is committed, so it needs no journal. */
#include "output/database.h"
#include "base/guard.h"
#include "output/file.h"

bool gt_database_fail(const gt_database *database, gt_error *error)
{
    int number = sqlite3_system_errno(database->handle);
    if (number) return gt_fail_writing(error, database->path, number);
    return gt_fail(error, "cannot write %s: %s", database->path, sqlite3_errmsg(database->handle));
}

bool gt_database_run(gt_database *database, const char *sql, gt_error *error)
{
    return sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK ||
           gt_database_fail(database, error);
}

static int close_database(gt_database *database)
{
    gt_guard_remove(database);
    return sqlite3_close(database->handle);
}

static void clean_up(void *database)
{
    close_database(database);
}

bool gt_database_begin(gt_database *database, gt_output *output, const char *path, gt_error *error)
{
    const char *temporary = gt_output_add_file(output, path, error);
    if (!temporary) return false;
    *database = (gt_database){.path = path};
    int opened = sqlite3_open_v2(temporary, &database->handle, SQLITE_OPEN_READWRITE, NULL);
    gt_guard_add(clean_up, database);
    bool ok = opened == SQLITE_OK || gt_database_fail(database, error);
    ok = ok && gt_database_run(database,
                               "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
                               "PRAGMA locking_mode = EXCLUSIVE; BEGIN",
                               error);
    if (!ok) close_database(database);
    return ok;
}

bool gt_database_end(gt_database *database, bool ok, gt_error *error)
{
    ok = ok && gt_database_run(database, "COMMIT", error);
    if (close_database(database) != SQLITE_OK && ok)
        ok = gt_fail(error, "cannot write %s: not closed", database->path);
    return ok;
}

static void finalize(void *statement)
{
    sqlite3_finalize(statement);
}

sqlite3_stmt *gt_database_prepare(gt_database *database, const char *sql, gt_error *error)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL) != SQLITE_OK)
        gt_database_fail(database, error);
    if (statement) gt_guard_add(finalize, statement);
    return statement;
}

void gt_database_finish(sqlite3_stmt *statement)
{
    gt_guard_remove(statement);
    sqlite3_finalize(statement);
}

bool gt_database_step(gt_database *database, sqlite3_stmt *statement, gt_error *error)
{
    if (sqlite3_step(statement) != SQLITE_DONE) return gt_database_fail(database, error);
    sqlite3_reset(statement);
    return true;
}
