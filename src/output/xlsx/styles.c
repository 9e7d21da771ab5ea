/* The styles of cells: header, text and number formats, which every workbook has, and the looks of a
 * dashboard. A style refers to a font, a fill and a border by number. */
#include "output/xlsx/xlsx.h"

#define XML_HEAD    "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
#define SPREADSHEET "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

static void add_numbered(gt_zip *zip, const char *format, size_t number)
{
    char text[256];
    snprintf(text, sizeof text, format, number);
    gt_zip_add(zip, text);
}

/* ---- looks ---- */

/* The colours of judgements and of small text are those of the page in its light theme (style.css). */
enum {
    USUAL_FONT,
    BOLD_FONT,
    LARGE_FONT,
    GOOD_FONT,
    CARE_FONT,
    BAD_FONT,
    SMALL_FONT,
    FIGURE_FONT,
    HEADING_FONT
};
static const char *const look_fonts[] = {
    "<font><b/><sz val=\"14\"/><name val=\"Calibri\"/><family val=\"2\"/></font>",
    "<font><b/><sz val=\"11\"/><color rgb=\"FF176B35\"/><name val=\"Calibri\"/><family val=\"2\"/></font>",
    "<font><b/><sz val=\"11\"/><color rgb=\"FF815000\"/><name val=\"Calibri\"/><family val=\"2\"/></font>",
    "<font><b/><sz val=\"11\"/><color rgb=\"FFAD2419\"/><name val=\"Calibri\"/><family val=\"2\"/></font>",
    "<font><sz val=\"9\"/><color rgb=\"FF5A616C\"/><name val=\"Calibri\"/><family val=\"2\"/></font>",
    "<font><b/><sz val=\"16\"/><name val=\"Calibri\"/><family val=\"2\"/></font>",
    "<font><b/><sz val=\"12\"/><name val=\"Calibri\"/><family val=\"2\"/></font>",
};

enum { NO_FILL, GOOD_FILL = 2, CARE_FILL, BAD_FILL };
static const char *const look_fills[] = {"FFE4F3E7", "FFFBF0D8", "FFFBE6E3"};

enum { NO_LINE, LINE_BELOW };

static const struct {
    int font, fill, border, number_format;
    const char *alignment;
} looks[GT_LOOKS] = {
    [GT_LOOK_HEADER] = {BOLD_FONT, NO_FILL, LINE_BELOW, 0, "vertical=\"top\""},
    [GT_LOOK_HEADLINE] = {LARGE_FONT, NO_FILL, NO_LINE, 0, "vertical=\"center\" wrapText=\"1\""},
    [GT_LOOK_GOOD] = {GOOD_FONT, GOOD_FILL, NO_LINE, 0, "horizontal=\"center\""},
    [GT_LOOK_CARE] = {CARE_FONT, CARE_FILL, NO_LINE, 0, "horizontal=\"center\""},
    [GT_LOOK_BAD] = {BAD_FONT, BAD_FILL, NO_LINE, 0, "horizontal=\"center\""},
    [GT_LOOK_REASON] = {SMALL_FONT, NO_FILL, NO_LINE, 0,
                        "horizontal=\"left\" vertical=\"center\" indent=\"1\""},
    [GT_LOOK_LABEL] = {SMALL_FONT, NO_FILL, NO_LINE, 0, "vertical=\"bottom\" shrinkToFit=\"1\""},
    [GT_LOOK_FIGURE] = {FIGURE_FONT, NO_FILL, NO_LINE, 0, "horizontal=\"left\" vertical=\"top\""},
    [GT_LOOK_HEADING] = {HEADING_FONT, NO_FILL, LINE_BELOW, 0, "vertical=\"bottom\""},
    [GT_LOOK_HEADING_RIGHT] = {SMALL_FONT, NO_FILL, LINE_BELOW, 0,
                               "horizontal=\"right\" vertical=\"bottom\""},
    [GT_LOOK_TITLE] = {BOLD_FONT, NO_FILL, NO_LINE, 0, "vertical=\"top\" wrapText=\"1\""},
    [GT_LOOK_RANK] = {BOLD_FONT, NO_FILL, NO_LINE, 1, "horizontal=\"center\" vertical=\"top\""},
    [GT_LOOK_GAIN] = {BOLD_FONT, NO_FILL, NO_LINE, 0, "horizontal=\"right\" vertical=\"top\""},
    [GT_LOOK_TEXT] = {USUAL_FONT, NO_FILL, NO_LINE, 0, "vertical=\"top\" wrapText=\"1\""},
    [GT_LOOK_NOTE] = {SMALL_FONT, NO_FILL, NO_LINE, 0, "vertical=\"center\""},
    [GT_LOOK_NAME] = {USUAL_FONT, NO_FILL, NO_LINE, 0, "horizontal=\"left\""},
    [GT_LOOK_NUMBER] = {USUAL_FONT, NO_FILL, NO_LINE, 165, "horizontal=\"right\""},
};

