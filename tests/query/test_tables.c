/* The joined tables of a query: columns that differ between traces, types, names, and values at their limits.
 */

#include "base/memory.h"
#include "report/query/query.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct place {
    gt_interner *strings;
    gt_query *query;
    gt_buffer text; /* of the last answer */
} place;

static place begin(void)
{
    gt_error error = {""};
    place p = {.strings = gt_interner_new()};
    p.query = gt_query_open(NULL, NULL, false, &error);
    assert_string_equal(error.text, "");
    return p;
}

static void end(place *p)
{
    gt_error error;
    assert_true(gt_query_close(p->query, true, &error));
    gt_interner_free(p->strings);
    gt_buffer_free(&p->text);
}

static void add(place *p, const char *name, int64_t rank, gt_table *table)
{
    gt_error error = {""};
    const gt_query_trace trace = {.name = name, .rank = rank, .path = name, .format = "pytorch"};
    gt_query_add(p->query, &trace, &table, 1, &error);
    assert_string_equal(error.text, "");
    gt_table_free(table);
}

static bool take(void *context, const gt_table *rows, bool is_first, gt_error *error)
{
    place *p = context;
    (void)is_first, (void)error;
    for (size_t row = 0; row < rows->row_count; row++)
        for (size_t c = 0; c < rows->column_count; c++) {
            gt_cell cell = gt_table_cell(rows, c, row);
            if (cell.is_null)
                gt_buffer_add_cstr(&p->text, "NULL");
            else if (cell.type == GT_TYPE_INT)
                gt_buffer_add_int(&p->text, cell.integer);
            else if (cell.type == GT_TYPE_FLOAT)
                gt_buffer_add_double(&p->text, cell.number);
            else
                gt_buffer_add_format(&p->text, "'%s'", cell.text.bytes);
            gt_buffer_add_cstr(&p->text, c + 1 < rows->column_count ? " " : "\n");
        }
    return true;
}

/* The rows of the answer, or the error. */
static const char *ask(place *p, const char *sql)
{
    gt_error error = {""};
    gt_query_sink sink = {3, take, p}; /* in pieces */
    p->text.len = 0;
    bool ok = gt_query_run(p->query, sql, &(gt_query_limit){0}, &sink, &error);
    if (!ok) gt_buffer_add_cstr(&p->text, error.text);
    return gt_buffer_str(&p->text).bytes;
}

static void finish(place *p)
{
    gt_error error = {""};
    gt_query_finish(p->query, &error);
    assert_string_equal(error.text, "");
}

static gt_table *numbers(place *p, const char *column, const int64_t *ints, const double *floats,
                         size_t count)
{
    gt_table *t = gt_table_new(gt_sheet_named("numbers"), p->strings);
    size_t c = gt_table_add_column(t, gt_col_named(column), ints ? GT_TYPE_INT : GT_TYPE_FLOAT);
    for (size_t i = 0; i < count; i++) {
        size_t row = gt_table_add_row(t);
        if (ints)
            gt_table_set_int(t, c, row, ints[i]);
        else
            gt_table_set_float(t, c, row, floats[i]);
    }
    return t;
}

static gt_table *text(place *p, const char *column, const char *value)
{
    gt_table *t = gt_table_new(gt_sheet_named("numbers"), p->strings);
    size_t c = gt_table_add_column(t, gt_col_named(column), GT_TYPE_STRING), row = gt_table_add_row(t);
    if (value) gt_table_set_cstr(t, c, row, value);
    return t;
}

static const char declared[] = "SELECT type FROM pragma_table_info('numbers') WHERE name = 'x'";

/* Values of several types stay what they are, also integers that no double can hold. */
static void test_mixed_types(void **state)
{
    (void)state;
    place p = begin();
    add(&p, "a", 0, numbers(&p, "x", (int64_t[]){INT64_MAX, INT64_MIN, (INT64_C(1) << 53) + 1}, NULL, 3));
    add(&p, "b", 1, numbers(&p, "x", NULL, (double[]){1.0, NAN, HUGE_VAL}, 3));
    add(&p, "c", -1, text(&p, "x", "64"));
    finish(&p);
    assert_string_equal(ask(&p, "SELECT trace, rank, x, typeof(x) FROM numbers"),
                        "'a' 0 9223372036854775807 'integer'\n'a' 0 -9223372036854775808 'integer'\n"
                        "'a' 0 9007199254740993 'integer'\n'b' 1 1.0 'real'\n'b' 1 NULL 'null'\n"
                        "'b' 1 inf 'real'\n'c' NULL '64' 'text'\n");
    assert_string_equal(ask(&p, declared), "''\n");
    end(&p);
}

