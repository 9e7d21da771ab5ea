/* A sheet to be read: a bold header that stays in sight and filters, columns as wide as what they hold,
 * numbers in formats that suit them and with all their digits. Texts are texts: none becomes a formula or a
 * link. */
#include "output/xlsx/sheet.h"

#include "base/length.h"
#include "base/memory.h"
#include "base/number.h"
#include "compat/python_repr.h"
#include "output/xlsx/look.h"
#include "output/xlsx/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_HEIGHT = 15 };
enum { READABLE_WIDTH = 240 }; /* characters on a page; about a third of the size on screen */

const gt_number_format gt_number_formats[] = {
    {"0", 1}, {"0.00", 2}, {"#,##0", 3}, {"#,##0.00", 4}, {"0.000", 164}, {"#,##0.000", 165},
};
const size_t gt_number_format_count = GT_LENGTH(gt_number_formats);

/* A column's cells begin alike: `<c r="AB` and, behind the row's number, `" s="5"><v>` or what else fits. */
typedef struct cell_texts {
    char before[16], number[16];
    size_t before_len, number_len;
    double width;
    int style;
} cell_texts;

typedef struct sheet {
    gt_zip *zip;
    const gt_table *table;
    cell_texts *texts;
    gt_xlsx_fit fit;
    gt_buffer acceptable, literal;
    char row_name[GT_NUMBER_MAX];
    size_t row_name_len;
} sheet;

/* ---- names ---- */

static size_t print_letters(char *out, size_t column)
{
    char reversed[8];
    size_t len = 0;
    for (size_t left = column + 1; left > 0; left = (left - 1) / 26)
        reversed[len++] = (char)('A' + (left - 1) % 26);
    for (size_t i = 0; i < len; i++) out[i] = reversed[len - 1 - i];
    return len;
}

size_t gt_xlsx_cell_name(char *out, size_t row, size_t column, bool dollars)
{
    size_t len = 0;
    if (dollars) out[len++] = '$';
    len += print_letters(out + len, column);
    if (dollars) out[len++] = '$';
    return len + gt_print_int(out + len, (int64_t)row + 1);
}

static int style_of(const char *number_format)
{
    for (size_t i = 0; number_format && i < gt_number_format_count; i++)
        if (!strcmp(gt_number_formats[i].code, number_format)) return GT_STYLE_NUMBERS + (int)i;
    return GT_STYLE_NONE;
}

static bool holds_texts(const gt_column *column)
{
    return column->type == GT_TYPE_STRING || column->type == GT_TYPE_LIST;
}

static void find_looks(sheet *of)
{
    of->texts = gt_alloc_zero(of->fit.columns, sizeof *of->texts);
    for (size_t c = 0; c < of->fit.columns; c++) {
        cell_texts *texts = &of->texts[c];
        gt_xlsx_look look = gt_xlsx_look_of(of->table, c, of->fit.rows);
        texts->width = look.width;
        texts->style = style_of(look.number_format);
        memcpy(texts->before, "<c r=\"", 6);
        texts->before_len = 6 + print_letters(texts->before + 6, c);
        texts->number_len = (size_t)(texts->style ? snprintf(texts->number, sizeof texts->number,
                                                             "\" s=\"%d\"><v>", texts->style)
                                                  : snprintf(texts->number, sizeof texts->number, "\"><v>"));
        of->fit.width += look.width;
    }
    of->fit.fits_on_page = of->fit.width <= READABLE_WIDTH;
}

/* ---- cells ---- */

/* `<c r="AB12`; returns the end. */
static char *put_name(const sheet *of, char *to, size_t column)
{
    const cell_texts *texts = &of->texts[column];
    memcpy(to, texts->before, texts->before_len);
    to += texts->before_len;
    memcpy(to, of->row_name, of->row_name_len);
    return to + of->row_name_len;
}

static char *put_text(char *to, const char *text)
{
    size_t len = strlen(text);
    memcpy(to, text, len);
    return to + len;
}

enum { CELL_MAX = 128 }; /* room for a cell's tags, its name and a number */

