/* Hidden sheets, native tables, colour scales and names of columns that are numbers: the workbook's parts,
 * compared with what the file format requires. */
#include "output/output.h"
#include "output_tables.h"
#include "workbook_parts.h"

#include "base/memory.h"

/* Two rows: a name and two numbers. */
static gt_table *make_sheet(const char *name, const char *const *columns, size_t rows)
{
    gt_table *table = gt_table_new(gt_sheet_named(name), strings);
    for (size_t c = 0; c < 3; c++)
        gt_table_add_column(table, gt_col_named(columns[c]), c ? GT_TYPE_FLOAT : GT_TYPE_STRING);
    for (size_t i = 0; i < rows; i++) {
        size_t row = gt_table_add_row(table);
        gt_table_set_cstr(table, 0, row, "same");
        gt_table_set_float(table, 1, row, 1.5);
    }
    return table;
}

static void write_styled(gt_table *const *tables, const gt_sheet_style *styles, size_t count)
{
    gt_error error;
    gt_output *output = gt_output_new();
    bool ok = gt_output_styled_xlsx(output, in_scratch("book.xlsx"), tables, styles, count, &error) &&
              gt_output_commit(output, &error);
    gt_output_free(output);
    if (!ok) fail_msg("%s", error.text);
    for (size_t i = 0; i < count; i++) gt_table_free(tables[i]);
}

static void expect_part(const char *part, const char *expected)
{
    char *text = unpack(in_scratch("book.xlsx"), part);
    expect_in(text, expected);
    free(text);
}

static void expect_not_in_part(const char *part, const char *unexpected)
{
    char *text = unpack(in_scratch("book.xlsx"), part);
    expect_not_in(text, unexpected);
    free(text);
}

static const char *const NAMES[] = {"name", "a<b", "percent_change_x"};

static void hidden_sheets_and_the_active_one(void **state)
{
    (void)state;
    gt_table *tables[] = {make_sheet("one", NAMES, 1), make_sheet("two", NAMES, 1),
                          make_sheet("three", NAMES, 1)};
    const gt_sheet_style styles[3] = {{.is_hidden = true}, {0}, {.is_hidden = true}};
    write_styled(tables, styles, 3);
    expect_part("xl/workbook.xml", "activeTab=\"1\"");
    expect_part("xl/workbook.xml", "<sheet name=\"one\" state=\"hidden\" sheetId=\"1\"");
    expect_part("xl/workbook.xml", "<sheet name=\"two\" sheetId=\"2\"");
    expect_part("xl/workbook.xml", "<sheet name=\"three\" state=\"hidden\" sheetId=\"3\"");
}

/* Excel refuses a workbook in which all sheets are hidden. */
static void one_sheet_stays_visible(void **state)
{
    (void)state;
    gt_table *tables[] = {make_sheet("one", NAMES, 1), make_sheet("two", NAMES, 1)};
    const gt_sheet_style styles[2] = {{.is_hidden = true}, {.is_hidden = true}};
    write_styled(tables, styles, 2);
    expect_part("xl/workbook.xml", "<sheet name=\"one\" sheetId=\"1\"");
    expect_part("xl/workbook.xml", "<sheet name=\"two\" state=\"hidden\" sheetId=\"2\"");
}

static void native_tables(void **state)
{
    (void)state;
    gt_table *tables[] = {make_sheet("plain", NAMES, 2), make_sheet("My data!", NAMES, 2),
                          make_sheet("A1", NAMES, 2), make_sheet("my_data_", NAMES, 2)};
    const gt_sheet_style styles[4] = {{0}, {.is_table = true}, {.is_table = true}, {.is_table = true}};
    write_styled(tables, styles, 4);
    expect_part("xl/tables/table2.xml", "id=\"2\" name=\"My_data_\" displayName=\"My_data_\" ref=\"A1:C3\"");
    expect_part("xl/tables/table2.xml", "<autoFilter ref=\"A1:C3\"/><tableColumns count=\"3\">");
    expect_part("xl/tables/table2.xml", "<tableColumn id=\"2\" name=\"a&lt;b\"/>");
    expect_part("xl/tables/table2.xml", "<tableStyleInfo name=\"TableStyleMedium2\"");
    expect_part("xl/tables/table2.xml", "showRowStripes=\"1\"");
    expect_part("xl/tables/table3.xml", "displayName=\"Tbl_A1\""); /* A1 is a cell */
    expect_part("xl/tables/table4.xml", "displayName=\"my_data__2\"");
    expect_part("xl/worksheets/_rels/sheet2.xml.rels", "Target=\"../tables/table2.xml\"");
    expect_part("xl/worksheets/sheet2.xml",
                "<tableParts count=\"1\"><tablePart r:id=\"rId1\"/></tableParts>");
    expect_part("[Content_Types].xml", "/xl/tables/table2.xml");
    expect_not_in_part("[Content_Types].xml", "/xl/tables/table1.xml");
    /* a table has its own filter, and its equal names are not merged */
    expect_not_in_part("xl/worksheets/sheet2.xml", "<autoFilter");
    expect_not_in_part("xl/worksheets/sheet2.xml", "<mergeCell");
    expect_part("xl/worksheets/sheet1.xml", "<autoFilter ref=\"A1:C3\"/>");
    expect_not_in_part("xl/worksheets/sheet1.xml", "tablePart");
}

