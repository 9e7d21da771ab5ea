/* An untrusted database is opened with every restriction that docs/security.md promises. The values are typed
 * from there and from SQLite's documentation, so that each setting that is lost or loosened fails here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "input/sqlite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/gputally-sqlite-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    sqlite3 *database;
    int descriptor = mkstemp(path);
    if (descriptor < 0 || close(descriptor) != 0 || sqlite3_open(path, &database) != SQLITE_OK) return -1;
    static const char sql[] =
        "CREATE TABLE t(a); INSERT INTO t VALUES (1); CREATE VIEW v AS SELECT a FROM t;";
    int made = sqlite3_exec(database, sql, NULL, NULL, NULL);
    sqlite3_close(database);
    return made == SQLITE_OK ? 0 : -1;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static gt_sqlite open_database(void)
{
    gt_error error = {""};
    gt_sqlite database;
    assert_true(gt_sqlite_open(&database, path, false, &error));
    return database;
}

static void settings_are_safe(void **state)
{
    (void)state;
    static const struct {
        int what, value;
    } wanted[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    };
    gt_sqlite database = open_database();
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        int value = -1;
        assert_int_equal(sqlite3_db_config(database.handle, wanted[i].what, -1, &value), SQLITE_OK);
        assert_int_equal(value, wanted[i].value);
    }
    gt_sqlite_close(&database);
}

static void limits_are_low(void **state)
{
    (void)state;
    static const struct {
        int what, value;
    } wanted[] = {
        /* A value cannot be longer than the file, which has two pages. */
        {SQLITE_LIMIT_LENGTH, 8192},      {SQLITE_LIMIT_SQL_LENGTH, 1048576}, {SQLITE_LIMIT_COLUMN, 1000},
        {SQLITE_LIMIT_EXPR_DEPTH, 100},   {SQLITE_LIMIT_COMPOUND_SELECT, 50}, {SQLITE_LIMIT_VDBE_OP, 250000},
        {SQLITE_LIMIT_FUNCTION_ARG, 16},  {SQLITE_LIMIT_ATTACHED, 0},         {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    gt_sqlite database = open_database();
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_int_equal(sqlite3_limit(database.handle, wanted[i].what, -1), wanted[i].value);
    gt_sqlite_close(&database);
}

static int pragma_of(const gt_sqlite *database, const char *sql)
{
    sqlite3_stmt *rows = gt_sqlite_prepare(database, sql);
    assert_non_null(rows);
    assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
    int value = sqlite3_column_int(rows, 0);
    gt_sqlite_end(rows);
    return value;
}

static void nothing_is_written_or_mapped(void **state)
{
    (void)state;
    gt_sqlite database = open_database();
    assert_int_equal(pragma_of(&database, "PRAGMA query_only"), 1);
    assert_int_equal(pragma_of(&database, "PRAGMA cell_size_check"), 1);
    assert_int_equal(sqlite3_db_readonly(database.handle, "main"), 1);
    sqlite3_stmt *rows = gt_sqlite_prepare(&database, "PRAGMA mmap_size");
    assert_true(sqlite3_step(rows) == SQLITE_DONE || sqlite3_column_int(rows, 0) == 0);
    gt_sqlite_end(rows);
    assert_int_not_equal(sqlite3_exec(database.handle, "INSERT INTO t VALUES (2)", NULL, NULL, NULL),
                         SQLITE_OK);
    assert_int_not_equal(sqlite3_exec(database.handle, "ATTACH ':memory:' AS x", NULL, NULL, NULL),
                         SQLITE_OK);
    assert_null(gt_sqlite_prepare(&database, "SELECT a FROM v"));
    gt_sqlite_close(&database);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_safe),
        cmocka_unit_test(limits_are_low),
        cmocka_unit_test(nothing_is_written_or_mapped),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
