/* One chart of a dashboard as DrawingML: horizontal bars, each value with the cell that it comes from and a
 * copy of what that cell holds.
 *
 * Excel refuses a whole workbook if elements of a chart are not in the order of the schema (ECMA-376, part 1,
 * section 21.2), if labels of stacked bars are outside of them, or if a series has no values. */
#include "output/xlsx/xlsx.h"

#include "base/raise.h"

#define CHART_NAMES                                                                                          \
    "xmlns:c=\"http://schemas.openxmlformats.org/drawingml/2006/chart\" "                                    \
    "xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" "                                     \
    "xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\""

enum { TITLE_SIZE = 1200, TEXT_SIZE = 900 }; /* in hundredths of a point */
enum { CATEGORY_AXIS = 1, VALUE_AXIS = 2 };
enum { INK = 0x1b1d21, MUTED = 0x5a616c, GRID = 0xdedcd5, PAPER = 0xffffff };

typedef struct chart_writer {
    gt_buffer xml;
    const gt_xlsx_book *book;
    const gt_chart *chart;
    gt_buffer acceptable;
} chart_writer;

/* ---- text ---- */

static void add(chart_writer *w, const char *text)
{
    gt_buffer_add_cstr(&w->xml, text);
}

static void add_text(chart_writer *w, gt_str text)
{
    bool cut = false;
    text = gt_xlsx_acceptable(text, &w->acceptable, &cut);
    for (size_t i = 0; i < text.len; i++) {
        const char *escaped = gt_xml_entity(text.bytes[i]);
        if (escaped)
            add(w, escaped);
        else
            gt_buffer_add(&w->xml, &text.bytes[i], 1);
    }
}

static void add_cstr(chart_writer *w, const char *text)
{
    add_text(w, (gt_str){text, strlen(text)});
}

/* ---- colours ---- */

static void add_color(chart_writer *w, uint32_t color)
{
    gt_buffer_add_format(&w->xml, "<a:solidFill><a:srgbClr val=\"%06X\"/></a:solidFill>", color & 0xffffff);
}

static void add_fill(chart_writer *w, const gt_chart_fill *fill)
{
    add(w, "<c:spPr>");
    if (fill->pattern)
        gt_buffer_add_format(&w->xml,
                             "<a:pattFill prst=\"%s\"><a:fgClr><a:srgbClr val=\"%06X\"/></a:fgClr><a:bgClr>"
                             "<a:srgbClr val=\"%06X\"/></a:bgClr></a:pattFill>",
                             fill->pattern, fill->color & 0xffffff, fill->ground & 0xffffff);
    else
        add_color(w, fill->color);
    /* A white line keeps neighbours of one colour apart. */
    gt_buffer_add_format(
        &w->xml, "<a:ln w=\"6350\"><a:solidFill><a:srgbClr val=\"%06X\"/></a:solidFill></a:ln>", PAPER);
    add(w, "</c:spPr>");
}

/* The brightness of a colour as WCAG defines it, from 0 to 1. */
static double luminance(uint32_t color)
{
    static const double weights[] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double share = (double)(color >> (16 - 8 * i) & 255) / 255;
        sum += weights[i] * (share <= 0.04045 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4));
    }
    return sum;
}

/* Black or white, whichever is easier to read on the fill. */
static uint32_t ink_on(const gt_chart_fill *fill)
{
    double under = luminance(fill->pattern ? fill->ground : fill->color);
    return (under + 0.05) / 0.05 >= 1.05 / (under + 0.05) ? 0x000000 : 0xffffff;
}

/* ---- fonts ---- */

static void add_font(chart_writer *w, const char *element, unsigned size, bool bold, uint32_t color)
{
    gt_buffer_add_format(&w->xml, "<%s sz=\"%u\" b=\"%d\">", element, size, bold);
    add_color(w, color);
    gt_buffer_add_format(&w->xml, "</%s>", element);
}

/* How the text of an element looks. It is never broken into lines. */
static void add_text_look(chart_writer *w, uint32_t color)
{
    add(w, "<c:txPr><a:bodyPr wrap=\"none\"/><a:lstStyle/><a:p><a:pPr>");
    add_font(w, "a:defRPr", TEXT_SIZE, false, color);
    add(w, "</a:pPr><a:endParaRPr lang=\"en-US\"/></a:p></c:txPr>");
}

