/* The workbook's parts, decompressed with zlib, compared with what the file format requires; Excel's limits;
 * full disks. The look in a spreadsheet program is not tested here. */
#include "output/file.h"
#include "output/xlsx/xlsx.h"
#include "output_tables.h"
#include "workbook_parts.h"

#include <fcntl.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Writes the workbook with standard error caught; returns what was printed there, which the caller frees. */
static char *write_book(const char *path, gt_table *const *tables, size_t count)
{
    gt_error error;
    fflush(stderr);
    int usual = dup(2), caught = open(in_scratch("stderr"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(caught, 2);
    gt_output *output = gt_output_new();
    bool ok = gt_output_xlsx(output, path, tables, count, &error) && gt_output_commit(output, &error);
    gt_output_free(output);
    fflush(stderr);
    dup2(usual, 2);
    close(usual);
    close(caught);
    if (!ok) fail_msg("%s", error.text);
    return slurp(in_scratch("stderr"));
}

static char *first_sheet(gt_table *table)
{
    char *warnings = write_book(in_scratch("book.xlsx"), &table, 1);
    assert_string_equal(warnings, "");
    free(warnings);
    gt_table_free(table);
    return unpack(in_scratch("book.xlsx"), "xl/worksheets/sheet1.xml");
}

/* ---- cells ---- */

static void every_kind_of_cell(void **state)
{
    (void)state;
    gt_table *table = gt_table_new(GT_SHEET("cells"), strings);
    gt_table_add_column(table, GT_COL("count"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("Time (µs)"), GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL("<name>"), GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL("busy"), GT_TYPE_BOOL);
    gt_table_add_column(table, GT_COL("shape"), GT_TYPE_LIST);
    for (int row = 0; row < 4; row++) gt_table_add_row(table);
    gt_table_set_int(table, 0, 0, 43915);
    gt_table_set_float(table, 1, 0, 13.787398317937406);
    gt_table_set_cstr(table, 2, 0, "a<b> & \"c\"");
    gt_table_set_bool(table, 3, 0, true);
    gt_list_begin(&table->columns[4], 0);
    gt_list_push_int(&table->columns[4], 1);
    gt_table_set_float(table, 1, 1, INFINITY);
    gt_table_set_float(table, 1, 2, -INFINITY);
    gt_table_set_int(table, 0, 2, INT64_MAX);
    gt_table_set_float(table, 1, 3, 3);
    gt_table_set_cstr(table, 2, 1, "=1+1");
    gt_table_set_cstr(table, 2, 2, "https://example.org");
    gt_table_set_cstr(table, 2, 3, "µs ✓");
    char *sheet = first_sheet(table);
    expect_in(sheet, "<t>count</t>");
    expect_in(sheet, "<t>&lt;name&gt;</t>");
    expect_in(sheet, "<v>43915</v>");
    expect_in(sheet, "<v>13.787398317937406</v>"); /* all digits */
    expect_in(sheet, "<v>3</v>");                  /* of 3.0 */
    expect_in(sheet, "t=\"inlineStr\"><is><t>a&lt;b&gt; &amp; &quot;c&quot;</t>");
    expect_in(sheet, "<c r=\"D2\" t=\"b\"><v>1</v></c>");
    expect_in(sheet, "<t>[1]</t>");
    expect_in(sheet, "<c r=\"B3\" t=\"inlineStr\"><is><t>inf</t>");
    expect_in(sheet, "<c r=\"B4\" t=\"inlineStr\"><is><t>-inf</t>");
    expect_in(sheet, "<t>=1+1</t>");
    expect_in(sheet, "<t>https://example.org</t>");
    expect_in(sheet, "<t>µs ✓</t>");
    expect_not_in(sheet, "<f>");
    expect_not_in(sheet, "hyperlink");
    expect_not_in(sheet, "r=\"A3\""); /* null */
    expect_not_in(sheet, "r=\"D5\"");
    expect_in(sheet, "<v>9223372036854775807</v>");
    expect_in(sheet, "<autoFilter ref=\"A1:E5\"/>");
    expect_in(sheet, "<pane ySplit=\"1\" topLeftCell=\"A2\" activePane=\"bottomLeft\" state=\"frozen\"/>");
    free(sheet);
    char *styles = unpack(in_scratch("book.xlsx"), "xl/styles.xml");
    expect_in(styles, "<b/>");
    free(styles);
}

static char *sheet_of_text(const char *bytes, size_t len)
{
    gt_table *table = gt_table_new(GT_SHEET("text"), strings);
    gt_table_add_column(table, GT_COL("text"), GT_TYPE_STRING);
    gt_table_add_row(table);
    gt_table_set_string(table, 0, 0, gt_interner_add(strings, bytes, len));
    return first_sheet(table);
}

static void expect_text(const char *bytes, size_t len, const char *expected)
{
    char *sheet = sheet_of_text(bytes, len);
    expect_in(sheet, expected);
    free(sheet);
}

static void characters_that_xml_forbids(void **state)
{
    (void)state;
    expect_text("nul\0bell\a", 9, ">nul\uFFFDbell_x0007_</t>");
    expect_text("esc\x1b[0m\r\n", 9, ">esc_x001B_[0m_x000D_\n</t>");
    expect_text("not utf-8 \xff\xc3", 12, ">not utf-8 \uFFFD\uFFFD</t>");
    expect_text("\xef\xbf\xbe\xef\xbf\xbf", 6, ">\uFFFD\uFFFD</t>");
    /* What looks like Excel's escape is itself escaped; what only begins like one is not. */
    expect_text("gemm_x0041_y", 12, ">gemm_x005F_x0041_y</t>");
    expect_text("gemm_x004_y_x", 13, ">gemm_x004_y_x</t>");
}

/* ---- Excel's limits ---- */

static void long_strings_are_truncated_with_a_warning(void **state)
{
    (void)state;
    enum { FITS = 32767 };
    char *text = malloc(FITS + 2);
    memset(text, 'x', FITS + 1);
    text[FITS + 1] = 0;
    gt_table *table = gt_table_new(GT_SHEET("long"), strings);
    gt_table_add_column(table, GT_COL("text"), GT_TYPE_STRING);
    for (int row = 0; row < 3; row++) gt_table_add_row(table);
    gt_table_set_string(table, 0, 0, gt_interner_add(strings, text, FITS));
    gt_table_set_string(table, 0, 1, gt_interner_add(strings, text, FITS + 1));
    char *wide = malloc(4 * FITS + 4); /* each character counts as two in Excel */
    for (int i = 0; i < FITS; i++) memcpy(wide + 4 * i, "\U0001F600", 4);
    gt_table_set_string(table, 0, 2, gt_interner_add(strings, wide, 4 * FITS));

    char *warnings = write_book(in_scratch("book.xlsx"), &table, 1);
    expect_in(warnings, "sheet long: 2 cells truncated in the workbook (Excel allows 32767 characters)\n");
    char *sheet = unpack(in_scratch("book.xlsx"), "xl/worksheets/sheet1.xml");
    char *first = strstr(sheet, "<t>xxx"), *second = strstr(first + 1, "<t>xxx"),
         *third = strstr(sheet, "<t>\U0001F600");
    assert_int_equal(strcspn(first + 3, "<"), FITS);
    assert_int_equal(strcspn(second + 3, "<"), FITS);
    assert_memory_equal(second + 3 + FITS - 10, " ... (cut)</t>", 14);
    assert_int_equal(strspn(third + 3, "\U0001F600") / 4, (FITS - 10) / 2);
    free(sheet);
    free(warnings);
    free(text);
    free(wide);
    gt_table_free(table);
}

static void excess_rows_are_dropped_with_a_warning(void **state)
{
    (void)state;
    gt_table *table = gt_table_new(GT_SHEET("many"), strings);
    gt_table_add_column(table, GT_COL("n"), GT_TYPE_INT);
    gt_table_add_rows(table, 1048576 + 2);
    for (size_t row = 0; row < table->row_count; row++) table->columns[0].ints[row] = (int64_t)row;
    char *warnings = write_book(in_scratch("book.xlsx"), &table, 1);
    expect_in(warnings, "sheet many: last 3 rows omitted from the workbook (Excel allows 1048576)\n");
    char *sheet = unpack(in_scratch("book.xlsx"), "xl/worksheets/sheet1.xml");
    char *tail = sheet + strlen(sheet) - 1000;
    expect_in(tail, "<row r=\"1048576\"");
    expect_in(tail, "<v>1048574</v>");
    expect_in(tail, "<autoFilter ref=\"A1:A1048576\"/>");
    free(sheet);
    free(warnings);
    gt_table_free(table);
}

static void sheet_names_are_made_legal_and_unique(void **state)
{
    (void)state;
    static const struct {
        const char *name, *expected;
    } cases[] = {
        {"kernel_summary", "name=\"kernel_summary\""},
        {"Kernel_Summary", "name=\"Kernel_Summary_2\""},
        {"a[b]:c*d?e/f\\g", "name=\"a_b__c_d_e_f_g\""},
        {"'quoted'", "name=\"_quoted_\""},
        {"1234567890123456789012345678901234", "name=\"1234567890123456789012345678901\""},
        {"12345678901234567890123456789012345", "name=\"12345678901234567890123456789_2\""},
        {"µµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµ", "name=\"µµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµ\""},
        {"", "name=\"Sheet\""},
        {"history", "name=\"history_\""},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    gt_table *tables[CASES];
    for (int i = 0; i < CASES; i++) tables[i] = gt_table_new(gt_sheet_named(cases[i].name), strings);
    char *warnings = write_book(in_scratch("book.xlsx"), tables, CASES);
    expect_in(warnings, "sheet Kernel_Summary is named Kernel_Summary_2 in the workbook, and 7 more have "
                        "another name: Excel");
    assert_null(strchr(strchr(warnings, '\n') + 1, '\n')); /* one line */
    expect_not_in(warnings, "sheet kernel_summary ");
    char *book = unpack(in_scratch("book.xlsx"), "xl/workbook.xml");
    char *place = book;
    for (int i = 0; i < CASES; i++) { /* in the tables' order */
        expect_in(place, cases[i].expected);
        place = strstr(place, cases[i].expected) + 1;
        gt_table_free(tables[i]);
    }
    free(book);
    free(warnings);
}

static void empty_tables_have_sheets(void **state)
{
    (void)state;
    gt_table *tables[2] = {gt_table_new(GT_SHEET("no_rows"), strings),
                           gt_table_new(GT_SHEET("no_columns"), strings)};
    gt_table_add_column(tables[0], GT_COL("bin_start"), GT_TYPE_FLOAT);
    gt_table_add_column(tables[0], GT_COL("count"), GT_TYPE_INT);
    char *warnings = write_book(in_scratch("book.xlsx"), tables, 2);
    assert_string_equal(warnings, "");
    char *sheet = unpack(in_scratch("book.xlsx"), "xl/worksheets/sheet1.xml");
    expect_in(sheet, "<t>bin_start</t>");
    expect_in(sheet, "<autoFilter ref=\"A1:B1\"/>");
    free(sheet);
    sheet = unpack(in_scratch("book.xlsx"), "xl/worksheets/sheet2.xml");
    expect_in(sheet, "<sheetData/>");
    free(sheet);
    free(warnings);
    warnings = write_book(in_scratch("none.xlsx"), NULL, 0);
    assert_string_equal(warnings, "");
    free(warnings);
    for (int i = 0; i < 2; i++) gt_table_free(tables[i]);
}

/* ---- failure ---- */

static gt_table *large_table(void)
{
    gt_table *table = gt_table_new(GT_SHEET("large"), strings);
    gt_table_add_column(table, GT_COL("number"), GT_TYPE_INT);
    gt_table_add_rows(table, 200000); /* more than a file's buffer when packed */
    for (size_t row = 0; row < 200000; row++)
        table->columns[0].ints[row] = (int64_t)(row * row * 2654435761u);
    return table;
}

/* The exit status tells which expectation failed. */
static void write_under_limit(rlim_t limit)
{
    gt_error error = {""};
    gt_table *table = large_table();
    gt_output *output = gt_output_new();
    int said = open(in_scratch("stderr"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(said, 2);
    signal(SIGXFSZ, SIG_IGN); /* as the program does */
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit, limit});
    if (gt_output_xlsx(output, in_scratch("made/large.xlsx"), &table, 1, &error)) _exit(1);
    char expected[600];
    snprintf(expected, sizeof expected, "cannot write %s: ", in_scratch("made/large.xlsx"));
    if (strncmp(error.text, expected, strlen(expected)) != 0) _exit(2);
    gt_output_free(output);
    if (lseek(2, 0, SEEK_END) != 0) _exit(3); /* one message, printed by the caller */
    if (exists(in_scratch("made"))) _exit(4);
    _exit(0);
}

/* From "nothing fits" to "all but the last byte fits". */
static void a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    gt_table *table = large_table();
    free(write_book(in_scratch("whole.xlsx"), &table, 1));
    gt_table_free(table);
    struct stat whole;
    assert_int_equal(stat(in_scratch("whole.xlsx"), &whole), 0);
    assert_true(whole.st_size > 2 * GT_FILE_BUFFER);
    const rlim_t limits[] = {0, 100, 5000, GT_FILE_BUFFER + 5, (rlim_t)whole.st_size - 1};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) write_under_limit(limits[i]);
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* ---- formatting ---- */

static gt_xlsx_format look_of_floats(const char *name, double a, double b)
{
    gt_table *table = gt_table_new(GT_SHEET("look"), strings);
    gt_table_add_column(table, gt_col_named(name), GT_TYPE_FLOAT);
    gt_table_add_rows(table, 3);
    gt_table_set_float(table, 0, 0, a);
    gt_table_set_float(table, 0, 1, b);
    gt_xlsx_format look = gt_xlsx_column_format(table, 0, 3);
    gt_table_free(table);
    return look;
}

static void number_formats_follow_the_values(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double a, b;
        const char *format;
    } cases[] = {
        {"Percentage (%)", 12.5, 100, "0.00"},
        {"Short Kernel duration (µs) percent of total time", 0.001, 3, "0.00"},
        {"pct_arrived_last", 100, 0, "0.00"},
        {"dispatch_id", 2809, 12345, "0"},
        {"UID_first", 1, 99999, "0"},
        {"Kernel stream", 7, 8, "0"},
        {"rank_0_ts", 4458676786367.745, 1, "0.000"},
        {"Count", 1234567, 2, "#,##0"},
        {"grid_x", 26624, 1, "#,##0"},
        {"Mean Kernel Time (µs)", 3174.623418320611, 1, "#,##0.00"},
        {"rank_0_dur", 31.392, 1, "#,##0.000"},
        {"ratio", 1e-7, 1e-9, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *format = look_of_floats(cases[i].name, cases[i].a, cases[i].b).number_format;
        if (cases[i].format) {
            assert_non_null(format);
            assert_string_equal(format, cases[i].format);
        } else {
            assert_null(format);
        }
    }
}

static void columns_are_as_wide_as_their_content(void **state)
{
    (void)state;
    assert_true(look_of_floats("t", -12345678.5, 1).width == 15); /* "-12,345,678.50" and one more */
    assert_true(look_of_floats("n", 1, 2).width == 8);
    assert_true(look_of_floats("Cumulative Percentage (%)", 1, 2).width ==
                16); /* half of 25, and the button */
    assert_int_equal(gt_xlsx_header_lines("Cumulative Percentage (%)", 16), 2);
    assert_int_equal(gt_xlsx_header_lines("Cumulative Percentage (%)", 15), 3);
    assert_int_equal(gt_xlsx_header_lines("Cumulative Percentage (%)", 27), 1);
    assert_int_equal(gt_xlsx_header_lines("", 8), 1);
    assert_int_equal(gt_xlsx_header_lines("total_direct_kernel_time_ms", 27), 2);
    gt_table *table = gt_table_new(GT_SHEET("look"), strings);
    gt_table_add_column(table, GT_COL("name"), GT_TYPE_STRING);
    gt_table_add_rows(table, 2);
    gt_table_set_cstr(table, 0, 0, "µµµµµµµµµµ");
    assert_true(gt_xlsx_column_format(table, 0, 2).width == 11);
    char text[500] = {0};
    memset(text, 'x', sizeof text - 1);
    gt_table_set_cstr(table, 0, 1, text);
    assert_true(gt_xlsx_column_format(table, 0, 2).width == 60);
    gt_table_free(table);
}

/* ---- headings ---- */

/* A common prefix of columns is shown above them in merged cells; equal names below each other are merged,
 * too. */
static void headings_above_columns(void **state)
{
    (void)state;
    static const char *const names[] = {"launch", "launch", "sync"};
    gt_table *table = gt_table_new(GT_SHEET("calls"), strings);
    gt_table_add_column(table, GT_COL("name"), GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL("cat"), GT_TYPE_STRING);
    for (int c = 0; c < 3; c++) gt_table_add_column(table, GT_COL("x"), GT_TYPE_INT);
    gt_table_set_headings(table, 1, NULL, "rank");
    gt_table_set_headings(table, 2, "count", "0");
    gt_table_set_headings(table, 3, "count", "10");
    gt_table_set_headings(table, 4, "max", "0");
    for (int row = 0; row < 3; row++) gt_table_set_cstr(table, 0, gt_table_add_row(table), names[row]);
    gt_table_set_int(table, 3, 2, 7);
    char *sheet = first_sheet(gt_table_copy(table));
    expect_in(sheet, "<dimension ref=\"A1:E6\"/>");
    expect_in(sheet, "<pane ySplit=\"3\" topLeftCell=\"A4\"");
    expect_in(sheet, "<row r=\"1\"><c r=\"C1\" s=\"1\" t=\"inlineStr\"><is><t>count</t></is></c><c r=\"E1\"");
    expect_in(sheet,
              "<row r=\"2\"><c r=\"B2\" s=\"1\" t=\"inlineStr\"><is><t>rank</t></is></c><c r=\"C2\" "
              "s=\"1\"><v>0</v></c><c r=\"D2\" s=\"1\"><v>10</v></c><c r=\"E2\" s=\"1\"><v>0</v></c></row>");
    expect_in(sheet, "<row r=\"3\"><c r=\"A3\" s=\"1\" t=\"inlineStr\"><is><t>name</t></is></c><c r=\"B3\"");
    expect_in(sheet, "<c r=\"D6\" s=\"6\"><v>7</v></c>");
    expect_in(sheet, "</sheetData><mergeCells><mergeCell ref=\"C1:D1\"/><mergeCell "
                     "ref=\"A4:A5\"/></mergeCells><pageMargins");
    expect_not_in(sheet, "autoFilter");
    free(sheet);
    char *book = unpack(in_scratch("book.xlsx"), "xl/workbook.xml");
    expect_in(book, "$1:$3</definedName>");
    expect_not_in(book, "_FilterDatabase");
    free(book);
    gt_table_free(table);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_kind_of_cell),
        TEST(characters_that_xml_forbids),
        TEST(long_strings_are_truncated_with_a_warning),
        TEST(excess_rows_are_dropped_with_a_warning),
        TEST(sheet_names_are_made_legal_and_unique),
        TEST(empty_tables_have_sheets),
        TEST(a_full_disk_leaves_nothing),
        TEST(number_formats_follow_the_values),
        TEST(columns_are_as_wide_as_their_content),
        TEST(headings_above_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
