/* Dashboards and charts of workbooks: which parts there are, where charts get their values, and that no name
 * can break the document. test_charts.py reads whole reports. */
#include "output/dashboard.h"
#include "output/output.h"
#include "output_tables.h"
#include "workbook_parts.h"

#include <math.h>

static const char book[] = "book.xlsx";

/* Facts, and two measures of which one cell is null and one not finite. */
static gt_table *make_facts(void)
{
    gt_table *table = gt_table_new(GT_SHEET("overview"), strings);
    gt_table_add_column(table, GT_COL("name"), GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL("value"), GT_TYPE_FLOAT);
    for (int row = 0; row < 3; row++) {
        gt_table_add_row(table);
        gt_table_set_cstr(table, 0, (size_t)row, "fact");
    }
    gt_table_set_float(table, 1, 0, 2.5);
    gt_table_set_float(table, 1, 1, 12);
    gt_table_set_float(table, 1, 2, 3886758131440.2944);
    return table;
}

static gt_table *make_times(const char *sheet, const char *first_name)
{
    gt_table *table = gt_table_new(gt_sheet_named(sheet), strings);
    gt_table_add_column(table, GT_COL("kernel"), GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL("ms"), GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL("rank"), GT_TYPE_INT);
    for (int row = 0; row < 4; row++) {
        gt_table_add_row(table);
        gt_table_set_cstr(table, 0, (size_t)row, row ? "other" : first_name);
        gt_table_set_int(table, 2, (size_t)row, row + 7);
    }
    gt_table_set_float(table, 1, 0, 0.1);
    gt_table_set_float(table, 1, 2, INFINITY);
    gt_table_set_float(table, 1, 3, 1e-7);
    return table;
}

static gt_chart *add_bars(gt_dashboard *dashboard, const gt_table *times, size_t labels)
{
    gt_chart *chart = gt_dashboard_add_chart(dashboard, "times & <more>");
    chart->axis = "ms";
    chart->row = 5;
    chart->column = 4;
    chart->rows = 10;
    chart->columns = 3;
    gt_chart_add_series(chart, (gt_chart_series){.name = "a \"series\"",
                                                 .labels = {times, labels, 0, 4},
                                                 .values = {times, 1, 0, 4},
                                                 .fill = {NULL, 0x0072b2, 0},
                                                 .label = GT_LABEL_VALUE});
    return chart;
}

/* Writes the tables, of which the dashboard belongs to the first, and frees all of it. */
static void write_tables(gt_table **tables, size_t count, gt_dashboard *dashboard)
{
    gt_error error;
    gt_output *output = gt_output_new();
    gt_document document = {.kind = GT_DOCUMENT_XLSX, .path = in_scratch(book), .dashboard = dashboard};
    bool ok =
        gt_output_documents(output, &document, 1, tables, count, &error) && gt_output_commit(output, &error);
    gt_output_free(output);
    gt_dashboard_free(dashboard);
    for (size_t i = 0; i < count; i++) gt_table_free(tables[i]);
    if (!ok) fail_msg("%s", error.text);
}

static char *part(const char *name)
{
    return unpack(in_scratch(book), name);
}

static void expect_no_part(const char *name)
{
    assert_null(find_part(in_scratch(book), name));
}

/* ---- charts ---- */