static void add_title(chart_writer *w, const char *text, unsigned size, bool bold, uint32_t color)
{
    add(w, "<c:title><c:tx><c:rich><a:bodyPr/><a:lstStyle/><a:p><a:pPr>");
    add_font(w, "a:defRPr", size, bold, color);
    add(w, "</a:pPr><a:r>");
    gt_buffer_add_format(&w->xml, "<a:rPr lang=\"en-US\" sz=\"%u\" b=\"%d\">", size, bold);
    add_color(w, color);
    add(w, "</a:rPr><a:t>");
    add_cstr(w, text);
    add(w, "</a:t></a:r></a:p></c:rich></c:tx><c:overlay val=\"0\"/></c:title>");
}

/* ---- ranges of cells ---- */

/* A cell of the dashboard; NULL: there is none. There are few. */
static const gt_dash_cell *find_cell(const gt_dashboard *dashboard, size_t row, size_t column)
{
    for (size_t i = 0; i < dashboard->cell_count; i++)
        if (dashboard->cells[i].row == row && dashboard->cells[i].column == column)
            return &dashboard->cells[i];
    return NULL;
}

static gt_cell cell_at(const chart_writer *w, const gt_chart_range *range, size_t index)
{
    if (range->table) return gt_table_cell(range->table, range->column, range->row + index);
    const gt_dash_cell *cell = find_cell(w->book->dashboard, range->row + index, range->column);
    if (!cell || (!cell->text && isnan(cell->number))) return (gt_cell){.is_null = true};
    if (!cell->text) return (gt_cell){.type = GT_TYPE_FLOAT, .number = cell->number};
    return (gt_cell){.type = GT_TYPE_STRING, .text = {cell->text, strlen(cell->text)}};
}

static bool is_number(gt_cell cell)
{
    return !cell.is_null && (cell.type == GT_TYPE_INT || cell.type == GT_TYPE_FLOAT) && isfinite(cell.number);
}

/* "'balance'!$A$2:$A$9" */
static void add_formula(chart_writer *w, const gt_chart_range *range)
{
    const gt_table *table = range->table ? range->table : w->book->dashboard->sheet;
    size_t sheet = 0, row = range->row + (range->table ? gt_xlsx_header_rows(table) : 0);
    while (sheet < w->book->count && w->book->tables[sheet] != table) sheet++;
    if (sheet == w->book->count) gt_raise_internal("chart of a sheet that is not in the workbook");
    char name[GT_CELL_NAME_MAX];
    add(w, "<c:f>'");
    add_cstr(w, w->book->names[sheet]); /* it contains no apostrophes */
    add(w, "'!");
    gt_buffer_add(&w->xml, name, gt_xlsx_cell_name(name, row, range->column, true));
    if (range->count > 1) {
        add(w, ":");
        gt_buffer_add(&w->xml, name, gt_xlsx_cell_name(name, row + range->count - 1, range->column, true));
    }
    add(w, "</c:f>");
}

static void add_value(chart_writer *w, gt_cell cell)
{
    char digits[GT_NUMBER_MAX];
    size_t len =
        cell.type == GT_TYPE_INT ? gt_print_int(digits, cell.integer) : gt_print_double(digits, cell.number);
    if (cell.type == GT_TYPE_STRING)
        add_text(w, cell.text);
    else
        gt_buffer_add(&w->xml, digits, len);
}

/* Values, and labels that are numbers, are a numRef; other labels are a strRef. Cells without a value have no
 * point, as in documents of Excel. */
static void add_range(chart_writer *w, const gt_chart_range *range, bool as_numbers)
{
    add(w, as_numbers ? "<c:numRef>" : "<c:strRef>");
    add_formula(w, range);
    add(w, as_numbers ? "<c:numCache><c:formatCode>General</c:formatCode>" : "<c:strCache>");
    gt_buffer_add_format(&w->xml, "<c:ptCount val=\"%zu\"/>", range->count);
    for (size_t i = 0; i < range->count; i++) {
        gt_cell cell = cell_at(w, range, i);
        if (cell.is_null || (as_numbers && !is_number(cell))) continue;
        if (!as_numbers && cell.type != GT_TYPE_STRING && !is_number(cell)) continue;
        gt_buffer_add_format(&w->xml, "<c:pt idx=\"%zu\"><c:v>", i);
        add_value(w, cell);
        add(w, "</c:v></c:pt>");
    }
    add(w, as_numbers ? "</c:numCache></c:numRef>" : "</c:strCache></c:strRef>");
}

static bool all_numbers(const chart_writer *w, const gt_chart_range *range)
{
    for (size_t i = 0; i < range->count; i++)
        if (!is_number(cell_at(w, range, i))) return false;
    return true;
}

