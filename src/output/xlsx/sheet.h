/* One table as a sheet of a workbook. */
#ifndef GT_OUTPUT_XLSX_SHEET_H
#define GT_OUTPUT_XLSX_SHEET_H

#include "output/xlsx/zip.h"
#include "table/table.h"

enum {
    GT_EXCEL_ROWS = 1048576, /* the header is one of them */
    GT_EXCEL_COLUMNS = 16384,
};

/* The styles that cells refer to by number; those of numbers follow. */
enum { GT_STYLE_NONE, GT_STYLE_NUMBER_HEADER, GT_STYLE_TEXT_HEADER, GT_STYLE_TEXT, GT_STYLE_NUMBERS };

/* The number formats of gt_xlsx_look_of, in the order of their styles. Excel knows those with an id below 164
 * by that id. */
typedef struct gt_number_format {
    const char *code;
    int id;
} gt_number_format;
extern const gt_number_format gt_number_formats[];
extern const size_t gt_number_format_count;

/* What of a table fits into a sheet, and what had to be left out. */
typedef struct gt_xlsx_fit {
    size_t rows, columns;
    size_t header_rows; /* 1; 3 where columns have headings of their own: such a sheet has merged cells and no
                           filter */
    size_t cut_cells, left_out_rows, left_out_columns;
    double width;      /* in characters */
    bool fits_on_page; /* printed one page wide; else over several pages, each with the first column */
} gt_xlsx_fit;

/* Writes the sheet's XML into the part that was begun. */
gt_xlsx_fit gt_xlsx_write_sheet(gt_zip *zip, const gt_table *table);

/* A cell's name: "AB12", or with dollars "$AB$12"; rows and columns count from 0. Returns the length. */
enum { GT_CELL_NAME_MAX = 16 };
size_t gt_xlsx_cell_name(char *out, size_t row, size_t column, bool dollars);

#endif
