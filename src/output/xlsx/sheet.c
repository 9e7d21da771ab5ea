/* One sheet: a bold, frozen header with filters, columns as wide as their contents, numbers with all their
 * digits in suitable formats. Text is always written as text: it never becomes a formula or a link.
 *
 * A sheet with a dashboard (output/dashboard.h) is one piece: cells of the dashboard follow those of the
 * table in the same rows, and then in rows below the table. */
#include "output/xlsx/xlsx.h"

#include "base/team.h"
#include "compat/python_repr.h"

#include <stdatomic.h>

enum { LINE_HEIGHT = 15 };
enum { PIECE_CELLS = 16384 };  /* some hundred microseconds of work */
enum { PART_ROWS = 256 };      /* of a table that is read in parts */
enum { READABLE_WIDTH = 240 }; /* characters on a printed page, at about a third of the size on screen */

const gt_number_format gt_number_formats[] = {
    {"0", 1}, {"0.00", 2}, {"#,##0", 3}, {"#,##0.00", 4}, {"0.000", 164}, {"#,##0.000", 165},
};
const size_t gt_number_format_count = GT_LENGTH(gt_number_formats);

/* What all cells of a column start with: `<c r="AB` and, after the row number, `" s="5"><v>` or similar. */
typedef struct cell_prefix {
    char before[16], number[16];
    size_t before_len, number_len;
    double width;
    int style;
} cell_prefix;

struct gt_xlsx_sheet {
    const gt_table *table;
    const gt_dashboard *dashboard;   /* NULL: none */
    const gt_dash_cell **dash_cells; /* by row, then by column */
    gt_sheet_style style;
    cell_prefix *prefixes;
    gt_xlsx_fit fit;
    size_t rows_per_piece;
    atomic_size_t cut_cells;
};

