/* Workbooks as tables: hand-written parts that cover every form a writer may use, hostile ones, and a
 * workbook of openpyxl if that is installed. */
#include "output_help.h"
#include "test_table_help.h"
#include "input/sheets/sheets.h"

#include <zip.h>

#define HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
#define BOOK                                                                                                 \
    HEAD "<workbook xmlns:r=\"r\"><sheets><sheet name=\"one\" sheetId=\"1\" "                                \
         "r:id=\"rId7\"/></sheets></workbook>"
#define RELATIONS                                                                                            \
    HEAD "<Relationships><Relationship Id=\"rId7\" Target=\"worksheets/sheet1.xml\"/></Relationships>"
#define ABSOLUTE                                                                                             \
    HEAD "<Relationships><Relationship Id=\"rId7\" Target=\"/xl/worksheets/sheet1.xml\"/></Relationships>"
#define SHEET(rows) HEAD "<worksheet><sheetData>" rows "</sheetData></worksheet>"

static gt_interner *strings;

static int make_strings(void **state)
{
    strings = gt_interner_new();
    return make_scratch(state);
}

static int free_strings(void **state)
{
    gt_interner_free(strings);
    return remove_scratch(state);
}

static void add_part(zip_t *zip, const char *name, const char *text)
{
    if (!text) return;
    zip_source_t *source = zip_source_buffer(zip, text, strlen(text), 0);
    assert_true(source && zip_file_add(zip, name, source, 0) >= 0);
}

static const char *make_book(const char *relations, const char *sheet, const char *shared)
{
    const char *path = in_scratch("book.xlsx");
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
    assert_non_null(zip);
    add_part(zip, "xl/workbook.xml", BOOK);
    add_part(zip, "xl/_rels/workbook.xml.rels", relations);
    add_part(zip, "xl/worksheets/sheet1.xml", sheet);
    add_part(zip, "xl/sharedStrings.xml", shared);
    assert_int_equal(zip_close(zip), 0);
    return path;
}

/* The table of the first sheet, or NULL and the error message. */
static gt_table *read_book(const char *path, gt_error *error)
{
    gt_workbook *book = gt_workbook_open(path, error);
    gt_table *table = book ? gt_workbook_table(book, 0, strings, error) : NULL;
    gt_workbook_close(book);
    return table;
}

static void expect_sheet(const char *sheet, const char *shared, const char *expected)
{
    static const char *const relations[] = {RELATIONS, ABSOLUTE};
    for (size_t i = 0; i < 2; i++) {
        gt_error error = {""};
        gt_table *table = read_book(make_book(relations[i], sheet, shared), &error);
        if (!table) fail_msg("%s", error.text);
        assert_string_equal(table->name, "one");
        expect_table(table, expected);
        gt_table_free(table);
    }
}

static void expect_refusal(const char *sheet, const char *shared, const char *part_of_message)
{
    gt_error error = {""};
    assert_null(read_book(make_book(RELATIONS, sheet, shared), &error));
    if (!strstr(error.text, part_of_message)) fail_msg("'%s' is not in '%s'", part_of_message, error.text);
}

static void strings_are_shared_or_inline(void **state)
{
    (void)state;
    expect_sheet(SHEET("<row r=\"1\"><c r=\"A1\" t=\"s\"><v>1</v></c><c r=\"B1\" "
                       "t=\"inlineStr\"><is><t>n</t></is></c></row>"
                       "<row r=\"2\"><c r=\"A2\" t=\"s\"><v>0</v></c><c r=\"B2\"><v>4</v></c></row>"
                       "<row r=\"3\"><c r=\"A3\" t=\"str\"><f>A1</f><v>x&amp;y</v></c><c r=\"B3\" "
                       "t=\"n\"><v>-5</v></c></row>"),
                 HEAD
                 "<sst><si><r><t>ge</t></r><r><t>mm</t></r><rPh><t>no</t></rPh></si><si><t>k</t></si></sst>",
                 "k:text n:int\ngemm 4\nx&y -5\n");
}

static void cells_may_be_missing_or_without_reference(void **state)
{
    (void)state;
    expect_sheet(
        SHEET("<row><c t=\"inlineStr\"><is><t>a</t></is></c><c t=\"inlineStr\"><is><t>b</t></is></c>"
              "<c t=\"inlineStr\"><is><t>c</t></is></c></row>"
              "<row><c><v>1</v></c><c t=\"b\"><v>1</v></c><c r=\"C2\"><v>1.5</v></c></row>"
              "<row r=\"4\"><c r=\"C4\" t=\"e\"><v>#DIV/0!</v></c><c r=\"B4\" t=\"b\"><v>0</v></c></row>"
              "<row r=\"9\"><c r=\"A9\"/></row>"),
        NULL, "a:float b:text c:float\n1 True 1.5\n- - -\n- False -\n");
}

