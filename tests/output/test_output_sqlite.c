/* The SQLite file is read back with SQLite; a full disk gives one message and leaves no file. */
#include "base/memory.h"
#include "output/file.h"
#include "output_tables.h"

#include <math.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* The rows of a query, cells as SQLite's quote() shows them, joined by | and ended by newlines. */
static void expect_query(const char *path, const char *sql, const char *expected)
{
    sqlite3 *database;
    assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    sqlite3_stmt *query;
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &query, NULL), SQLITE_OK);
    char found[4096] = "";
    while (sqlite3_step(query) == SQLITE_ROW) {
        for (int c = 0; c < sqlite3_column_count(query); c++) {
            const char *cell = (const char *)sqlite3_column_text(query, c);
            strcat(strcat(found, c ? "|" : ""), cell ? cell : "NULL");
        }
        strcat(found, "\n");
    }
    sqlite3_finalize(query);
    sqlite3_close(database);
    assert_string_equal(found, expected);
}

static void write_and_commit(const char *path, gt_table *const *tables, size_t count)
{
    gt_error error;
    gt_output *output = gt_output_new();
    if (!gt_output_sqlite(output, path, tables, count, &error)) fail_msg("%s", error.text);
    assert_true(gt_output_commit(output, &error));
    gt_output_free(output);
}