/* A column whose values are NULL in the first traces has the type of those that come later. */
static void test_types_come_late(void **state)
{
    (void)state;
    place p = begin();
    add(&p, "a", 0, numbers(&p, "x", NULL, (double[]){NAN}, 1));
    add(&p, "b", 0, text(&p, "x", "late"));
    finish(&p);
    assert_string_equal(ask(&p, declared), "'TEXT'\n");
    end(&p);
    p = begin();
    add(&p, "a", 0, numbers(&p, "x", NULL, (double[]){NAN}, 1));
    finish(&p);
    assert_string_equal(ask(&p, declared), "'REAL'\n");
    end(&p);
}

/* Columns that only some traces have come last, and are NULL in the rows of the others. Names are compared as
 * SQL does it. */
static void test_columns_differ(void **state)
{
    (void)state;
    place p = begin();
    add(&p, "a", 0, text(&p, "x", "one"));
    add(&p, "b", 1, text(&p, "y \"z\"", "two"));
    add(&p, "c", 2, text(&p, "X", ""));
    add(&p, "d", 3, text(&p, "x", NULL));
    finish(&p);
    assert_string_equal(ask(&p, "SELECT * FROM numbers"),
                        "'a' 0 'one' NULL\n'b' 1 NULL 'two'\n'c' 2 '' NULL\n'd' 3 NULL NULL\n");
    assert_string_equal(ask(&p, "SELECT count(\"y \"\"z\"\"\") FROM numbers"), "1\n");
    end(&p);
}

/* Names that a sheet cannot have get another one. */
static void test_reserved_names(void **state)
{
    (void)state;
    place p = begin();
    gt_table *t = text(&p, "trace", "own");
    gt_table_add_column(t, gt_col_named("rank"), GT_TYPE_INT);
    gt_table_add_column(t, gt_col_named("rank"), GT_TYPE_INT);
    gt_table_set_int(t, 1, 0, 7);
    gt_table_set_int(t, 2, 0, 8);
    gt_table_rename(t, gt_sheet_named("traces"));
    add(&p, "a", 3, t);
    t = text(&p, "x", "y");
    gt_table_rename(t, gt_sheet_named("sqlite_stat1"));
    add(&p, "b", 4, t);
    finish(&p);
    assert_string_equal(ask(&p, "SELECT trace, rank, trace_2, rank_2, rank_3 FROM traces_2"),
                        "'a' 3 'own' 7 8\n");
    assert_string_equal(ask(&p, "SELECT * FROM _sqlite_stat1"), "'b' 4 'y'\n");
    assert_string_equal(ask(&p, "SELECT trace, rank, path, format, error FROM traces"),
                        "'a' 3 'a' 'pytorch' NULL\n'b' 4 'b' 'pytorch' NULL\n");
    end(&p);
}

/* Bytes that are not UTF-8 are replaced, as in other documents. */
static void test_damaged_text(void **state)
{
    (void)state;
    place p = begin();
    add(&p, "a\xff.json", 0, text(&p, "x", "\xc3("));
    finish(&p);
    assert_string_equal(ask(&p, "SELECT trace, x FROM numbers"), "'a\xef\xbf\xbd.json' '\xef\xbf\xbd('\n");
    end(&p);
}

/* More rows than are handed over at once, with types that change in between. */
static void test_pieces(void **state)
{
    (void)state;
    place p = begin();
    finish(&p);
    assert_string_equal(ask(&p, "VALUES (NULL), (NULL), (1), (2.5), ('x'), (3), (NULL), (x'0a'), (4)"),
                        "NULL\nNULL\n1\n2.5\n'x'\n3\nNULL\n'X'0A''\n4\n");
    assert_string_equal(ask(&p, "SELECT 1 AS a, 2 AS a WHERE 0"), "");
    end(&p);
}

static void test_what_is_sql(void **state)
{
    (void)state;
    assert_true(gt_query_is_sql("SELECT 1"));
    assert_true(gt_query_is_sql(" -- x\n/* y */ values(1)"));
    assert_true(gt_query_is_sql("drop table x"));
    assert_false(gt_query_is_sql("select_trace.json"));
    assert_false(gt_query_is_sql("with.json"));
    assert_false(gt_query_is_sql("select/t.json"));
    assert_false(gt_query_is_sql("trace.json"));
    assert_false(gt_query_is_sql(""));
    assert_false(gt_query_is_sql("/* never ends"));
    assert_false(gt_query_is_sql("-- only a comment"));
    assert_false(gt_query_is_sql("--"));
}

static void test_which_sheets(void **state)
{
    (void)state;
    assert_true(gt_query_needs("select * from GEMM", "gemm"));
    assert_true(gt_query_needs("select * from [short kernels]", "short kernels"));
    assert_true(gt_query_needs("select * from \"a\"\"b\"", "a\"b"));
    assert_true(gt_query_needs("select sql from sqlite_master", "anything"));
    assert_false(gt_query_needs("select * from ops_summary", "kernel_summary"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixed_types),    cmocka_unit_test(test_types_come_late),
        cmocka_unit_test(test_columns_differ), cmocka_unit_test(test_reserved_names),
        cmocka_unit_test(test_damaged_text),   cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_what_is_sql),    cmocka_unit_test(test_which_sheets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
