/* A sheet of a workbook as its cells stand there, without a guess at what columns hold: for scripts' rules
 * that look at one cell at a time. */
#ifndef GT_INPUT_SHEETS_SHEET_GRID_H
#define GT_INPUT_SHEETS_SHEET_GRID_H

#include "base/memory.h"
#include "compat/cells.h"
#include "input/sheets/xlsx_table.h"

typedef struct gt_sheet_grid {
    gt_sheet_cell *cells; /* row by row; places without a cell are MISSING */
    uint32_t rows, columns;
    gt_arena texts;
} gt_sheet_grid;

/* Texts live as long as the grid and the workbook. False where the sheet cannot be read or is nearly all
 * empty. */
bool gt_workbook_grid(gt_workbook *book, size_t index, gt_sheet_grid *grid, gt_error *error);
void gt_sheet_grid_free(gt_sheet_grid *grid);

static inline const gt_sheet_cell *gt_sheet_grid_at(const gt_sheet_grid *grid, uint32_t row, uint32_t column)
{
    return &grid->cells[(size_t)row * grid->columns + column];
}

#endif