/* ---- series ---- */

static void add_number_format(chart_writer *w, const char *code)
{
    add(w, "<c:numFmt formatCode=\"");
    add_cstr(w, code);
    add(w, "\" sourceLinked=\"0\"/>");
}

static void add_labels(chart_writer *w, const gt_chart_series *series)
{
    if (series->label == GT_LABEL_NONE) return;
    bool stacked = w->chart->is_stacked, named = series->label == GT_LABEL_NAME_AND_VALUE;
    add(w, "<c:dLbls>");
    add_number_format(w, w->chart->label_format);
    add(w, "<c:spPr>");
    if (stacked && series->fill.pattern)
        add_color(w, series->fill.ground); /* lines would cross the letters */
    else
        add(w, "<a:noFill/>");
    add(w, "<a:ln><a:noFill/></a:ln></c:spPr>");
    add_text_look(w, stacked ? ink_on(&series->fill) : INK);
    gt_buffer_add_format(&w->xml,
                         "<c:dLblPos val=\"%s\"/><c:showLegendKey val=\"0\"/><c:showVal val=\"1\"/>"
                         "<c:showCatName val=\"0\"/><c:showSerName val=\"%d\"/><c:showPercent val=\"0\"/>"
                         "<c:showBubbleSize val=\"0\"/>%s</c:dLbls>",
                         stacked ? "ctr" : "outEnd", named, named ? "<c:separator> </c:separator>" : "");
}

static void add_bar_fills(chart_writer *w, const gt_chart_series *series)
{
    for (size_t i = 0; series->bar_fills && i < series->values.count; i++) {
        gt_buffer_add_format(
            &w->xml, "<c:dPt><c:idx val=\"%zu\"/><c:invertIfNegative val=\"0\"/><c:bubble3D val=\"0\"/>", i);
        add_fill(w, &series->bar_fills[i]);
        add(w, "</c:dPt>");
    }
}

static void add_series(chart_writer *w, size_t index)
{
    const gt_chart_series *series = &w->chart->series[index];
    gt_buffer_add_format(&w->xml, "<c:ser><c:idx val=\"%zu\"/><c:order val=\"%zu\"/><c:tx><c:v>", index,
                         index);
    add_cstr(w, series->name);
    add(w, "</c:v></c:tx>");
    add_fill(w, &series->fill);
    add(w, "<c:invertIfNegative val=\"0\"/>");
    add_bar_fills(w, series);
    add_labels(w, series);
    if (series->labels.count) {
        add(w, "<c:cat>");
        add_range(w, &series->labels, all_numbers(w, &series->labels));
        add(w, "</c:cat>");
    }
    add(w, "<c:val>");
    add_range(w, &series->values, true);
    add(w, "</c:val></c:ser>");
}

/* ---- axes ---- */

static void add_line(chart_writer *w, uint32_t color)
{
    gt_buffer_add_format(
        &w->xml,
        "<c:spPr><a:ln w=\"6350\"><a:solidFill><a:srgbClr val=\"%06X\"/></a:solidFill></a:ln>"
        "</c:spPr>",
        color);
}

/* Bars without names have no axis. The first bar is at the top. */
static void add_category_axis(chart_writer *w)
{
    bool has_names = w->chart->series[0].labels.count > 0;
    gt_buffer_add_format(&w->xml,
                         "<c:catAx><c:axId val=\"%d\"/><c:scaling><c:orientation val=\"maxMin\"/></c:scaling>"
                         "<c:delete val=\"%d\"/><c:axPos val=\"l\"/><c:numFmt formatCode=\"General\" "
                         "sourceLinked=\"0\"/><c:majorTickMark val=\"none\"/><c:minorTickMark val=\"none\"/>"
                         "<c:tickLblPos val=\"nextTo\"/>",
                         CATEGORY_AXIS, !has_names);
    add_line(w, GRID);
    add_text_look(w, INK);
    gt_buffer_add_format(&w->xml,
                         "<c:crossAx val=\"%d\"/><c:crosses val=\"autoZero\"/><c:auto val=\"0\"/><c:lblAlgn "
                         "val=\"ctr\"/><c:lblOffset val=\"50\"/><c:tickLblSkip val=\"1\"/><c:noMultiLvlLbl "
                         "val=\"1\"/></c:catAx>",
                         VALUE_AXIS);
}