static void whole_numbers_are_ints_and_others_doubles(void **state)
{
    (void)state;
    expect_sheet(SHEET("<row><c t=\"str\"><v>i</v></c><c t=\"str\"><v>f</v></c><c t=\"str\"><v>b</v></c><c "
                       "t=\"str\"><v>x</v></c></row>"
                       "<row><c><v>3.0</v></c><c><v>0.08232976774715614</v></c><c t=\"b\"><v>1</v></c><c "
                       "t=\"str\"><v>inf</v></c></row>"
                       "<row><c><v>1E3</v></c><c><v>7</v></c><c t=\"b\"><v>0</v></c><c><v>2</v></c></row>"),
                 NULL, "i:int f:float b:bool x:float\n3 0.08232976774715614 true inf\n1000 7 false 2\n");
}

static void cells_keep_their_position(void **state)
{
    (void)state;
    gt_error error = {""};
    gt_sheet_grid grid;
    const char *sheet = SHEET("<row r=\"1\"><c r=\"A1\"><v>100</v></c><c r=\"C1\"><v>1e2</v></c></row>"
                              "<row r=\"3\"><c r=\"A3\" t=\"inlineStr\"><is><t>NA</t></is></c>"
                              "<c r=\"B3\" t=\"b\"><v>1</v></c><c r=\"C3\" t=\"s\"><v>0</v></c></row>");
    gt_workbook *book =
        gt_workbook_open(make_book(RELATIONS, sheet, HEAD "<sst><si><t>7</t></si></sst>"), &error);
    assert_true(book && gt_workbook_grid(book, 0, &grid, &error));
    assert_int_equal(grid.rows, 3);
    assert_int_equal(grid.columns, 3);
    const gt_sheet_cell *cell = gt_sheet_grid_at(&grid, 0, 0);
    assert_true(cell->kind == GT_CELL_NUMBER && cell->number == 100 && !cell->is_real);
    assert_int_equal(gt_sheet_grid_at(&grid, 0, 1)->kind, GT_CELL_MISSING);
    cell = gt_sheet_grid_at(&grid, 0, 2);
    assert_true(cell->kind == GT_CELL_NUMBER && cell->number == 100 && cell->is_real);
    assert_int_equal(gt_sheet_grid_at(&grid, 1, 0)->kind, GT_CELL_MISSING);
    cell = gt_sheet_grid_at(&grid, 2, 0);
    assert_true(cell->kind == GT_CELL_STRING && cell->len == 2 && memcmp(cell->bytes, "NA", 2) == 0);
    assert_true(gt_sheet_grid_at(&grid, 2, 1)->truth);
    cell = gt_sheet_grid_at(&grid, 2, 2);
    assert_true(cell->kind == GT_CELL_STRING && cell->len == 1 && *cell->bytes == '7');
    gt_sheet_grid_free(&grid);
    gt_workbook_close(book);
}

static void excel_escapes_are_decoded(void **state)
{
    (void)state;
    gt_error error = {""};
    gt_table *table =
        read_book(make_book(RELATIONS,
                            SHEET("<row><c t=\"str\"><v>k</v></c></row><row><c t=\"inlineStr\"><is>"
                                  "<t>a_x000A_b_x005F_x0041_ _x00_ _xD800_</t></is></c></row>"),
                            NULL),
                  &error);
    assert_non_null(table);
    assert_string_equal(gt_interner_get(strings, table->columns[0].texts[0]).bytes,
                        "a\nb_x0041_ _x00_ \xEF\xBF\xBD");
    gt_table_free(table);
}

static void namespaces_may_have_prefixes(void **state)
{
    (void)state;
    expect_sheet(HEAD "<x:worksheet xmlns:x=\"u\"><x:sheetData><x:row r=\"1\"><x:c r=\"A1\" "
                      "t=\"str\"><x:v>k</x:v></x:c></x:row>"
                      "<x:row r=\"2\"><x:c r=\"A2\"><x:v>1</x:v></x:c></x:row></x:sheetData></x:worksheet>",
                 NULL, "k:int\n1\n");
}

static void hostile_parts_are_rejected(void **state)
{
    (void)state;
    expect_refusal("<!DOCTYPE a [<!ENTITY e \"eeee\">]><worksheet>&e;</worksheet>", NULL,
                   "document type declaration");
    expect_refusal(SHEET("<row><c t=\"s\"><v>1</v></c></row>"), HEAD "<sst><si><t>k</t></si></sst>",
                   "'1' of 1");
    expect_refusal(SHEET("<row><c t=\"s\"><v>0</v></c></row>"), NULL, "'0' of 0");
    expect_refusal(SHEET("<row><c r=\"XFE1\"><v>1</v></c></row>"), NULL, "invalid cell reference 'XFE1'");
    expect_refusal(SHEET("<row r=\"1048577\"/>"), NULL, "invalid cell reference '1048577'");
    expect_refusal(SHEET("<row r=\"0\"/>"), NULL, "invalid cell reference '0'");
    expect_refusal(SHEET("<row><c><v>1x</v></c></row>"), NULL, "'1x' is not a number");
    expect_refusal(SHEET("<row><c><v>1</v></c>"), NULL, "mismatched tag");
    expect_refusal(
        SHEET("<row><c r=\"A1\"><v>1</v></c></row><row r=\"1048576\"><c r=\"XFD1048576\"><v>1</v></c></row>"),
        NULL, "too sparse");
    expect_refusal(NULL, NULL, "xl/worksheets/sheet1.xml");
    gt_error error = {""};
    assert_null(read_book(make_book(HEAD "<Relationships/>", SHEET(""), NULL), &error));
    assert_non_null(strstr(error.text, "not found in the workbook"));
}