static void values_and_their_cells(void **state)
{
    (void)state;
    gt_table *tables[] = {make_facts(), make_times("times", "first")};
    gt_dashboard *dashboard = gt_dashboard_new(tables[0]);
    add_bars(dashboard, tables[1], 0);
    write_tables(tables, 2, dashboard);
    char *chart = part("xl/charts/chart1.xml");
    expect_in(chart, "<c:cat><c:strRef><c:f>'times'!$A$2:$A$5</c:f><c:strCache><c:ptCount val=\"4\"/><c:pt "
                     "idx=\"0\"><c:v>first</c:v></c:pt><c:pt idx=\"1\"><c:v>other</c:v></c:pt>");
    /* A null cell and one that is not finite have no points. */
    expect_in(chart,
              "<c:val><c:numRef><c:f>'times'!$B$2:$B$5</c:f><c:numCache><c:formatCode>General"
              "</c:formatCode><c:ptCount val=\"4\"/><c:pt idx=\"0\"><c:v>0.1</c:v></c:pt><c:pt idx=\"3\">"
              "<c:v>1e-07</c:v></c:pt></c:numCache></c:numRef></c:val>");
    expect_in(chart, "<a:t>times &amp; &lt;more&gt;</a:t>");
    expect_in(chart, "<c:tx><c:v>a &quot;series&quot;</c:v></c:tx>");
    expect_in(chart, "<a:srgbClr val=\"0072B2\"/>");
    expect_in(chart, "<c:dLblPos val=\"outEnd\"/>");
    free(chart);
    char *drawing = part("xl/drawings/drawing1.xml");
    expect_in(drawing, "<xdr:from><xdr:col>4</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>5</xdr:row>");
    expect_in(drawing, "<xdr:to><xdr:col>7</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>15</xdr:row>");
    expect_in(drawing, "<xdr:cNvPr id=\"2\" name=\"times &amp; &lt;more&gt;\" descr=\"\"/>");
    free(drawing);
    char *sheet = part("xl/worksheets/sheet1.xml");
    expect_in(sheet, "<drawing r:id=\"rId1\"/></worksheet>");
    expect_not_in(sheet, "autoFilter");
    free(sheet);
}

static void labels_that_are_numbers(void **state)
{
    (void)state;
    gt_table *tables[] = {make_facts(), make_times("times", "first")};
    gt_dashboard *dashboard = gt_dashboard_new(tables[0]);
    add_bars(dashboard, tables[1], 2);
    write_tables(tables, 2, dashboard);
    char *chart = part("xl/charts/chart1.xml");
    expect_in(chart, "<c:cat><c:numRef><c:f>'times'!$C$2:$C$5</c:f><c:numCache><c:formatCode>General"
                     "</c:formatCode><c:ptCount val=\"4\"/><c:pt idx=\"0\"><c:v>7</c:v></c:pt>");
    free(chart);
}

static void parts_of_one_bar(void **state)
{
    (void)state;
    gt_table *tables[] = {make_facts(), make_times("times", "first")};
    gt_dashboard *dashboard = gt_dashboard_new(tables[0]);
    gt_chart *chart = gt_dashboard_add_chart(dashboard, "parts");
    chart->is_stacked = true;
    chart->rows = 8;
    chart->legend_rows = 2;
    chart->max = 100;
    for (size_t row = 0; row < 4; row += 3)
        gt_chart_add_series(chart, (gt_chart_series){.name = "part",
                                                     .values = {tables[1], 1, row, 1},
                                                     .fill = {"ltUpDiag", 0xa9aeb6, 0xeceef0},
                                                     .label = GT_LABEL_NAME_AND_VALUE});
    write_tables(tables, 2, dashboard);
    char *xml = part("xl/charts/chart1.xml");
    expect_in(xml, "<c:grouping val=\"stacked\"/>");
    expect_in(xml, "<c:f>'times'!$B$5</c:f>");
    expect_in(xml, "<a:pattFill prst=\"ltUpDiag\"><a:fgClr><a:srgbClr val=\"A9AEB6\"/></a:fgClr><a:bgClr>"
                   "<a:srgbClr val=\"ECEEF0\"/></a:bgClr></a:pattFill>");
    /* The lines of the pattern do not cross the label. */
    expect_in(xml, "sourceLinked=\"0\"/><c:spPr><a:solidFill><a:srgbClr val=\"ECEEF0\"/></a:solidFill>");
    expect_in(xml, "<c:dLblPos val=\"ctr\"/>"); /* Excel refuses labels outside of stacked bars */
    expect_in(xml, "<c:max val=\"100.0\"/><c:min val=\"0\"/>");
    expect_in(xml, "<c:overlap val=\"100\"/>");
    expect_in(xml, "<c:legend>");
    expect_not_in(xml, "<c:cat>");
    free(xml);
}