/* At the bottom, which is the maximum of the other axis. */
static void add_value_axis(chart_writer *w)
{
    gt_buffer_add_format(&w->xml, "<c:valAx><c:axId val=\"%d\"/><c:scaling><c:orientation val=\"minMax\"/>",
                         VALUE_AXIS);
    if (w->chart->max > 0) {
        add(w, "<c:max val=\"");
        gt_buffer_add_double(&w->xml, w->chart->max);
        add(w, "\"/>");
    }
    add(w, "<c:min val=\"0\"/></c:scaling><c:delete val=\"0\"/><c:axPos val=\"b\"/><c:majorGridlines>");
    add_line(w, GRID);
    add(w, "</c:majorGridlines>");
    if (*w->chart->axis) add_title(w, w->chart->axis, TEXT_SIZE, false, MUTED);
    add_number_format(w, w->chart->axis_format);
    add(w,
        "<c:majorTickMark val=\"none\"/><c:minorTickMark val=\"none\"/><c:tickLblPos val=\"nextTo\"/><c:spPr>"
        "<a:ln><a:noFill/></a:ln></c:spPr>");
    add_text_look(w, MUTED);
    gt_buffer_add_format(&w->xml,
                         "<c:crossAx val=\"%d\"/><c:crosses val=\"max\"/><c:crossBetween val=\"between\"/>"
                         "</c:valAx>",
                         CATEGORY_AXIS);
}

/* ---- the chart ---- */

static void add_legend(chart_writer *w)
{
    if (!w->chart->legend_rows) return;
    add(w, "<c:legend><c:legendPos val=\"b\"/><c:overlay val=\"0\"/>");
    add_text_look(w, INK);
    add(w, "</c:legend>");
}

/* The place of the bars, without names and axis. Programs choose differently, and some leave little room for
 * bars. In rows of cells: 1.8 for the title, 1 for numbers of the axis, 1 for what they are. */
static void add_layout(chart_writer *w)
{
    const gt_chart *chart = w->chart;
    double rows = (double)chart->rows, below = (*chart->axis ? 2.2 : 1.2) + (double)chart->legend_rows;
    double left = chart->label_share > 0 ? chart->label_share : 0.02;
    gt_buffer_add_format(&w->xml,
                         "<c:layout><c:manualLayout><c:layoutTarget val=\"inner\"/><c:xMode val=\"edge\"/>"
                         "<c:yMode val=\"edge\"/><c:x val=\"%.4f\"/><c:y val=\"%.4f\"/><c:w val=\"%.4f\"/>"
                         "<c:h val=\"%.4f\"/></c:manualLayout></c:layout>",
                         left, 1.8 / rows, 0.97 - left, fmax(rows - 1.8 - below, 1) / rows);
}

static void add_plot(chart_writer *w)
{
    bool stacked = w->chart->is_stacked;
    add(w, "<c:plotArea>");
    add_layout(w);
    gt_buffer_add_format(&w->xml,
                         "<c:barChart><c:barDir val=\"bar\"/><c:grouping val=\"%s\"/><c:varyColors "
                         "val=\"0\"/>",
                         stacked ? "stacked" : "clustered");
    for (size_t i = 0; i < w->chart->series_count; i++) add_series(w, i);
    gt_buffer_add_format(
        &w->xml, "<c:gapWidth val=\"%u\"/>%s<c:axId val=\"%d\"/><c:axId val=\"%d\"/></c:barChart>",
        w->chart->gap_width, stacked ? "<c:overlap val=\"100\"/>" : "", CATEGORY_AXIS, VALUE_AXIS);
    add_category_axis(w);
    add_value_axis(w);
    add(w, "<c:spPr><a:noFill/></c:spPr></c:plotArea>");
}

void gt_xlsx_write_chart(gt_zip *zip, const gt_xlsx_book *book, const gt_chart *chart)
{
    chart_writer w = {.book = book, .chart = chart};
    add(&w, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<c:chartSpace " CHART_NAMES
            "><c:roundedCorners val=\"0\"/><c:chart>");
    add_title(&w, chart->title, TITLE_SIZE, true, INK);
    add(&w, "<c:autoTitleDeleted val=\"0\"/>");
    add_plot(&w);
    add_legend(&w);
    /* Rows that a filter hides stay in the chart. */
    add(&w, "<c:plotVisOnly val=\"0\"/><c:dispBlanksAs val=\"gap\"/></c:chart><c:spPr>");
    add_color(&w, PAPER);
    add(&w, "<a:ln><a:noFill/></a:ln></c:spPr></c:chartSpace>");
    gt_zip_write(zip, w.xml.bytes, w.xml.len);
    gt_buffer_free(&w.xml);
    gt_buffer_free(&w.acceptable);
}
