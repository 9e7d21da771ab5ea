/* Sheets read back from disk: CSV files, Excel workbooks (.xlsx), and reports made of either.
 *
 *     gt_csv_table_read      one CSV file as a table (csv_table.c)
 *     gt_workbook_open       a workbook, its sheets as tables or grids of cells (xlsx_table.c)
 *     gt_perf_sheets_open    a report, as a workbook or a folder of CSV files (perf_sheets.c)
 *
 * Neither format stores the type of a column: it is derived from the cells by the rules of pandas. A column
 * is of integers if all its cells are and none is missing, else of floats, else of booleans, else of strings.
 * The strings that pandas treats as missing ("", "nan", "NULL", ...) are missing here too. A column without a
 * name is called "Unnamed: 3", a repeated name gets the suffix ".1". */
#pragma once

#include "base/image.h"
#include "compat/cells.h"

/* ---- CSV files ---- */

/* Reads the text of a CSV file: commas, double quotes, any line ends, column names in the first line. Empty
 * lines are skipped; a line with too few fields has missing values at its end. A text without any field gives
 * a table without columns. Fails if a line has more fields than the first one or a quote is not closed. The
 * text need not outlive the table. */
gt_table *gt_csv_table(gt_str text, gt_sheet name, gt_interner *strings, gt_error *error);

/* The same with a choice of rules for the values. */
gt_table *gt_csv_table_as(gt_str text, gt_sheet name, gt_cell_parsing reading, gt_interner *strings,
                          gt_error *error);

/* The same for a file, which may be compressed. Errors name the file. */
gt_table *gt_csv_table_read(const char *path, gt_sheet name, gt_interner *strings, gt_error *error);
gt_table *gt_csv_table_read_as(const char *path, gt_sheet name, gt_cell_parsing reading, gt_interner *strings,
                               gt_error *error);

/* ---- Excel workbooks, as openpyxl, libxlsxwriter and Excel write them ---- */

typedef struct gt_workbook gt_workbook;

gt_workbook *gt_workbook_open(const char *path, gt_error *error);
/* The same for bytes in memory, which must outlive the workbook. */
gt_workbook *gt_workbook_memory(const void *bytes, size_t len, gt_error *error);
void gt_workbook_close(gt_workbook *book); /* may be NULL */

size_t gt_workbook_sheet_count(const gt_workbook *book);
const char *gt_workbook_sheet_name(const gt_workbook *book, size_t index);

/* The sheet as a table: its first row has the column names; empty rows at the end are ignored. Errors name
 * the part of the workbook, not its file. */
gt_table *gt_workbook_table(gt_workbook *book, size_t index, gt_interner *strings, gt_error *error);

typedef struct gt_sheet_grid {
    gt_sheet_cell *cells; /* row by row; MISSING where the sheet has no cell */
    uint32_t rows, columns;
    gt_arena texts; /* of strings */
} gt_sheet_grid;

/* The sheet as its cells are, without deriving types of columns: for rules that look at one cell at a time.
 * Strings live as long as both the grid and the workbook. False if the sheet cannot be read or is too sparse.
 */
bool gt_workbook_grid(gt_workbook *book, size_t index, gt_sheet_grid *grid, gt_error *error);
void gt_sheet_grid_free(gt_sheet_grid *grid);

static inline const gt_sheet_cell *gt_sheet_grid_at(const gt_sheet_grid *grid, uint32_t row, uint32_t column)
{
    return &grid->cells[(size_t)row * grid->columns + column];
}

/* ---- a report: a folder of "<sheet>.csv" files or a workbook, written by gputally or TraceLens ---- */

typedef struct gt_perf_sheets gt_perf_sheets;

gt_perf_sheets *gt_perf_sheets_open(const char *path, gt_error *error);
/* A report that exists only in memory; `path` names it in messages. Its sheets are the text of CSV files,
 * which is copied, so that they read as they would from disk. */
gt_perf_sheets *gt_perf_sheets_memory(const char *path);
void gt_perf_sheets_add(gt_perf_sheets *sheets, gt_sheet name, gt_str csv);
void gt_perf_sheets_close(gt_perf_sheets *sheets); /* may be NULL */

/* The sheets of a report in memory as an image (base/image.h), which must not outlive them, and back; NULL if
 * the image is damaged. */
void gt_perf_sheets_save(const gt_perf_sheets *sheets, gt_image *image);
gt_perf_sheets *gt_perf_sheets_load(const gt_image *image, const char *path);

bool gt_perf_sheets_has(const gt_perf_sheets *sheets, gt_sheet name);
/* Reads a sheet that exists. On failure NULL and an error that names the file. */
gt_table *gt_perf_sheets_read(gt_perf_sheets *sheets, gt_sheet name, gt_interner *strings, gt_error *error);