int gt_xlsx_look_style(gt_look look)
{
    return GT_STYLE_NUMBERS + (int)gt_number_format_count + (int)look;
}

static void add_looks(gt_zip *zip)
{
    for (size_t i = 0; i < GT_LOOKS; i++) {
        char style[256];
        snprintf(style, sizeof style,
                 "<xf numFmtId=\"%d\" fontId=\"%d\" fillId=\"%d\" borderId=\"%d\" xfId=\"0\" "
                 "applyNumberFormat=\"1\" applyFont=\"1\" applyFill=\"1\" applyBorder=\"1\" "
                 "applyAlignment=\"1\"><alignment %s/></xf>",
                 looks[i].number_format, looks[i].font, looks[i].fill, looks[i].border, looks[i].alignment);
        gt_zip_add(zip, style);
    }
}

/* ---- the part ---- */

static void add_fonts(gt_zip *zip, bool with_looks)
{
    size_t more = with_looks ? GT_LENGTH(look_fonts) : 0;
    add_numbered(zip, "<fonts count=\"%zu\">", 2 + more);
    gt_zip_add(zip, "<font><sz val=\"11\"/><name val=\"Calibri\"/><family val=\"2\"/></font><font><b/><sz "
                    "val=\"11\"/><name val=\"Calibri\"/><family val=\"2\"/></font>");
    for (size_t i = 0; i < more; i++) gt_zip_add(zip, look_fonts[i]);
    gt_zip_add(zip, "</fonts>");
}

/* The first two are fixed. */
static void add_fills(gt_zip *zip, bool with_looks)
{
    size_t more = with_looks ? GT_LENGTH(look_fills) : 0;
    add_numbered(zip, "<fills count=\"%zu\">", 2 + more);
    gt_zip_add(zip, "<fill><patternFill patternType=\"none\"/></fill><fill><patternFill "
                    "patternType=\"gray125\"/></fill>");
    for (size_t i = 0; i < more; i++) {
        gt_zip_add(zip, "<fill><patternFill patternType=\"solid\"><fgColor rgb=\"");
        gt_zip_add(zip, look_fills[i]);
        gt_zip_add(zip, "\"/></patternFill></fill>");
    }
    gt_zip_add(zip, "</fills>");
}

void gt_xlsx_write_styles(gt_zip *zip, bool with_looks)
{
    gt_zip_begin_part(zip, "xl/styles.xml", false);
    gt_zip_add(zip, XML_HEAD "<styleSheet xmlns=\"" SPREADSHEET "\"><numFmts count=\"2\">");
    for (size_t i = 0; i < gt_number_format_count; i++) {
        char format[128];
        snprintf(format, sizeof format, "<numFmt numFmtId=\"%d\" formatCode=\"%s\"/>",
                 gt_number_formats[i].id, gt_number_formats[i].code);
        if (gt_number_formats[i].id >= 164) gt_zip_add(zip, format);
    }
    gt_zip_add(zip, "</numFmts>");
    add_fonts(zip, with_looks);
    add_fills(zip, with_looks);
    gt_zip_add(zip,
               "<borders "
               "count=\"2\"><border><left/><right/><top/><bottom/><diagonal/></border><border><left/><right/>"
               "<top/><bottom style=\"thin\"><color auto=\"1\"/></bottom><diagonal/></border></borders>"
               "<cellStyleXfs count=\"1\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" "
               "borderId=\"0\"/></cellStyleXfs>");
    add_numbered(zip, "<cellXfs count=\"%zu\">",
                 GT_STYLE_NUMBERS + gt_number_format_count + (with_looks ? GT_LOOKS : 0));
    gt_zip_add(zip,
               "<xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\"/>"
               "<xf numFmtId=\"0\" fontId=\"1\" fillId=\"0\" borderId=\"1\" xfId=\"0\" applyFont=\"1\" "
               "applyBorder=\"1\" "
               "applyAlignment=\"1\"><alignment vertical=\"top\" wrapText=\"1\"/></xf>"
               "<xf numFmtId=\"0\" fontId=\"1\" fillId=\"0\" borderId=\"1\" xfId=\"0\" applyFont=\"1\" "
               "applyBorder=\"1\" "
               "applyAlignment=\"1\"><alignment horizontal=\"left\" vertical=\"top\" wrapText=\"1\" "
               "indent=\"1\"/></xf>"
               "<xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyAlignment=\"1\">"
               "<alignment horizontal=\"left\" indent=\"1\"/></xf>");
    for (size_t i = 0; i < gt_number_format_count; i++)
        add_numbered(zip,
                     "<xf numFmtId=\"%zu\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" "
                     "applyNumberFormat=\"1\"/>",
                     (size_t)gt_number_formats[i].id);
    if (with_looks) add_looks(zip);
    gt_zip_add(zip, "</cellXfs><cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" "
                    "builtinId=\"0\"/></cellStyles>"
                    "</styleSheet>");
}
