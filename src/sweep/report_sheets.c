/* Workbooks opened for one sheet, numbers rounded. */
#include "sweep/report_sheets.h"
#include "base/number.h"
#include "compat/number.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double MOST_WHOLE = 9007199254740992.0; /* 2^53 */

static double with_16_digits(double number)
{
    char text[GT_NUMBER_MAX];
    if (!isfinite(number) || number == trunc(number)) return number;
    snprintf(text, sizeof text, "%.16g", number);
    return strtod(text, NULL);
}

/* Opens the workbook and finds the sheet. */
static gt_sheet_found open_sheet(const char *path, gt_sheet sheet, gt_workbook **book, size_t *index,
                                 gt_error *error)
{
    *book = gt_workbook_open(path, error);
    if (!*book) return GT_SHEET_BROKEN;
    for (*index = 0; *index < gt_workbook_sheet_count(*book); ++*index)
        if (strcmp(gt_workbook_sheet_name(*book, *index), sheet.name) == 0) return GT_SHEET_READ;
    gt_fail(error, "%s: no sheet %s", path, sheet.name);
    return GT_SHEET_ABSENT;
}

static void round_columns(gt_table *table)
{
    for (size_t c = 0; c < table->column_count; c++)
        for (size_t row = 0; table->columns[c].type == GT_TYPE_FLOAT && row < table->row_count; row++)
            table->columns[c].floats[row] = with_16_digits(table->columns[c].floats[row]);
}

gt_sheet_found gt_read_report_table(const char *path, gt_sheet sheet, gt_interner *strings, gt_table **table,
                                    gt_error *error)
{
    gt_workbook *book;
    size_t index;
    *table = NULL;
    gt_sheet_found found = open_sheet(path, sheet, &book, &index, error);
    if (found == GT_SHEET_READ && !(*table = gt_workbook_table(book, index, strings, error))) {
        gt_error_prefix(error, path);
        found = GT_SHEET_BROKEN;
    }
    if (*table) round_columns(*table);
    gt_workbook_close(book);
    return found;
}

gt_sheet_found gt_read_report_grid(const char *path, gt_sheet sheet, gt_report_grid *grid, gt_error *error)
{
    size_t index;
    *grid = (gt_report_grid){0};
    gt_sheet_found found = open_sheet(path, sheet, &grid->book, &index, error);
    if (found == GT_SHEET_READ && !gt_workbook_grid(grid->book, index, &grid->grid, error)) {
        gt_error_prefix(error, path);
        found = GT_SHEET_BROKEN;
    }
    for (size_t i = 0; i < (size_t)grid->grid.rows * grid->grid.columns; i++)
        if (grid->grid.cells[i].kind == GT_CELL_NUMBER)
            grid->grid.cells[i].number = with_16_digits(grid->grid.cells[i].number);
    return found;
}

void gt_report_grid_close(gt_report_grid *grid)
{
    gt_sheet_grid_free(&grid->grid);
    gt_workbook_close(grid->book);
    *grid = (gt_report_grid){0};
}

uint32_t gt_report_grid_find(const gt_report_grid *grid, gt_col name)
{
    for (uint32_t c = grid->grid.rows ? grid->grid.columns : 0; c-- > 0;) {
        const gt_sheet_cell *cell = gt_sheet_grid_at(&grid->grid, 0, c);
        if (cell->kind == GT_CELL_STRING && cell->len == strlen(name.name) &&
            memcmp(cell->bytes, name.name, cell->len) == 0)
            return c;
    }
    return UINT32_MAX;
}

uint32_t gt_sheet_cell_as_string(const gt_sheet_cell *cell, gt_interner *strings)
{
    char text[GT_NUMBER_MAX];
    switch (cell->kind) {
    case GT_CELL_STRING:
        return gt_interner_add(strings, cell->bytes, cell->len);
    case GT_CELL_BOOL:
        return gt_interner_add_cstr(strings, cell->truth ? "True" : "False");
    case GT_CELL_NUMBER:
        if (!cell->is_real && fabs(cell->number) <= MOST_WHOLE)
            return gt_interner_add(strings, text, gt_print_int(text, (int64_t)cell->number));
        return gt_interner_add(strings, text, gt_print_double(text, cell->number));
    case GT_CELL_MISSING:
        break;
    }
    return GT_STR_NONE;
}

double gt_sheet_cell_as_number(const gt_sheet_cell *cell)
{
    double number;
    switch (cell->kind) {
    case GT_CELL_NUMBER:
        return cell->number;
    case GT_CELL_BOOL:
        return cell->truth;
    case GT_CELL_STRING:
        return gt_python_parse_float((gt_str){cell->bytes, cell->len}, &number) ? number : NAN;
    case GT_CELL_MISSING:
        break;
    }
    return NAN;
}
