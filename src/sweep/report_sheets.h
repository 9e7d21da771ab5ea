/* Sheets of reports as the steps of a sweep read them.
 *
 * The Python tool writes numbers with 16 digits, ours has all of them: numbers are rounded to 16 when they
 * are read, so that both give the same results. */
#ifndef GT_SWEEP_REPORT_SHEETS_H
#define GT_SWEEP_REPORT_SHEETS_H

#include "input/sheets/sheet_grid.h"
#include "schema/sheets.h"
#include "table/table.h"

typedef enum gt_sheet_found {
    GT_SHEET_READ,
    GT_SHEET_ABSENT, /* the workbook has no sheet of that name; the error says so */
    GT_SHEET_BROKEN, /* the workbook cannot be read; the error says why */
} gt_sheet_found;

/* The sheet as pandas.read_excel has it: one type a column. */
gt_sheet_found gt_read_report_table(const char *path, gt_sheet sheet, gt_interner *strings, gt_table **table,
                                    gt_error *error);

/* The sheet cell by cell; gt_report_grid_close in any case. */
typedef struct gt_report_grid {
    gt_workbook *book;
    gt_sheet_grid grid;
} gt_report_grid;
gt_sheet_found gt_read_report_grid(const char *path, gt_sheet sheet, gt_report_grid *grid, gt_error *error);
void gt_report_grid_close(gt_report_grid *grid);

/* The column whose first cell is that text, the last of several; UINT32_MAX where none is. */
uint32_t gt_report_grid_find(const gt_report_grid *grid, gt_col name);

/* A cell as Python's str prints it, as text of `strings`; GT_STR_NONE where it is missing. */
uint32_t gt_sheet_cell_as_string(const gt_sheet_cell *cell, gt_interner *strings);
/* As Python's float() takes it; NaN where it cannot be. */
double gt_sheet_cell_as_number(const gt_sheet_cell *cell);

#endif