static char *repeated(const char *before, const char *middle, size_t count, const char *after)
{
    size_t len = strlen(middle);
    char *text = malloc(strlen(before) + len * count + strlen(after) + 1), *at = stpcpy(text, before);
    for (size_t i = 0; i < count; i++) at = stpcpy(at, middle);
    strcpy(at, after);
    return text;
}

static void depth_and_tags_are_limited(void **state)
{
    (void)state;
    char *deep = repeated("<a>", "<a>", 1000, ""),
         *tag = repeated("<a b='", "0123456789abcdef", 400000, "'/>");
    expect_refusal(deep, NULL, "more than 64 deep");
    expect_refusal(tag, NULL, "tag longer than");
    free(deep);
    free(tag);
}

/* A truncated workbook is rejected; only its last bytes, the length of the archive's comment, may be missing.
 * */
static void damaged_archives_are_rejected(void **state)
{
    (void)state;
    const char *path =
        make_book(RELATIONS, SHEET("<row><c t=\"str\"><v>k</v></c></row><row><c><v>1</v></c></row>"), NULL);
    FILE *file = fopen(path, "rb");
    char bytes[8192];
    size_t len = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    size_t refused = 0;
    for (size_t cut = 0; cut < len; cut++) {
        gt_error error = {""};
        gt_workbook *book = gt_workbook_memory(bytes, cut, &error);
        refused += !book && error.text[0];
        if (book) assert_int_equal(gt_workbook_sheet_count(book), 1);
        gt_workbook_close(book);
    }
    assert_true(refused >= len - 3);
    gt_error error = {""};
    gt_workbook *whole = gt_workbook_memory(bytes, len, &error);
    assert_non_null(whole);
    assert_int_equal(gt_workbook_sheet_count(whole), 1);
    gt_workbook_close(whole);
    write_file(in_scratch("text.xlsx"), "name,n\n");
    assert_null(gt_workbook_open(in_scratch("text.xlsx"), &error));
    assert_non_null(strstr(error.text, "not a readable workbook"));
}

static void a_workbook_of_openpyxl_is_read(void **state)
{
    (void)state;
    char command[1024];
    if (system("/usr/bin/python3 -c 'import openpyxl' 2>/dev/null") != 0) skip();
    snprintf(
        command, sizeof command,
        "/usr/bin/python3 -c \"import openpyxl; b = openpyxl.Workbook(); s = b.active; s.title = 'first';"
        "s.append(['k', 'i', 'f', 'b', 'm']); s.append(['gemm', 4, 0.1, True, None]);"
        "s.append(['µs<&>', -2, 1e-7, False, 5]); t = b.create_sheet('second'); t.append(['x']); "
        "t.append([1]);"
        "b.save('%s')\"",
        in_scratch("made.xlsx"));
    assert_int_equal(system(command), 0);
    gt_error error = {""};
    gt_workbook *book = gt_workbook_open(in_scratch("made.xlsx"), &error);
    assert_non_null(book);
    assert_int_equal(gt_workbook_sheet_count(book), 2);
    assert_string_equal(gt_workbook_sheet_name(book, 1), "second");
    gt_table *table = gt_workbook_table(book, 0, strings, &error);
    assert_non_null(table);
    expect_table(table, "k:text i:int f:float b:bool m:float\ngemm 4 0.1 true -\nµs<&> -2 1e-07 false 5\n");
    gt_table_free(table);
    table = gt_workbook_table(book, 1, strings, &error);
    expect_table(table, "x:int\n1\n");
    gt_table_free(table);
    gt_workbook_close(book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_shared_or_inline),
        cmocka_unit_test(cells_may_be_missing_or_without_reference),
        cmocka_unit_test(whole_numbers_are_ints_and_others_doubles),
        cmocka_unit_test(cells_keep_their_position),
        cmocka_unit_test(excel_escapes_are_decoded),
        cmocka_unit_test(namespaces_may_have_prefixes),
        cmocka_unit_test(hostile_parts_are_rejected),
        cmocka_unit_test(depth_and_tags_are_limited),
        cmocka_unit_test(damaged_archives_are_rejected),
        cmocka_unit_test(a_workbook_of_openpyxl_is_read),
    };
    return cmocka_run_group_tests(tests, make_strings, free_strings);
}