static void every_kind_of_cell(void **state)
{
    (void)state;
    gt_table *table = gt_table_new(GT_SHEET("kernel \"summary\""), strings);
    gt_table_add_column(table, GT_COL("count"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("Time (µs)"), GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL("say \"hi\"; DROP"), GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL("busy"), GT_TYPE_BOOL);
    gt_table_add_column(table, GT_COL("COUNT"), GT_TYPE_LIST);
    gt_table_add_row(table);
    gt_table_set_int(table, 0, 0, INT64_MIN);
    gt_table_set_float(table, 1, 0, 13.787398317937406);
    gt_table_set_cstr(table, 2, 0, "it's \xff");
    gt_table_set_bool(table, 3, 0, true);
    gt_list_begin(&table->columns[4], 0);
    gt_list_push_int(&table->columns[4], 1);
    gt_list_push_int(&table->columns[4], 2);
    gt_table_add_row(table);
    gt_table_set_float(table, 1, 1, INFINITY);
    write_and_commit(in_scratch("made/report.db"), &table, 1);
    gt_table_free(table);

    const char *path = in_scratch("made/report.db");
    expect_query(path, "SELECT name, type FROM pragma_table_info('kernel \"summary\"')",
                 "count|INTEGER\nTime (µs)|REAL\nsay \"hi\"; DROP|TEXT\nbusy|INTEGER\nCOUNT_2|TEXT\n");
    expect_query(path,
                 "SELECT typeof(count), count, typeof(\"Time (µs)\"), \"Time (µs)\" = 13.787398317937406,"
                 " \"say \"\"hi\"\"; DROP\", busy, COUNT_2 FROM \"kernel \"\"summary\"\"\"",
                 "integer|-9223372036854775808|real|1|it's \uFFFD|1|[1, 2]\n"
                 "null|NULL|real|0|NULL|NULL|NULL\n");
    expect_query(path, "SELECT \"Time (µs)\" = 9e999 FROM \"kernel \"\"summary\"\"\"", "0\n1\n");
    expect_query(path, "PRAGMA integrity_check", "ok\n");
    assert_int_equal(entries(in_scratch("made")), 1);
}

/* Strings that show numbers are numbers; a column with several types has none, so that SQLite converts no
 * value. */
static void values_keep_their_types(void **state)
{
    (void)state;
    static const struct {
        const char *texts[3];
        gt_shown shown[3];
    } columns[] = {
        {{"64", "7.0", NULL}, {GT_SHOWN_INT, GT_SHOWN_INT, GT_SHOWN_STRING}},
        {{"64.0", "nan", "0.5"}, {GT_SHOWN_FLOAT, GT_SHOWN_NULL, GT_SHOWN_FLOAT}},
        {{"64", "64", "2.0"}, {GT_SHOWN_INT, GT_SHOWN_STRING, GT_SHOWN_FLOAT}},
        {{"True", "[]", "False"}, {GT_SHOWN_BOOL, GT_SHOWN_STRING, GT_SHOWN_BOOL}},
        {{"64", "1e5", "0"}, {GT_SHOWN_STRING, GT_SHOWN_STRING, GT_SHOWN_STRING}},
        {{"nan", NULL, "None"}, {GT_SHOWN_NULL, GT_SHOWN_STRING, GT_SHOWN_NULL}},
    };
    gt_table *table = gt_table_new(GT_SHEET("types"), strings);
    gt_table_add_rows(table, 3);
    for (size_t c = 0; c < GT_LENGTH(columns); c++) {
        char name[2] = {(char)('a' + c), 0};
        gt_table_add_column(table, gt_col_named(name), GT_TYPE_STRING);
        for (size_t row = 0; row < 3; row++)
            if (columns[c].texts[row])
                gt_table_set_shown(table, c, row, gt_interner_add_cstr(strings, columns[c].texts[row]),
                                   columns[c].shown[row]);
    }
    gt_table_add_column(table, GT_COL("g"), GT_TYPE_INT);
    gt_table_set_int(table, 6, 1, 9007199254740992);
    gt_table_widen_ints(table);
    write_and_commit(in_scratch("report.db"), &table, 1);
    gt_table_free(table);
    expect_query(in_scratch("report.db"), "SELECT name, type FROM pragma_table_info('types')",
                 "a|INTEGER\nb|REAL\nc|\nd|\ne|TEXT\nf|TEXT\ng|INTEGER\n");
    expect_query(in_scratch("report.db"),
                 "SELECT quote(a), quote(b), typeof(b), quote(c), typeof(c), quote(d), quote(e), quote(f), "
                 "quote(g) FROM types",
                 "64|64.0|real|64|integer|1|'64'|NULL|NULL\n"
                 "7|NULL|null|'64'|text|'[]'|'1e5'|NULL|9007199254740992\n"
                 "NULL|0.5|real|2.0|real|0|'0'|NULL|NULL\n");
}

static void every_table_in_its_order(void **state)
{
    (void)state;
    static const char *const names[] = {"b", "a", "B", "no_columns", "sqlite_master"};
    gt_table *tables[5];
    for (int i = 0; i < 5; i++) {
        tables[i] = gt_table_new(gt_sheet_named(names[i]), strings);
        if (i != 3) gt_table_add_column(tables[i], GT_COL(""), GT_TYPE_INT);
    }
    write_and_commit(in_scratch("report.db"), tables, 5);
    expect_query(in_scratch("report.db"), "SELECT name FROM sqlite_schema ORDER BY rowid",
                 "b\na\nB_2\n_sqlite_master\n");
    for (int i = 0; i < 5; i++) gt_table_free(tables[i]);
}

static void an_empty_report_is_a_database(void **state)
{
    (void)state;
    write_and_commit(in_scratch("report.db"), NULL, 0);
    expect_query(in_scratch("report.db"), "SELECT count(*) FROM sqlite_schema", "0\n");
}

static void a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        gt_error error = {""};
        gt_table *table = gt_table_new(GT_SHEET("large"), strings);
        gt_table_add_column(table, GT_COL("text"), GT_TYPE_STRING);
        char text[1000];
        memset(text, 'x', sizeof text);
        gt_table_add_rows(table, 5000);
        uint32_t id = gt_interner_add(strings, text, sizeof text);
        for (size_t row = 0; row < 5000; row++) gt_table_set_string(table, 0, row, id);
        gt_output *output = gt_output_new();
        signal(SIGXFSZ, SIG_IGN); /* as the program does */
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){300000, 300000});
        if (gt_output_sqlite(output, in_scratch("made/large.db"), &table, 1, &error)) _exit(1);
        char expected[600];
        snprintf(expected, sizeof expected, "cannot write %s: ", in_scratch("made/large.db"));
        if (strncmp(error.text, expected, strlen(expected)) != 0) _exit(2);
        gt_output_free(output);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(entries(scratch), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_kind_of_cell),         TEST(values_keep_their_types),
        TEST(every_table_in_its_order),   TEST(an_empty_report_is_a_database),
        TEST(a_full_disk_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