static void write_text(sheet *of, size_t column, gt_str text, int style)
{
    bool cut = false;
    text = gt_xlsx_acceptable(text, &of->acceptable, &cut);
    of->fit.cut_cells += cut;
    char *start = gt_zip_room(of->zip, CELL_MAX), *to = put_name(of, start, column);
    if (style) {
        to = put_text(to, "\" s=\"");
        to += gt_print_int(to, style);
    }
    to = put_text(to, "\" t=\"inlineStr\">");
    of->zip->used += (size_t)(to - start);
    gt_xlsx_write_inline(of->zip, text);
    gt_zip_add(of->zip, "</c>");
}

static void write_int(sheet *of, size_t column, int64_t value)
{
    char *start = gt_zip_room(of->zip, CELL_MAX), *to = put_name(of, start, column);
    memcpy(to, of->texts[column].number, of->texts[column].number_len);
    to += of->texts[column].number_len;
    to += gt_print_int(to, value);
    to = put_text(to, "</v></c>");
    of->zip->used += (size_t)(to - start);
}

static void write_float(sheet *of, size_t column, double value)
{
    if (!isfinite(value)) {
        write_text(of, column, value > 0 ? (gt_str){"inf", 3} : (gt_str){"-inf", 4}, GT_STYLE_NONE);
        return;
    }
    char *start = gt_zip_room(of->zip, CELL_MAX), *to = put_name(of, start, column);
    memcpy(to, of->texts[column].number, of->texts[column].number_len);
    to += of->texts[column].number_len;
    to += gt_print_double(to, value);
    if (to[-1] == '0' && to[-2] == '.') to -= 2; /* whole numbers as people and other programs write them */
    to = put_text(to, "</v></c>");
    of->zip->used += (size_t)(to - start);
}

static void write_bool(sheet *of, size_t column, bool value)
{
    char *start = gt_zip_room(of->zip, CELL_MAX), *to = put_name(of, start, column);
    to = put_text(to, value ? "\" t=\"b\"><v>1</v></c>" : "\" t=\"b\"><v>0</v></c>");
    of->zip->used += (size_t)(to - start);
}

static void write_cell(sheet *of, size_t row, size_t c)
{
    const gt_column *column = &of->table->columns[c];
    int text_style = c > 0 ? GT_STYLE_TEXT : GT_STYLE_NONE;
    if (gt_column_is_null(column, row)) return;
    switch (column->type) {
    case GT_TYPE_INT:
        write_int(of, c, column->ints[row]);
        return;
    case GT_TYPE_FLOAT:
        write_float(of, c, column->floats[row]);
        return;
    case GT_TYPE_BOOL:
        write_bool(of, c, column->bools[row]);
        return;
    case GT_TYPE_STRING:
        write_text(of, c, gt_interner_get(of->table->strings, column->texts[row]), text_style);
        return;
    case GT_TYPE_LIST:
        of->literal.len = 0;
        gt_literal_add(&of->literal, column, row, of->table->strings);
        write_text(of, c, gt_buffer_str(&of->literal), text_style);
        return;
    }
}

/* ---- rows ---- */

static void begin_row(sheet *of, size_t row, const char *attributes)
{
    of->row_name_len = gt_print_int(of->row_name, (int64_t)row + 1);
    gt_zip_add(of->zip, "<row r=\"");
    gt_zip_write(of->zip, of->row_name, of->row_name_len);
    gt_zip_add(of->zip, attributes);
}

static void write_names(sheet *of)
{
    size_t lines = 1;
    for (size_t c = 0; c < of->fit.columns; c++) {
        size_t needed = gt_xlsx_header_lines(of->table->columns[c].name, of->texts[c].width);
        if (needed > lines) lines = needed;
    }
    char attributes[64];
    snprintf(attributes, sizeof attributes, "\" ht=\"%zu\" customHeight=\"1\">", LINE_HEIGHT * lines);
    begin_row(of, 0, attributes);
    for (size_t c = 0; c < of->fit.columns; c++) {
        const gt_column *column = &of->table->columns[c];
        if (!*column->name) continue; /* as pandas writes it: a cell without anything */
        write_text(of, c, (gt_str){column->name, strlen(column->name)},
                   holds_texts(column) && c > 0 ? GT_STYLE_TEXT_HEADER : GT_STYLE_NUMBER_HEADER);
    }
    gt_zip_add(of->zip, "</row>");
}