/* ---- names ---- */

static void names_that_xml_forbids(void **state)
{
    (void)state;
    gt_table *tables[] = {make_facts(), make_times("a & <b>", "\x1b]</c:v>&\"=1+1_x0041_\xff")};
    gt_dashboard *dashboard = gt_dashboard_new(tables[0]);
    gt_dashboard_add_text(dashboard, 1, 5, GT_LOOK_HEADLINE, "=cmd|' /C calc'!A0\x01</t>");
    add_bars(dashboard, tables[1], 0);
    write_tables(tables, 2, dashboard);
    char *chart = part("xl/charts/chart1.xml"), *sheet = part("xl/worksheets/sheet1.xml");
    expect_in(chart, "<c:f>'a &amp; &lt;b&gt;'!$A$2:$A$5</c:f>");
    expect_in(chart, "<c:v>_x001B_]&lt;/c:v&gt;&amp;&quot;=1+1_x005F_x0041_\uFFFD</c:v>");
    expect_in(sheet, "t=\"inlineStr\"><is><t>=cmd|' /C calc'!A0_x0001_&lt;/t&gt;</t></is></c>");
    expect_not_in(sheet, "<f>");
    free(chart);
    free(sheet);
}

static void long_names_are_truncated_in_both_places(void **state)
{
    (void)state;
    enum { LONG = 40000, FITS = 32767 };
    char *name = malloc(LONG + 1);
    memset(name, 'k', LONG);
    name[LONG] = 0;
    gt_table *tables[] = {make_facts(), make_times("times", name)};
    gt_dashboard *dashboard = gt_dashboard_new(tables[0]);
    add_bars(dashboard, tables[1], 0);
    write_tables(tables, 2, dashboard);
    char *chart = part("xl/charts/chart1.xml"), *sheet = part("xl/worksheets/sheet2.xml");
    assert_int_equal(strcspn(strstr(chart, "<c:v>kkk") + 5, "<"), FITS);
    assert_int_equal(strcspn(strstr(sheet, "<t>kkk") + 3, "<"), FITS);
    free(chart);
    free(sheet);
    free(name);
}

/* ---- cells ---- */

/* Added in another order than that of the sheet, some beside the table and some below it. */
static void cells_beside_and_below_the_table(void **state)
{
    (void)state;
    gt_table *tables[] = {make_facts()};
    gt_dashboard *dashboard = gt_dashboard_new(tables[0]);
    gt_dashboard_add_width(dashboard, 20);
    gt_dash_cell *wide = gt_dashboard_add_text(dashboard, 8, 3, GT_LOOK_TEXT, "below");
    wide->rows = 2;
    wide->columns = 3;
    gt_dashboard_add_number(dashboard, 1, 4, GT_LOOK_NUMBER, 7);
    gt_dashboard_add_text(dashboard, 1, 3, GT_LOOK_NAME, "beside");
    gt_dashboard_add_number(dashboard, 0, 3, GT_LOOK_HEADER, NAN);
    dashboard->print_columns = 6;
    write_tables(tables, 1, dashboard);
    char *sheet = part("xl/worksheets/sheet1.xml"), *workbook = part("xl/workbook.xml");
    expect_in(sheet, "<dimension ref=\"A1:F10\"/>");
    expect_in(sheet, "<is><t>value</t></is></c><c r=\"D1\" s=\"10\"/></row><row r=\"2\">");
    expect_in(sheet,
              "<v>2.5</v></c><c r=\"D2\" s=\"25\" t=\"inlineStr\"><is><t>beside</t></is></c><c r=\"E2\" "
              "s=\"26\"><v>7</v></c></row>");
    expect_in(sheet, "<v>3886758131440.2944</v></c></row><row r=\"9\"><c r=\"D9\" s=\"23\" t=\"inlineStr\">");
    expect_in(sheet, "</sheetData><mergeCells><mergeCell ref=\"D9:F10\"/></mergeCells><pageMargins");
    expect_in(sheet, "<col min=\"1\" max=\"1\" width=\"20.71429\" customWidth=\"1\"/>");
    expect_in(workbook, "<definedName name=\"_xlnm.Print_Area\" localSheetId=\"0\">'overview'!$A$1:$F$10<");
    expect_not_in(workbook, "_FilterDatabase");
    /* Without charts there is no drawing. */
    expect_not_in(sheet, "<drawing");
    expect_no_part("xl/drawings/drawing1.xml");
    free(sheet);
    free(workbook);
    char *types = part("[Content_Types].xml"), *styles = part("xl/styles.xml");
    expect_not_in(types, "drawing");
    expect_in(styles, "<cellXfs count=\"27\">");
    free(types);
    free(styles);
}