/* Excel repairs a workbook with such a table: the sheet keeps its filter. */
static void what_cannot_be_a_table(void **state)
{
    (void)state;
    static const char *const equal[] = {"name", "x", "X"}, *const empty[] = {"name", "", "x"},
                             *const broken[] = {"name", "a\nb", "x"};
    gt_table *tables[] = {make_sheet("equal", equal, 1), make_sheet("empty", empty, 1),
                          make_sheet("broken", broken, 1), make_sheet("rowless", NAMES, 0)};
    const gt_sheet_style styles[4] = {
        {.is_table = true}, {.is_table = true}, {.is_table = true}, {.is_table = true}};
    write_styled(tables, styles, 4);
    expect_not_in_part("[Content_Types].xml", "/xl/tables/");
    expect_part("xl/worksheets/sheet1.xml", "<autoFilter");
    expect_part("xl/worksheets/sheet4.xml", "<autoFilter");
}

static void colour_scales(void **state)
{
    (void)state;
    static const char *const two[] = {"percent_change", "other", "percent_change_x"};
    gt_table *tables[] = {make_sheet("one", NAMES, 2), make_sheet("two", two, 3), make_sheet("none", two, 0)};
    const gt_sheet_style styles[3] = {{.scale_prefix = "percent_change"},
                                      {.scale_prefix = "percent_change", .is_table = true},
                                      {.scale_prefix = "percent_change"}};
    write_styled(tables, styles, 3);
    expect_part("xl/worksheets/sheet1.xml",
                "<autoFilter ref=\"A1:C3\"/><conditionalFormatting sqref=\"C2:C3\"><cfRule "
                "type=\"colorScale\" priority=\"1\"><colorScale><cfvo type=\"min\"/><cfvo type=\"num\" "
                "val=\"0\"/><cfvo type=\"max\"/><color rgb=\"FFF8696B\"/><color rgb=\"FFFFFFFF\"/><color "
                "rgb=\"FF63BE7B\"/></colorScale></cfRule></conditionalFormatting><pageMargins");
    expect_part("xl/worksheets/sheet2.xml", "sqref=\"A2:A4\"><cfRule type=\"colorScale\" priority=\"1\"");
    expect_part("xl/worksheets/sheet2.xml", "sqref=\"C2:C4\"><cfRule type=\"colorScale\" priority=\"2\"");
    expect_not_in_part("xl/worksheets/sheet3.xml", "conditionalFormatting");
}

static void names_that_are_numbers(void **state)
{
    (void)state;
    static const char *const names[] = {"type", "0", "10"};
    gt_table *tables[] = {make_sheet("one", names, 1), make_sheet("two", names, 1)};
    const gt_sheet_style styles[2] = {{.has_number_names = true}, {0}};
    write_styled(tables, styles, 2);
    expect_part("xl/worksheets/sheet1.xml",
                "<c r=\"B1\" s=\"1\"><v>0</v></c><c r=\"C1\" s=\"1\"><v>10</v></c>");
    expect_part("xl/worksheets/sheet1.xml", "<is><t>type</t></is>");
    expect_part("xl/worksheets/sheet2.xml", "<c r=\"B1\" s=\"1\" t=\"inlineStr\"><is><t>0</t></is></c>");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hidden_sheets_and_the_active_one), TEST(one_sheet_stays_visible), TEST(native_tables),
        TEST(what_cannot_be_a_table),           TEST(colour_scales),           TEST(names_that_are_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
