/* The parts of the Excel writer: zip archive, cell text, column formats, styles, sheets, charts. Internal;
 * reports call gt_output_xlsx of output/output.h. */
#pragma once

#include "output/dashboard.h"
#include "output/file.h"
#include "output/text.h"

/* ---- a zip archive, written and deflated part by part ----
 *
 * Memory use does not depend on the length of a part. Failures are kept in the file and returned when it is
 * closed. */

enum { GT_ZIP_BUFFER = 128 * 1024 };

/* Bytes that were deflated: their number before and after, and their CRC. */
typedef struct gt_deflated {
    uint64_t whole, packed;
    uint32_t checksum;
} gt_deflated;

typedef struct gt_zip {
    char *buffer; /* bytes of the part that are not deflated yet */
    size_t used;
    gt_file *file;
    struct gt_zip_deflate *deflate;
    gt_deflated done; /* of the part */
    bool in_pieces;   /* the part is */
    struct gt_zip_part *parts;
    size_t count, capacity;
    uint64_t size; /* bytes of the archive so far */
} gt_zip;

/* The file must be empty and outlive the archive. */
void gt_zip_begin(gt_zip *zip, gt_file *file);

/* Ends the current part and begins the next. The name is copied. Only a part begun as `huge` may reach 4 GiB;
 * old programs cannot read such parts. */
void gt_zip_begin_part(gt_zip *zip, const char *name, bool huge);
void gt_zip_write(gt_zip *zip, const void *bytes, size_t len);
void gt_zip_add(gt_zip *zip, const char *text);

/* A part may also consist of pieces that are deflated on their own, by several threads, and added in order.
 * A piece is written to a gt_zip without parts, whose file is in memory:
 *
 *     gt_zip_begin(&piece, &memory);       once
 *     gt_zip_begin_piece(&piece);          for each piece
 *     gt_zip_write(&piece, ...);
 *     gt_zip_end_piece(&piece, is_last);   its bytes are in the memory, up to a byte boundary
 *     gt_zip_add_piece(zip, &piece);
 *     gt_zip_free_piece(&piece);
 */
void gt_zip_begin_piece(gt_zip *piece);
void gt_zip_end_piece(gt_zip *piece, bool last);
void gt_zip_add_piece(gt_zip *zip, const gt_zip *piece);
void gt_zip_free_piece(gt_zip *piece);

/* Ends the last part, writes the directory and frees the memory of the archive. False if a part that was not
 * begun as huge reached 4 GiB. */
bool gt_zip_end(gt_zip *zip);

/* Room for `need` bytes, at most GT_ZIP_BUFFER; the caller adds the number of bytes it wrote to zip->used. */
void gt_zip_flush(gt_zip *zip);
static inline char *gt_zip_room(gt_zip *zip, size_t need)
{
    if (GT_ZIP_BUFFER - zip->used < need) gt_zip_flush(zip);
    return zip->buffer + zip->used;
}

/* ---- text that a workbook can contain ---- */

enum { GT_EXCEL_CELL_CHARS = 32767, GT_EXCEL_NAME_CHARS = 31 };

/* A copy without characters that XML forbids, in at most GT_EXCEL_CELL_CHARS of Excel's (UTF-16) characters,
 * with everything escaped that Excel would take for an escape; `text` itself if nothing has to change. Sets
 * *cut if the text was too long. */
gt_str gt_xlsx_acceptable(gt_str text, gt_buffer *scratch, bool *cut);

/* Writes acceptable text as the content of an element or attribute. */
void gt_xlsx_write_escaped(gt_zip *zip, gt_str text);

/* "<is><t>text</t></is>", the content of a text cell. */
void gt_xlsx_write_inline(gt_zip *zip, gt_str text);

/* A name that Excel allows for a sheet: no []:*?/\ or control characters, no apostrophe, not empty, not
 * "History". It may still be too long. */
void gt_xlsx_legal_name(const char *name, gt_buffer *legal);

/* ---- number format and width of a column ---- */

typedef struct gt_xlsx_format {
    const char *number_format; /* NULL: Excel's default */
    double width;              /* in characters */
} gt_xlsx_format;

/* Derived from the name of the column and its first `rows` rows. */
gt_xlsx_format gt_xlsx_column_format(const gt_table *table, size_t column, size_t rows);

/* Number of lines of the column's name in bold, wrapped at spaces to this width. */
size_t gt_xlsx_header_lines(const char *name, double width);

/* ---- one table as a sheet ---- */

enum {
    GT_EXCEL_ROWS = 1048576, /* including the header */
    GT_EXCEL_COLUMNS = 16384,
};

/* The styles that cells refer to by number; number formats follow them, then the looks of a dashboard. */
enum { GT_STYLE_NONE, GT_STYLE_NUMBER_HEADER, GT_STYLE_TEXT_HEADER, GT_STYLE_TEXT, GT_STYLE_NUMBERS };

/* The number formats of gt_xlsx_column_format, in the order of their styles. Ids below 164 are built into
 * Excel.
 */
