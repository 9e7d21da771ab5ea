/* The bytes of CSV files, workbooks and databases are the same on any number of threads, and right: sheets of
 * many pieces are compared with what was put into them. Failures are those of writing one document after the
 * other. */
#include "output_tables.h"

#include "base/memory.h"
#include "base/team.h"
#include "input/sheets/sheets.h"
#include "output/file.h"
#include "schema/sheets.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

enum { SHEETS = 7, LARGE = 40000, WIDE = 700 };

static const unsigned threads[] = {1, 2, 3, 8, 16};

/* ---- sheets: large, wide, with lists and strange strings, small, without rows, without columns ---- */

static gt_table *new_table(const char *name, size_t rows)
{
    gt_table *table = gt_table_new(gt_sheet_named(name), strings);
    gt_table_add_rows(table, rows);
    return table;
}

static double number_of(size_t row)
{
    return (double)(row * 7919 % 100003) / 8 + (row % 3 ? 0.1 : 0);
}

static const char *string_of(size_t row)
{
    static char text[64];
    static const char *const strange[] = {"plain", "a,b",    "say \"x\"", "two\nlines",
                                          "<&>",   " edge ", "_x0041_",   "\xFF"};
    snprintf(text, sizeof text, "%s %zu", strange[row % 8], row % 1000);
    return text;
}

static gt_table *large_table(const char *name, size_t rows)
{
    gt_table *table = new_table(name, rows);
    size_t numbers = gt_table_add_column(table, gt_col_named("time (us)"), GT_TYPE_FLOAT);
    size_t ids = gt_table_add_column(table, gt_col_named("id"), GT_TYPE_INT);
    size_t names = gt_table_add_column(table, gt_col_named("name"), GT_TYPE_STRING);
    size_t flags = gt_table_add_column(table, gt_col_named("flag"), GT_TYPE_BOOL);
    for (size_t row = 0; row < rows; row++) {
        if (row % 11) gt_table_set_float(table, numbers, row, number_of(row));
        gt_table_set_int(table, ids, row, (int64_t)row - 100);
        gt_table_set_cstr(table, names, row, string_of(row));
        gt_table_set_bool(table, flags, row, row % 5 == 0);
    }
    return table;
}

static gt_table *wide_table(void)
{
    gt_table *table = new_table("wide", 100);
    for (size_t c = 0; c < WIDE; c++) {
        char name[32];
        snprintf(name, sizeof name, "column %zu", c);
        size_t added = gt_table_add_column(table, gt_col_named(name), GT_TYPE_INT);
        for (size_t row = 0; row < 100; row++) gt_table_set_int(table, added, row, (int64_t)(row * c));
    }
    return table;
}

static void make_tables(gt_table **tables)
{
    tables[0] = large_table("large", LARGE);
    tables[1] = wide_table();
    tables[2] = large_table("small", 3);
    tables[3] = large_table("no rows", 0);
    tables[4] = new_table("no columns", 0);
    tables[5] = large_table("another with a name that is longer than Excel allows", 9001);
    tables[6] = large_table("SMALL", 1); /* differs from another only in case */
}

static void free_tables(gt_table **tables)
{
    for (size_t i = 0; i < SHEETS; i++) gt_table_free(tables[i]);
}

/* ---- writing ---- */

typedef struct writing {
    gt_table **tables;
    const char *name;
    bool written;
    gt_error error;
} writing;

static void write_all(void *context)
{
    writing *w = context;
    char csvs[256], xlsx[256], db[256];
    snprintf(csvs, sizeof csvs, "%s", in_scratch(w->name));
    snprintf(xlsx, sizeof xlsx, "%s.xlsx", csvs);
    snprintf(db, sizeof db, "%s.db", csvs);
    gt_document documents[] = {{GT_DOCUMENT_CSVS, csvs, false, NULL},
                               {GT_DOCUMENT_XLSX, xlsx, false, NULL},
                               {GT_DOCUMENT_SQLITE, db, false, NULL}};
    gt_output *output = gt_output_new();
    w->written = gt_output_documents(output, documents, 3, w->tables, SHEETS, &w->error) &&
                 gt_output_commit(output, &w->error);
    assert_int_equal(gt_output_file_count(output), SHEETS + 2);
    gt_output_free(output);
}

static void write_csvs(void *context)
{
    writing *w = context;
    gt_output *output = gt_output_new();
    w->written = gt_output_csvs(output, in_scratch(w->name), w->tables, SHEETS, &w->error) &&
                 gt_output_commit(output, &w->error);
    gt_output_free(output);
}

static void same_file(const char *a, const char *b)
{
    char command[1100];
    snprintf(command, sizeof command, "cmp '%s' '%s'", a, b);
    if (system(command) != 0) fail_msg("%s and %s differ", a, b);
}

