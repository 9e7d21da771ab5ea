/* The parts of a workbook that place the charts of a dashboard on its sheet:
 *
 *     xl/worksheets/_rels/sheet1.xml.rels   sheet -> drawing
 *     xl/drawings/drawing1.xml              the cells that each chart covers
 *     xl/drawings/_rels/drawing1.xml.rels   drawing -> charts
 *     xl/charts/chart1.xml, ...             chart.c
 *
 * Charts without series are left out, and without charts there are no parts. */
#include "output/xlsx/xlsx.h"

#define XML_HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
#define OFFICE   "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
#define PACKAGE  "http://schemas.openxmlformats.org/package/2006/"
#define DRAWING  "http://schemas.openxmlformats.org/drawingml/2006/"
#define TYPE     "application/vnd.openxmlformats-officedocument."

size_t gt_xlsx_chart_count(const gt_dashboard *dashboard)
{
    size_t count = 0;
    for (size_t i = 0; dashboard && i < dashboard->chart_count; i++)
        count += dashboard->charts[i].series_count > 0;
    return count;
}

static void add_numbered(gt_zip *zip, const char *format, size_t number)
{
    char text[512];
    snprintf(text, sizeof text, format, number, number);
    gt_zip_add(zip, text);
}

void gt_xlsx_add_drawing_types(gt_zip *zip, const gt_dashboard *dashboard)
{
    size_t charts = gt_xlsx_chart_count(dashboard);
    if (!charts) return;
    gt_zip_add(zip, "<Override PartName=\"/xl/drawings/drawing1.xml\" ContentType=\"" TYPE "drawing+xml\"/>");
    for (size_t i = 1; i <= charts; i++)
        add_numbered(zip,
                     "<Override PartName=\"/xl/charts/chart%zu.xml\" ContentType=\"" TYPE
                     "drawingml.chart+xml\"/>",
                     i);
}

/* ---- the drawing ---- */

static void add_corner(gt_zip *zip, const char *corner, size_t column, size_t row)
{
    char text[256];
    snprintf(text, sizeof text,
             "<xdr:%s><xdr:col>%zu</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>%zu</xdr:row><xdr:rowOff>0"
             "</xdr:rowOff></xdr:%s>",
             corner, column, row, corner);
    gt_zip_add(zip, text);
}

static void add_attribute(gt_zip *zip, const char *name, const char *value)
{
    gt_buffer scratch = {0};
    bool cut = false;
    gt_zip_add(zip, " ");
    gt_zip_add(zip, name);
    gt_zip_add(zip, "=\"");
    gt_xlsx_write_escaped(zip, gt_xlsx_acceptable((gt_str){value, strlen(value)}, &scratch, &cut));
    gt_zip_add(zip, "\"");
    gt_buffer_free(&scratch);
}

/* Moves with its cells, but keeps its size if rows or columns are resized. Id 1 is the drawing itself. */
static void add_anchor(gt_zip *zip, const gt_chart *chart, size_t number)
{
    gt_zip_add(zip, "<xdr:twoCellAnchor editAs=\"oneCell\">");
    add_corner(zip, "from", chart->column, chart->row);
    add_corner(zip, "to", chart->column + chart->columns, chart->row + chart->rows);
    add_numbered(zip, "<xdr:graphicFrame macro=\"\"><xdr:nvGraphicFramePr><xdr:cNvPr id=\"%zu\"", number + 1);
    add_attribute(zip, "name", chart->title);
    add_attribute(zip, "descr", chart->description);
    gt_zip_add(zip,
               "/><xdr:cNvGraphicFramePr/></xdr:nvGraphicFramePr><xdr:xfrm><a:off x=\"0\" y=\"0\"/><a:ext "
               "cx=\"0\" cy=\"0\"/></xdr:xfrm><a:graphic><a:graphicData uri=\"" DRAWING
               "chart\"><c:chart xmlns:c=\"" DRAWING "chart\" xmlns:r=\"" OFFICE "\" ");
    add_numbered(zip,
                 "r:id=\"rId%zu\"/></a:graphicData></a:graphic></xdr:graphicFrame><xdr:clientData/>"
                 "</xdr:twoCellAnchor>",
                 number);
}

static void write_drawing(gt_zip *zip, const gt_dashboard *dashboard)
{
    gt_zip_begin_part(zip, "xl/drawings/drawing1.xml", false);
    gt_zip_add(zip,
               XML_HEAD "<xdr:wsDr xmlns:xdr=\"" DRAWING "spreadsheetDrawing\" xmlns:a=\"" DRAWING "main\">");
    size_t number = 0;
    for (size_t i = 0; i < dashboard->chart_count; i++)
        if (dashboard->charts[i].series_count) add_anchor(zip, &dashboard->charts[i], ++number);
    gt_zip_add(zip, "</xdr:wsDr>");
}

/* ---- all parts ---- */

static void begin_relations(gt_zip *zip, const char *part)
{
    gt_zip_begin_part(zip, part, false);
    gt_zip_add(zip, XML_HEAD "<Relationships xmlns=\"" PACKAGE "relationships\">");
}

void gt_xlsx_write_drawings(gt_zip *zip, const gt_xlsx_book *book)
{
    const gt_dashboard *dashboard = book->dashboard;
    size_t charts = gt_xlsx_chart_count(dashboard), number = 0;
    char part[64];
    if (!charts) return;
    snprintf(part, sizeof part, "xl/worksheets/_rels/sheet%zu.xml.rels", book->dashboard_sheet + 1);
    begin_relations(zip, part);
    gt_zip_add(zip, "<Relationship Id=\"rId1\" Type=\"" OFFICE
                    "/drawing\" Target=\"../drawings/drawing1.xml\"/></Relationships>");
    write_drawing(zip, dashboard);
    begin_relations(zip, "xl/drawings/_rels/drawing1.xml.rels");
    for (size_t i = 1; i <= charts; i++)
        add_numbered(
            zip, "<Relationship Id=\"rId%zu\" Type=\"" OFFICE "/chart\" Target=\"../charts/chart%zu.xml\"/>",
            i);
    gt_zip_add(zip, "</Relationships>");
    for (size_t i = 0; i < dashboard->chart_count; i++) {
        if (!dashboard->charts[i].series_count) continue;
        snprintf(part, sizeof part, "xl/charts/chart%zu.xml", ++number);
        gt_zip_begin_part(zip, part, false);
        gt_xlsx_write_chart(zip, book, &dashboard->charts[i]);
    }
}