typedef struct gt_number_format {
    const char *code;
    int id;
} gt_number_format;
extern const gt_number_format gt_number_formats[];
extern const size_t gt_number_format_count;

/* The part xl/styles.xml. The looks are only there if the workbook has a dashboard. */
void gt_xlsx_write_styles(gt_zip *zip, bool with_looks);
int gt_xlsx_look_style(gt_look look);

/* What fits into the sheet, and what is omitted. */
typedef struct gt_xlsx_fit {
    size_t rows, columns;
    size_t header_rows; /* gt_xlsx_header_rows */
    bool has_filter;
    size_t cut_cells, omitted_rows, omitted_columns;
    double width;      /* in characters */
    bool fits_on_page; /* printed one page wide; otherwise on several pages, each with the first column */
    bool has_table;    /* is a native table, whose filter replaces that of the sheet */
} gt_xlsx_fit;

typedef struct gt_xlsx_sheet gt_xlsx_sheet;

/* 1, or 3 if columns have a common heading: such a sheet has merged cells and no filter. */
size_t gt_xlsx_header_rows(const gt_table *table);

/* Finds the formats of the columns. The table must outlive the sheet, and so must the dashboard, which may be
 * NULL. A sheet with a dashboard has no filter, which would also hide rows of the dashboard, and no style. */
gt_xlsx_sheet *gt_xlsx_sheet_new(const gt_table *table, const gt_dashboard *dashboard, gt_sheet_style style);
/* The XML of a sheet consists of pieces with some of its rows each. They may be written in any order, by
 * several threads. */
size_t gt_xlsx_sheet_pieces(const gt_xlsx_sheet *sheet);
void gt_xlsx_sheet_write(gt_xlsx_sheet *sheet, size_t piece, gt_zip *zip);
/* Complete once all pieces are written. */
gt_xlsx_fit gt_xlsx_sheet_fit(const gt_xlsx_sheet *sheet);
void gt_xlsx_sheet_free(gt_xlsx_sheet *sheet); /* NULL does nothing */

/* Prints the name of a cell: "AB12", or with dollars "$AB$12"; rows and columns count from 0. Returns the
 * length.
 */
enum { GT_CELL_NAME_MAX = 16 };
size_t gt_xlsx_cell_name(char *out, size_t row, size_t column, bool dollars);

/* As gt_print_double, but whole numbers without ".0", as other programs write them. */
static inline size_t gt_xlsx_print_double(char *out, double value)
{
    size_t len = gt_print_double(out, value);
    return out[len - 1] == '0' && out[len - 2] == '.' ? len - 2 : len;
}

/* Cells from a row and column to others, inside of <mergeCells>. */
void gt_xlsx_write_merge(gt_zip *zip, size_t row, size_t column, size_t last_row, size_t last_column);

/* ---- native tables and colour scales (native_table.c) ---- */

/* Whether Excel accepts the table as a native one: see gt_output_styled_xlsx. */
bool gt_xlsx_can_be_native(const gt_table *table);
/* The parts xl/tables/table<number>.xml and the relation of the sheet with this number to it. The table gets
 * the name of the sheet, as far as names of tables allow; `names` are those of the workbook's tables. */
void gt_xlsx_write_native(gt_zip *zip, size_t number, const gt_table *table, const gt_xlsx_fit *fit,
                          const char *sheet_name, gt_name_set *names);
/* The elements for all columns whose names begin with the prefix. */
void gt_xlsx_write_scales(gt_zip *zip, const gt_table *table, const gt_xlsx_fit *fit, const char *prefix);

/* ---- cells of a dashboard (dash_cells.c) ---- */

/* By row, then by column; the caller frees the array. */
const gt_dash_cell **gt_xlsx_dash_cells(const gt_dashboard *dashboard);
void gt_xlsx_write_dash_cell(gt_zip *zip, const gt_dash_cell *cell, gt_buffer *scratch);
/* <mergeCells> without its end. Returns whether anything was written. */
bool gt_xlsx_write_dash_merges(gt_zip *zip, const gt_dashboard *dashboard);
/* Enlarges the numbers of rows and columns so that all cells are in them. */
void gt_xlsx_dash_extent(const gt_dashboard *dashboard, size_t *rows, size_t *columns);

/* ---- charts of a dashboard ---- */

/* Where the cells of charts are. */
typedef struct gt_xlsx_book {
    gt_table *const *tables;
    char *const *names; /* of their sheets */
    size_t count;
    const gt_dashboard *dashboard; /* NULL: none */
    size_t dashboard_sheet;        /* its number */
} gt_xlsx_book;

/* Those that have series. NULL has none. */
size_t gt_xlsx_chart_count(const gt_dashboard *dashboard);
/* The content types of the parts that gt_xlsx_write_drawings writes. */
void gt_xlsx_add_drawing_types(gt_zip *zip, const gt_dashboard *dashboard);
void gt_xlsx_write_drawings(gt_zip *zip, const gt_xlsx_book *book);
/* The content of one part. */
void gt_xlsx_write_chart(gt_zip *zip, const gt_xlsx_book *book, const gt_chart *chart);