static void same_folder(const char *a, const char *b)
{
    char command[1100];
    snprintf(command, sizeof command, "diff -rq '%s' '%s'", a, b);
    if (system(command) != 0) fail_msg("%s and %s differ", a, b);
}

static void the_same_bytes(void **state)
{
    (void)state;
    gt_table *tables[SHEETS];
    make_tables(tables);
    for (size_t t = 0; t < GT_LENGTH(threads); t++) {
        char name[32], xlsx[40], db[40];
        snprintf(name, sizeof name, "t%u", threads[t]);
        snprintf(xlsx, sizeof xlsx, "%s.xlsx", name);
        snprintf(db, sizeof db, "%s.db", name);
        writing w = {.tables = tables, .name = name};
        gt_team_run(threads[t], write_all, &w);
        assert_true(w.written);
        assert_int_equal(entries(in_scratch(name)), SHEETS);
        same_folder(in_scratch(name), in_scratch("t1"));
        same_file(in_scratch(xlsx), in_scratch("t1.xlsx"));
        same_file(in_scratch(db), in_scratch("t1.db"));
    }
    free_tables(tables);
}

/* ---- late tables ---- */

static int sources_freed;

/* Fills rows of a late table from the table with all cells. */
static void read_large(const void *context, size_t begin, size_t end, gt_table *into, size_t at)
{
    const gt_table *whole = context;
    for (size_t row = begin; row < end; row++, at++) {
        into->columns[0].floats[at] = whole->columns[0].floats[row];
        into->columns[1].ints[at] = whole->columns[1].ints[row];
        into->columns[2].texts[at] = whole->columns[2].texts[row];
        into->columns[3].bools[at] = whole->columns[3].bools[row];
    }
}

static void count_free(void *context)
{
    (void)context;
    sources_freed++;
}

static gt_table *late_table(gt_table *whole)
{
    gt_table *late = gt_table_new(gt_sheet_named(whole->name), strings);
    for (size_t c = 0; c < whole->column_count; c++)
        gt_table_add_column(late, gt_col_named(whole->columns[c].name), whole->columns[c].type);
    gt_table_set_source(late, whole->row_count, (gt_row_source){read_large, count_free, whole});
    return late;
}

static void late_tables_are_written_like_others(void **state)
{
    (void)state;
    gt_table *tables[SHEETS], *others[SHEETS];
    make_tables(tables);
    memcpy(others, tables, sizeof others);
    sources_freed = 0;
    for (size_t t = 0; t < GT_LENGTH(threads); t++) {
        writing w = {.tables = others, .name = t ? "late" : "late1"};
        others[0] = late_table(tables[0]);
        others[2] = late_table(tables[2]);
        others[3] = late_table(tables[3]);
        assert_int_equal(others[0]->row_count, LARGE);
        gt_team_run(threads[t], write_csvs, &w);
        assert_true(w.written);
        same_folder(in_scratch(w.name), in_scratch("t1"));
        gt_table_make_rows(others[0]); /* from now on it is like any other */
        assert_null(others[0]->source);
        assert_int_equal(others[0]->row_count, LARGE);
        for (size_t row = 0; row < LARGE; row++)
            assert_int_equal(others[0]->columns[1].ints[row], (int64_t)row - 100);
        gt_table_free(others[0]);
        gt_table_free(others[2]);
        gt_table_free(others[3]);
        assert_int_equal(sources_freed, 3 * (t + 1));
    }
    free_tables(tables);
}

/* ---- the pieces fit together ---- */

static void csv_is_whole(void **state)
{
    (void)state;
    FILE *file = fopen(in_scratch("t16/large.csv"), "r");
    assert_non_null(file);
    char line[256];
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(line, "time (us),id,name,flag\n");
    for (size_t row = 0; row < LARGE; row++) {
        char expected[64];
        assert_non_null(fgets(line, sizeof line, file));
        if (row % 8 == 3) assert_non_null(fgets(line + strlen(line), 128, file)); /* a string of two lines */
        char *id = strchr(line, ',');
        assert_non_null(id);
        snprintf(expected, sizeof expected, ",%zd,", (ssize_t)row - 100);
        assert_memory_equal(id, expected, strlen(expected));
        if (row % 11)
            assert_float_equal(strtod(line, NULL), number_of(row), 1e-9);
        else
            assert_ptr_equal(id, line);
        assert_string_equal(strrchr(line, ','), row % 5 == 0 ? ",True\n" : ",False\n");
    }
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
}