/* ---- headings in three rows: what columns have in common, what they are, and names of columns without these
 * ---- */

static bool has_headings(const gt_table *table)
{
    for (size_t c = 0; c < table->column_count; c++)
        if (table->columns[c].over) return true;
    return false;
}

/* Whether a column stands under the heading of the one before it. */
static bool continues(const sheet *of, size_t c)
{
    const gt_column *columns = of->table->columns;
    return c > 0 && columns[c].over && columns[c - 1].over &&
           strcmp(columns[c].over, columns[c - 1].over) == 0;
}

static const char *heading(const sheet *of, size_t row, size_t c)
{
    const gt_column *column = &of->table->columns[c];
    if (row == 0) return continues(of, c) ? NULL : column->over;
    return row == 1 ? column->under : column->over ? NULL : column->name;
}

/* A heading that is a number is written as one. */
static void write_heading(sheet *of, size_t c, const char *text)
{
    bool is_number = *text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 16;
    if (!is_number) {
        write_text(of, c, (gt_str){text, strlen(text)}, GT_STYLE_NUMBER_HEADER);
        return;
    }
    char *start = gt_zip_room(of->zip, CELL_MAX), *to = put_name(of, start, c);
    to = put_text(to, "\" s=\"");
    to += gt_print_int(to, GT_STYLE_NUMBER_HEADER);
    to = put_text(to, "\"><v>");
    to = put_text(to, text);
    to = put_text(to, "</v></c>");
    of->zip->used += (size_t)(to - start);
}

static void write_headings(sheet *of)
{
    for (size_t row = 0; row < of->fit.header_rows; row++) {
        begin_row(of, row, "\">");
        for (size_t c = 0; c < of->fit.columns; c++) {
            const char *text = heading(of, row, c);
            if (text) write_heading(of, c, text);
        }
        gt_zip_add(of->zip, "</row>");
    }
}

static void write_merge(sheet *of, size_t row, size_t column, size_t last_row, size_t last_column)
{
    char name[GT_CELL_NAME_MAX];
    gt_zip_add(of->zip, "<mergeCell ref=\"");
    gt_zip_write(of->zip, name, gt_xlsx_cell_name(name, row, column, false));
    gt_zip_add(of->zip, ":");
    gt_zip_write(of->zip, name, gt_xlsx_cell_name(name, last_row, last_column, false));
    gt_zip_add(of->zip, "\"/>");
}

/* How many rows from this one on have the same text in the first column. */
static size_t run_of_equals(const sheet *of, size_t row)
{
    const gt_column *first = &of->table->columns[0];
    size_t next = row + 1;
    if (first->type != GT_TYPE_STRING) return 1;
    while (next < of->fit.rows && first->texts[next] == first->texts[row]) next++;
    return next - row;
}

/* Returns whether it has written any. */
static bool write_merges(sheet *of)
{
    bool any = false;
    for (size_t c = 0, next; c < of->fit.columns; c = next) {
        for (next = c + 1; next < of->fit.columns && continues(of, next);) next++;
        if (next == c + 1) continue;
        if (!any) gt_zip_add(of->zip, "<mergeCells>");
        any = true;
        write_merge(of, 0, c, 0, next - 1);
    }
    for (size_t row = 0, run; row < of->fit.rows; row += run) {
        run = run_of_equals(of, row);
        if (run == 1) continue;
        if (!any) gt_zip_add(of->zip, "<mergeCells>");
        any = true;
        write_merge(of, of->fit.header_rows + row, 0, of->fit.header_rows + row + run - 1, 0);
    }
    return any;
}

static void write_rows(sheet *of)
{
    gt_zip_add(of->zip, "<sheetData>");
    if (of->fit.header_rows > 1)
        write_headings(of);
    else
        write_names(of);
    for (size_t row = 0; row < of->fit.rows; row++) {
        begin_row(of, of->fit.header_rows + row, "\">");
        for (size_t c = 0; c < of->fit.columns; c++) write_cell(of, row, c);
        gt_zip_add(of->zip, "</row>");
    }
    gt_zip_add(of->zip, "</sheetData>");
}