/* Styles of other sheets keep their numbers. */
static void other_sheets_are_as_usual(void **state)
{
    (void)state;
    gt_table *plain[] = {make_times("times", "first")};
    write_tables(plain, 1, NULL);
    char *usual = part("xl/worksheets/sheet1.xml"), *styles = part("xl/styles.xml");
    expect_in(styles, "<cellXfs count=\"10\">");
    expect_in(styles, "<fonts count=\"2\">");
    gt_table *tables[] = {make_facts(), make_times("times", "first")};
    gt_dashboard *dashboard = gt_dashboard_new(tables[0]);
    add_bars(dashboard, tables[1], 0);
    write_tables(tables, 2, dashboard);
    char *beside = part("xl/worksheets/sheet2.xml");
    assert_string_equal(usual, beside);
    free(usual);
    free(beside);
    free(styles);
}

/* ---- nothing to show ---- */

static void charts_without_series_are_left_out(void **state)
{
    (void)state;
    gt_table *tables[] = {make_facts(), make_times("times", "first")};
    gt_dashboard *dashboard = gt_dashboard_new(tables[0]);
    gt_dashboard_add_chart(dashboard, "nothing");
    add_bars(dashboard, tables[1], 0);
    write_tables(tables, 2, dashboard);
    char *chart = part("xl/charts/chart1.xml"), *types = part("[Content_Types].xml");
    expect_in(chart, "times &amp; &lt;more&gt;");
    expect_no_part("xl/charts/chart2.xml");
    expect_not_in(types, "chart2");
    free(chart);
    free(types);
}

static void a_dashboard_of_a_sheet_that_is_not_there(void **state)
{
    (void)state;
    gt_table *absent = make_facts(), *tables[] = {make_times("times", "first")};
    gt_dashboard *dashboard = gt_dashboard_new(absent);
    gt_dashboard_add_text(dashboard, 0, 9, GT_LOOK_NAME, "nowhere");
    write_tables(tables, 1, dashboard);
    char *sheet = part("xl/worksheets/sheet1.xml");
    expect_not_in(sheet, "nowhere");
    expect_in(sheet, "<autoFilter");
    free(sheet);
    gt_table_free(absent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_their_cells),
        cmocka_unit_test(labels_that_are_numbers),
        cmocka_unit_test(parts_of_one_bar),
        cmocka_unit_test(names_that_xml_forbids),
        cmocka_unit_test(long_names_are_truncated_in_both_places),
        cmocka_unit_test(cells_beside_and_below_the_table),
        cmocka_unit_test(other_sheets_are_as_usual),
        cmocka_unit_test(charts_without_series_are_left_out),
        cmocka_unit_test(a_dashboard_of_a_sheet_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