static void workbook_is_whole(void **state)
{
    (void)state;
    gt_error error;
    gt_workbook *book = gt_workbook_open(in_scratch("t16.xlsx"), &error);
    assert_non_null(book);
    assert_int_equal(gt_workbook_sheet_count(book), SHEETS);
    gt_sheet_grid grid = {0};
    assert_true(gt_workbook_grid(book, 0, &grid, &error));
    assert_int_equal(grid.rows, LARGE + 1);
    for (size_t row = 0; row < LARGE; row++) {
        const gt_sheet_cell *time = gt_sheet_grid_at(&grid, (uint32_t)row + 1, 0);
        const gt_sheet_cell *id = gt_sheet_grid_at(&grid, (uint32_t)row + 1, 1);
        assert_int_equal(time->kind, row % 11 ? GT_CELL_NUMBER : GT_CELL_MISSING);
        if (row % 11) assert_true(time->number == number_of(row));
        assert_true(id->number == (double)row - 100);
    }
    gt_sheet_grid_free(&grid);
    assert_true(gt_workbook_grid(book, 1, &grid, &error));
    assert_int_equal(grid.columns, WIDE);
    assert_true(gt_sheet_grid_at(&grid, 100, WIDE - 1)->number == 99.0 * (WIDE - 1));
    gt_sheet_grid_free(&grid);
    gt_workbook_close(book);
    char command[600];
    snprintf(command, sizeof command,
             "python3 -c \"import zipfile,sys; sys.exit(zipfile.ZipFile('%s').testzip() is not None)\"",
             in_scratch("t16.xlsx"));
    assert_int_equal(system(command), 0); /* another reader, which checks the CRC of each part */
}

/* ---- failures ---- */

typedef struct failing {
    gt_table **tables;
    const char *csvs, *xlsx, *db;
    bool written[3], all;
    gt_error error;
} failing;

static void write_failing(void *context)
{
    failing *f = context;
    gt_document documents[] = {{GT_DOCUMENT_CSVS, f->csvs, false},
                               {GT_DOCUMENT_XLSX, f->xlsx, false},
                               {GT_DOCUMENT_SQLITE, f->db, false}};
    gt_output *output = gt_output_new();
    f->all = gt_output_documents(output, documents, 3, f->tables, SHEETS, &f->error);
    for (size_t i = 0; i < 3; i++) f->written[i] = documents[i].is_written;
    gt_output_free(output);
}

/* The error is that of the first document that fails, and nothing stays. */
static void the_first_failure_counts(void **state)
{
    (void)state;
    gt_table *tables[SHEETS];
    make_tables(tables);
    char folder[256], message[512];
    snprintf(folder, sizeof folder, "%s", in_scratch("failing"));
    assert_int_equal(mkdir(folder, 0777), 0);
    char files[3][300], below[3][310]; /* paths below a file cannot be created */
    for (int i = 0; i < 3; i++) {
        snprintf(files[i], sizeof files[i], "%s/file%d", folder, i);
        snprintf(below[i], sizeof below[i], "%s/x", files[i]);
        fclose(fopen(files[i], "w"));
    }
    for (size_t t = 0; t < GT_LENGTH(threads); t++)
        for (int first = 0; first < 3; first++) {
            failing f = {.tables = tables,
                         .csvs = first == 0 ? below[0] : in_scratch("failing/csvs"),
                         .xlsx = first <= 1 ? below[1] : in_scratch("failing/a.xlsx"),
                         .db = below[2]};
            gt_team_run(threads[t], write_failing, &f);
            assert_false(f.all);
            snprintf(message, sizeof message, "cannot create folder %s: ", files[first]);
            assert_memory_equal(f.error.text, message, strlen(message));
            for (int i = 0; i < 3; i++) assert_int_equal(f.written[i], i < first);
            assert_int_equal(entries(folder), 3);
        }
    free_tables(tables);
}

/* On a disk without room, the first file that does not fit is named. */
static void no_room(void **state)
{
    (void)state;
    gt_table *tables[SHEETS];
    make_tables(tables);
    struct rlimit before, little;
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t t = 0; t < GT_LENGTH(threads); t++) {
        failing f = {.tables = tables,
                     .csvs = in_scratch("full"),
                     .xlsx = in_scratch("full.xlsx"),
                     .db = in_scratch("full.db")};
        little = (struct rlimit){.rlim_cur = 100000, .rlim_max = before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &little);
        gt_team_run(threads[t], write_failing, &f);
        setrlimit(RLIMIT_FSIZE, &before);
        assert_false(f.all);
        assert_non_null(strstr(f.error.text, "full/large.csv: File too large"));
        assert_false(f.written[0] || f.written[1] || f.written[2]);
        assert_false(exists(in_scratch("full")) || exists(in_scratch("full.xlsx")));
    }
    free_tables(tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bytes),
        cmocka_unit_test(late_tables_are_written_like_others),
        cmocka_unit_test(csv_is_whole),
        cmocka_unit_test(workbook_is_whole),
        cmocka_unit_test(the_first_failure_counts),
        cmocka_unit_test(no_room),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