/* ---- around them ---- */

static void write_columns(sheet *of)
{
    gt_zip_add(of->zip, "<cols>");
    for (size_t c = 0; c < of->fit.columns; c++) {
        char column[128];
        double width = of->texts[c].width + 5.0 / 7.0; /* 5 pixels of padding beside letters of 7 */
        snprintf(column, sizeof column, "<col min=\"%zu\" max=\"%zu\" width=\"%.7g\"%s customWidth=\"1\"/>",
                 c + 1, c + 1, width, of->table->columns[c].hidden ? " hidden=\"1\"" : "");
        gt_zip_add(of->zip, column);
    }
    gt_zip_add(of->zip, "</cols>");
}

static void write_range(sheet *of)
{
    char last[GT_CELL_NAME_MAX];
    gt_zip_add(of->zip, "\"A1:");
    gt_zip_write(of->zip, last,
                 gt_xlsx_cell_name(last, of->fit.header_rows + of->fit.rows - 1, of->fit.columns - 1, false));
    gt_zip_add(of->zip, "\"/>");
}

/* On paper: the header on each page, and one page wide as long as that can be read. */
static void write_page(sheet *of)
{
    gt_zip_add(of->zip, "<pageMargins left=\"0.7\" right=\"0.7\" top=\"0.75\" bottom=\"0.75\" header=\"0.3\" "
                        "footer=\"0.3\"/>");
    gt_zip_add(of->zip, of->fit.fits_on_page ? "<pageSetup orientation=\"landscape\" fitToHeight=\"0\"/>"
                                             : "<pageSetup scale=\"60\" orientation=\"landscape\"/>");
}

static void write_table(sheet *of)
{
    find_looks(of);
    if (of->fit.fits_on_page) gt_zip_add(of->zip, "<sheetPr><pageSetUpPr fitToPage=\"1\"/></sheetPr>");
    gt_zip_add(of->zip, "<dimension ref=");
    write_range(of);
    char pane[128];
    snprintf(pane, sizeof pane, "<pane ySplit=\"%zu\" topLeftCell=\"A%zu\" ", of->fit.header_rows,
             of->fit.header_rows + 1);
    gt_zip_add(of->zip, "<sheetViews><sheetView workbookViewId=\"0\">");
    gt_zip_add(of->zip, pane);
    gt_zip_add(of->zip,
               "activePane=\"bottomLeft\" state=\"frozen\"/><selection pane=\"bottomLeft\"/></sheetView>"
               "</sheetViews><sheetFormatPr defaultRowHeight=\"15\"/>");
    write_columns(of);
    write_rows(of);
    if (of->fit.header_rows == 1) {
        gt_zip_add(of->zip, "<autoFilter ref=");
        write_range(of);
    } else if (write_merges(of)) {
        gt_zip_add(of->zip, "</mergeCells>");
    }
    write_page(of);
}

gt_xlsx_fit gt_xlsx_write_sheet(gt_zip *zip, const gt_table *table)
{
    sheet of = {.zip = zip, .table = table};
    of.fit.header_rows = has_headings(table) ? 3 : 1;
    size_t room = GT_EXCEL_ROWS - of.fit.header_rows;
    of.fit.rows = table->row_count < room ? table->row_count : room;
    of.fit.columns = table->column_count < GT_EXCEL_COLUMNS ? table->column_count : GT_EXCEL_COLUMNS;
    of.fit.left_out_rows = table->row_count - of.fit.rows;
    of.fit.left_out_columns = table->column_count - of.fit.columns;
    gt_zip_add(zip, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<worksheet "
                    "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\">");
    if (of.fit.columns > 0) {
        write_table(&of);
    } else {
        gt_zip_add(zip, "<sheetData/>");
    }
    gt_zip_add(zip, "</worksheet>");
    gt_free(of.texts);
    gt_buffer_free(&of.acceptable);
    gt_buffer_free(&of.literal);
    return of.fit;
}