/* A piece that is being written. */
typedef struct sheet {
    gt_zip *zip;
    const gt_table *table;
    const gt_table *cells; /* where the cells of the rows that are being written are, from row `first` on */
    size_t first;
    const gt_dashboard *dashboard;
    const gt_dash_cell *const *dash_cells;
    size_t dash_done; /* of dash_cells, those written */
    gt_sheet_style style;
    const cell_prefix *prefixes;
    gt_xlsx_fit fit; /* cut_cells: only those of the piece */
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

static bool is_text_column(const gt_table *table, const gt_column *column)
{
    gt_type type;
    bool uniform = gt_column_value_type(column, table->row_count, &type);
    return !uniform || type == GT_TYPE_STRING || type == GT_TYPE_LIST;
}

static void find_format(gt_xlsx_sheet *s, size_t c)
{
    cell_prefix *prefix = &s->prefixes[c];
    gt_xlsx_format format = gt_xlsx_column_format(s->table, c, s->fit.rows);
    prefix->width = format.width;
    prefix->style = style_of(format.number_format);
    memcpy(prefix->before, "<c r=\"", 6);
    prefix->before_len = 6 + print_letters(prefix->before + 6, c);
    prefix->number_len = (size_t)(prefix->style ? snprintf(prefix->number, sizeof prefix->number,
                                                           "\" s=\"%d\"><v>", prefix->style)
                                                : snprintf(prefix->number, sizeof prefix->number, "\"><v>"));
}

/* Looks at all cells of the sheet. */
static void find_formats(gt_xlsx_sheet *s)
{
    s->prefixes = gt_alloc_zero(s->fit.columns, sizeof *s->prefixes);
    for (size_t c = 0; c < s->fit.columns; c++) {
        find_format(s, c);
        s->fit.width += s->prefixes[c].width;
    }
    s->fit.fits_on_page = s->fit.width <= READABLE_WIDTH;
}

/* ---- cells ---- */

/* Puts `<c r="AB12`; returns the end. */
static char *put_name(const sheet *s, char *to, size_t column)
{
    const cell_prefix *prefix = &s->prefixes[column];
    memcpy(to, prefix->before, prefix->before_len);
    to += prefix->before_len;
    memcpy(to, s->row_name, s->row_name_len);
    return to + s->row_name_len;
}

static char *put_text(char *to, const char *text)
{
    size_t len = strlen(text);
    memcpy(to, text, len);
    return to + len;
}

enum { CELL_MAX = 128 }; /* bytes for the tags of a cell, its name and a number */

static void write_text(sheet *s, size_t column, gt_str text, int style)
{
    bool cut = false;
    text = gt_xlsx_acceptable(text, &s->acceptable, &cut);
    s->fit.cut_cells += cut;
    char *start = gt_zip_room(s->zip, CELL_MAX), *to = put_name(s, start, column);
    if (style) {
        to = put_text(to, "\" s=\"");
        to += gt_print_int(to, style);
    }
    to = put_text(to, "\" t=\"inlineStr\">");
    s->zip->used += (size_t)(to - start);
    gt_xlsx_write_inline(s->zip, text);
    gt_zip_add(s->zip, "</c>");
}

static void write_int(sheet *s, size_t column, int64_t value)
{
    char *start = gt_zip_room(s->zip, CELL_MAX), *to = put_name(s, start, column);
    memcpy(to, s->prefixes[column].number, s->prefixes[column].number_len);
    to += s->prefixes[column].number_len;
    to += gt_print_int(to, value);
    to = put_text(to, "</v></c>");
    s->zip->used += (size_t)(to - start);
}

/* Rows of a table with a dashboard are about different things, so each has its own format. Where a number has
 * more digits than its column shows, Excel's default shortens it. */
static int style_of_fact(double value)
{
    if (fabs(value) >= 1e9) return GT_STYLE_NONE;
    return style_of(value == floor(value) ? "#,##0" : "#,##0.000");
}

static void write_float(sheet *s, size_t column, double value)
{
    if (!isfinite(value)) {
        write_text(s, column, value > 0 ? (gt_str){"inf", 3} : (gt_str){"-inf", 4}, GT_STYLE_NONE);
        return;
    }
    char *start = gt_zip_room(s->zip, CELL_MAX), *to = put_name(s, start, column);
    if (s->dashboard) {
        to += snprintf(to, 32, "\" s=\"%d\"><v>", style_of_fact(value));
    } else {
        memcpy(to, s->prefixes[column].number, s->prefixes[column].number_len);
        to += s->prefixes[column].number_len;
    }
    to += gt_xlsx_print_double(to, value);
    to = put_text(to, "</v></c>");
    s->zip->used += (size_t)(to - start);
}

static void write_bool(sheet *s, size_t column, bool value)
{
    char *start = gt_zip_room(s->zip, CELL_MAX), *to = put_name(s, start, column);
    to = put_text(to, value ? "\" t=\"b\"><v>1</v></c>" : "\" t=\"b\"><v>0</v></c>");
    s->zip->used += (size_t)(to - start);
}

static void write_cell(sheet *s, size_t row, size_t c)
{
    const gt_column *column = &s->cells->columns[c];
    int text_style = c > 0 ? GT_STYLE_TEXT : GT_STYLE_NONE;
    if (gt_column_is_null(column, row)) return;
    gt_cell cell = gt_table_cell(s->cells, c, row);
    switch (cell.type) {
    case GT_TYPE_INT:
        write_int(s, c, cell.integer);
        return;
    case GT_TYPE_FLOAT:
        write_float(s, c, cell.number);
        return;
    case GT_TYPE_BOOL:
        write_bool(s, c, cell.integer != 0);
        return;
    case GT_TYPE_STRING:
        write_text(s, c, gt_interner_get(s->table->strings, column->texts[row]), text_style);
        return;
    case GT_TYPE_LIST:
        s->literal.len = 0;
        gt_python_add_cell(&s->literal, column, row, s->table->strings);
        write_text(s, c, gt_buffer_str(&s->literal), text_style);
        return;
    }
}

/* ---- cells of the dashboard ---- */

/* Those of the row that is being written. */
static void write_dash_row(sheet *s, size_t row)
{
    if (!s->dashboard) return;
    for (; s->dash_done < s->dashboard->cell_count && s->dash_cells[s->dash_done]->row == row; s->dash_done++)
        gt_xlsx_write_dash_cell(s->zip, s->dash_cells[s->dash_done], &s->acceptable);
}

/* ---- rows ---- */

static void begin_row(sheet *s, size_t row, const char *attributes)
{
    s->row_name_len = gt_print_int(s->row_name, (int64_t)row + 1);
    gt_zip_add(s->zip, "<row r=\"");
    gt_zip_write(s->zip, s->row_name, s->row_name_len);
    gt_zip_add(s->zip, attributes);
}

/* Text, or a number if it is one and is to be written as such. */
static void write_name(sheet *s, size_t c, const char *text, int style, bool as_number)
{
    if (!as_number || !*text || strspn(text, "0123456789") != strlen(text) || strlen(text) >= 16) {
        write_text(s, c, (gt_str){text, strlen(text)}, style);
        return;
    }
    char *start = gt_zip_room(s->zip, CELL_MAX), *to = put_name(s, start, c);
    to = put_text(to, "\" s=\"");
    to += gt_print_int(to, style);
    to = put_text(to, "\"><v>");
    to = put_text(to, text);
    to = put_text(to, "</v></c>");
    s->zip->used += (size_t)(to - start);
}

static void write_names(sheet *s)
{
    size_t lines = 1;
    for (size_t c = 0; c < s->fit.columns; c++) {
        size_t needed = gt_xlsx_header_lines(s->table->columns[c].name, s->prefixes[c].width);
        if (needed > lines) lines = needed;
    }
    char attributes[64];
    snprintf(attributes, sizeof attributes, "\" ht=\"%zu\" customHeight=\"1\">", LINE_HEIGHT * lines);
    begin_row(s, 0, attributes);
    for (size_t c = 0; c < s->fit.columns; c++) {
        const gt_column *column = &s->table->columns[c];
        if (!*column->name) continue; /* no cell, like pandas */
        write_name(s, c, column->name,
                   is_text_column(s->table, column) && c > 0 ? GT_STYLE_TEXT_HEADER : GT_STYLE_NUMBER_HEADER,
                   s->style.has_number_names);
    }
    write_dash_row(s, 0);
    gt_zip_add(s->zip, "</row>");
}

/* ---- headings in three rows: the common heading of several columns, their own headings, and the names of
 * columns without a heading ---- */

size_t gt_xlsx_header_rows(const gt_table *table)
{
    for (size_t c = 0; c < table->column_count; c++)
        if (table->columns[c].over) return 3;
    return 1;
}

/* Whether a column has the same heading as the one before it. */
static bool shares_heading(const sheet *s, size_t c)
{
    const gt_column *columns = s->table->columns;
    return c > 0 && columns[c].over && columns[c - 1].over &&
           strcmp(columns[c].over, columns[c - 1].over) == 0;
}

static const char *heading(const sheet *s, size_t row, size_t c)
{
    const gt_column *column = &s->table->columns[c];
    if (row == 0) return shares_heading(s, c) ? NULL : column->over;
    return row == 1 ? column->under : column->over ? NULL : column->name;
}

static void write_headings(sheet *s)
{
    for (size_t row = 0; row < s->fit.header_rows; row++) {
        begin_row(s, row, "\">");
        for (size_t c = 0; c < s->fit.columns; c++) {
            const char *text = heading(s, row, c);
            if (text) write_name(s, c, text, GT_STYLE_NUMBER_HEADER, true);
        }
        gt_zip_add(s->zip, "</row>");
    }
}

/* The number of rows, starting with this one, that have the same text in the first column. */
static size_t count_equal_rows(const sheet *s, size_t row)
{
    const gt_column *first = &s->table->columns[0];
    size_t next = row + 1;
    if (first->type != GT_TYPE_STRING) return 1;
    while (next < s->fit.rows && first->texts[next] == first->texts[row]) next++;
    return next - row;
}

/* Returns whether anything was written. */
static bool write_merges(sheet *s)
{
    bool any = false;
    for (size_t c = 0, next; c < s->fit.columns; c = next) {
        for (next = c + 1; next < s->fit.columns && shares_heading(s, next);) next++;
        if (next == c + 1) continue;
        if (!any) gt_zip_add(s->zip, "<mergeCells>");
        any = true;
        gt_xlsx_write_merge(s->zip, 0, c, 0, next - 1);
    }
    for (size_t row = 0, run; row < s->fit.rows; row += run) {
        run = count_equal_rows(s, row);
        if (run == 1) continue;
        if (!any) gt_zip_add(s->zip, "<mergeCells>");
        any = true;
        gt_xlsx_write_merge(s->zip, s->fit.header_rows + row, 0, s->fit.header_rows + row + run - 1, 0);
    }
    return any;
}

static void write_cells(sheet *s, size_t begin, size_t end)
{
    for (size_t row = begin; row < end; row++) {
        begin_row(s, s->fit.header_rows + row, "\">");
        for (size_t c = 0; c < s->fit.columns; c++) write_cell(s, row - s->first, c);
        write_dash_row(s, s->fit.header_rows + row);
        gt_zip_add(s->zip, "</row>");
    }
}

static void write_rows(sheet *s, size_t begin, size_t end)
{
    s->cells = s->table;
    if (!s->table->source) {
        write_cells(s, begin, end);
        return;
    }
    gt_table *part = gt_table_new_part(s->table, PART_ROWS);
    s->cells = part;
    for (s->first = begin; s->first < end; s->first += PART_ROWS) {
        size_t part_end = end - s->first < PART_ROWS ? end : s->first + PART_ROWS;
        gt_table_read_part(s->table, s->first, part_end, part);
        write_cells(s, s->first, part_end);
    }
    gt_table_free(part);
}

static void write_rows_below(sheet *s)
{
    while (s->dashboard && s->dash_done < s->dashboard->cell_count) {
        size_t row = s->dash_cells[s->dash_done]->row;
        begin_row(s, row, "\">");
        write_dash_row(s, row);
        gt_zip_add(s->zip, "</row>");
    }
}

/* ---- the rest of the sheet ---- */

static void write_columns(sheet *s)
{
    size_t widths = s->dashboard ? s->dashboard->width_count : 0;
    gt_zip_add(s->zip, "<cols>");
    for (size_t c = 0; c < s->fit.columns || c < widths; c++) {
        char column[128];
        bool is_hidden = c < s->fit.columns && s->table->columns[c].hidden;
        double width = c < widths ? s->dashboard->widths[c] : s->prefixes[c].width;
        width += 5.0 / 7.0; /* 5 pixels of padding, 7 pixels per character */
        snprintf(column, sizeof column, "<col min=\"%zu\" max=\"%zu\" width=\"%.7g\"%s customWidth=\"1\"/>",
                 c + 1, c + 1, width, is_hidden ? " hidden=\"1\"" : "");
        gt_zip_add(s->zip, column);
    }
    gt_zip_add(s->zip, "</cols>");
}

static void write_range(sheet *s)
{
    char last[GT_CELL_NAME_MAX];
    size_t rows = s->fit.header_rows + s->fit.rows, columns = s->fit.columns;
    if (s->dashboard) gt_xlsx_dash_extent(s->dashboard, &rows, &columns);
    gt_zip_add(s->zip, "\"A1:");
    gt_zip_write(s->zip, last, gt_xlsx_cell_name(last, rows - 1, columns - 1, false));
    gt_zip_add(s->zip, "\"/>");
}

/* Printing: the header on each page, and one page wide if that is readable. A dashboard is one page, because
 * a page that ends in a chart cuts it. */
static void write_page(sheet *s)
{
    const char *setup = s->dashboard          ? "<pageSetup orientation=\"landscape\"/>"
                        : s->fit.fits_on_page ? "<pageSetup orientation=\"landscape\" fitToHeight=\"0\"/>"
                                              : "<pageSetup scale=\"60\" orientation=\"landscape\"/>";
    gt_zip_add(s->zip, "<pageMargins left=\"0.7\" right=\"0.7\" top=\"0.75\" bottom=\"0.75\" header=\"0.3\" "
                       "footer=\"0.3\"/>");
    gt_zip_add(s->zip, setup);
}

static void write_head(sheet *s)
{
    if (s->fit.fits_on_page) gt_zip_add(s->zip, "<sheetPr><pageSetUpPr fitToPage=\"1\"/></sheetPr>");
    gt_zip_add(s->zip, "<dimension ref=");
    write_range(s);
    char pane[128];
    snprintf(pane, sizeof pane, "<pane ySplit=\"%zu\" topLeftCell=\"A%zu\" ", s->fit.header_rows,
             s->fit.header_rows + 1);
    gt_zip_add(s->zip, s->dashboard ? "<sheetViews><sheetView showGridLines=\"0\" workbookViewId=\"0\">"
                                    : "<sheetViews><sheetView workbookViewId=\"0\">");
    gt_zip_add(s->zip, pane);
    gt_zip_add(s->zip,
               "activePane=\"bottomLeft\" state=\"frozen\"/><selection pane=\"bottomLeft\"/></sheetView>"
               "</sheetViews><sheetFormatPr defaultRowHeight=\"15\"/>");
    write_columns(s);
    gt_zip_add(s->zip, "<sheetData>");
    if (s->fit.header_rows > 1)
        write_headings(s);
    else
        write_names(s);
}

static void write_tail(sheet *s)
{
    write_rows_below(s);
    gt_zip_add(s->zip, "</sheetData>");
    if (s->fit.has_filter) {
        gt_zip_add(s->zip, "<autoFilter ref=");
        write_range(s);
    } else if (s->dashboard             ? gt_xlsx_write_dash_merges(s->zip, s->dashboard)
               : s->fit.header_rows > 1 ? write_merges(s)
                                        : false) {
        gt_zip_add(s->zip, "</mergeCells>");
    }
    if (s->style.scale_prefix) gt_xlsx_write_scales(s->zip, s->table, &s->fit, s->style.scale_prefix);
    write_page(s);
    if (gt_xlsx_chart_count(s->dashboard)) gt_zip_add(s->zip, "<drawing r:id=\"rId1\"/>");
    if (s->fit.has_table)
        gt_zip_add(s->zip, "<tableParts count=\"1\"><tablePart r:id=\"rId1\"/></tableParts>");
}

gt_xlsx_sheet *gt_xlsx_sheet_new(const gt_table *table, const gt_dashboard *dashboard, gt_sheet_style style)
{
    gt_xlsx_sheet *s = gt_alloc_zero(1, sizeof *s);
    s->table = table;
    atomic_init(&s->cut_cells, 0);
    s->dashboard = table->column_count ? dashboard : NULL;
    s->fit.header_rows = gt_xlsx_header_rows(table);
    s->fit.has_filter = s->fit.header_rows == 1 && !s->dashboard;
    size_t room = GT_EXCEL_ROWS - s->fit.header_rows;
    s->fit.rows = table->row_count < room ? table->row_count : room;
    s->fit.columns = table->column_count < GT_EXCEL_COLUMNS ? table->column_count : GT_EXCEL_COLUMNS;
    s->fit.omitted_rows = table->row_count - s->fit.rows;
    s->fit.omitted_columns = table->column_count - s->fit.columns;
    s->rows_per_piece = gt_rows_per_piece(s->fit.columns, PIECE_CELLS);
    if (s->fit.columns > 0) find_formats(s);
    if (!s->dashboard) s->style = style;
    s->fit.has_table = s->style.is_table && gt_xlsx_can_be_native(table);
    if (s->fit.has_table) s->fit.has_filter = false;
    if (s->dashboard) {
        s->dash_cells = gt_xlsx_dash_cells(dashboard);
        s->rows_per_piece = s->fit.rows + 1;
        s->fit.fits_on_page = true;
    }
    return s;
}

size_t gt_xlsx_sheet_pieces(const gt_xlsx_sheet *of)
{
    bool is_empty = !of->fit.columns || !of->fit.rows;
    return is_empty ? 1 : gt_range_count(of->fit.rows, of->rows_per_piece);
}

void gt_xlsx_sheet_write(gt_xlsx_sheet *of, size_t piece, gt_zip *zip)
{
    sheet s = {.zip = zip,
               .table = of->table,
               .dashboard = of->dashboard,
               .dash_cells = of->dash_cells,
               .style = of->style,
               .prefixes = of->prefixes,
               .fit = of->fit};
    size_t begin = piece * of->rows_per_piece, left = s.fit.rows - begin;
    bool is_last = piece + 1 == gt_xlsx_sheet_pieces(of);
    if (piece == 0)
        gt_zip_add(zip, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<worksheet "
                        "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"");
    if (piece == 0)
        gt_zip_add(zip, s.dashboard || s.fit.has_table
                            ? " xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/"
                              "relationships\">"
                            : ">");
    if (s.fit.columns > 0) {
        if (piece == 0) write_head(&s);
        write_rows(&s, begin, begin + (left < of->rows_per_piece ? left : of->rows_per_piece));
        if (is_last) write_tail(&s);
    } else {
        gt_zip_add(zip, "<sheetData/>");
    }
    if (is_last) gt_zip_add(zip, "</worksheet>");
    atomic_fetch_add(&of->cut_cells, s.fit.cut_cells);
    gt_buffer_free(&s.acceptable);
    gt_buffer_free(&s.literal);
}

gt_xlsx_fit gt_xlsx_sheet_fit(const gt_xlsx_sheet *of)
{
    gt_xlsx_fit fit = of->fit;
    fit.cut_cells = atomic_load(&of->cut_cells);
    return fit;
}

void gt_xlsx_sheet_free(gt_xlsx_sheet *of)
{
    if (!of) return;
    gt_free_all(of->prefixes, of->dash_cells, of);
}
