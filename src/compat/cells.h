/* Cells of a sheet as a file holds them, and the table that pandas would make of them.
 *
 * CSV files and workbooks do not say what type a column has; its cells do, by the rules of pandas: integers
 * if all cells are integers and none is missing, else numbers, else True and False, else strings. What pandas
 * takes for a missing value ("", "nan", "NULL", ...) is missing here too. */
#pragma once

#include "table/table.h"

typedef enum gt_cell_parsing {
    GT_READ_EXACT,   /* by the rules of pandas, numbers as they are written */
    GT_READ_PANDAS,  /* the same, but real numbers differ in the last digits as those of pandas.read_csv do */
    GT_READ_STRINGS, /* all text stays text; only empty fields are missing */
} gt_cell_parsing;

typedef enum gt_sheet_cell_kind {
    GT_CELL_MISSING,
    GT_CELL_STRING,
    GT_CELL_NUMBER,
    GT_CELL_BOOL
} gt_sheet_cell_kind;

typedef struct gt_sheet_cell {
    union {
        const char *bytes; /* of a STRING; must live until the table is made */
        double number;
        bool truth;
    };
    uint32_t len; /* of a STRING */
    gt_sheet_cell_kind kind;
    bool is_real; /* of a NUMBER: written with a point or an exponent, so that Python does not take it for an
                     integer */
} gt_sheet_cell;

typedef struct gt_placed_cell {
    gt_sheet_cell cell;
    uint32_t row, column;
} gt_placed_cell;

/* The cells of one sheet, in any order; of two cells in one place the last one counts. Row 0 is the header.
 * Strings must live until the table is made. */
typedef struct gt_sheet_cells {
    gt_placed_cell *items;
    size_t count, capacity;
    uint32_t rows, columns; /* one more than the highest used; a reader may increase `rows` */
    gt_cell_parsing reading;
} gt_sheet_cells;

gt_sheet_cell gt_sheet_cell_string(const char *bytes, size_t len); /* truncated to 4 GiB */
gt_sheet_cell gt_sheet_cell_number(double number);
gt_sheet_cell gt_sheet_cell_bool(bool truth);

void gt_sheet_cells_add(gt_sheet_cells *cells, uint32_t row, uint32_t column, gt_sheet_cell cell);
void gt_sheet_cells_free(gt_sheet_cells *cells);

/* The table. Columns without a name are called "Unnamed: 3", names that are taken get ".1". Fails where
 * nearly all of the sheet is empty: such a sheet was not made by a report, and its table would be far larger
 * than it. */
gt_table *gt_sheet_cells_table(const gt_sheet_cells *cells, gt_sheet name, gt_interner *strings,
                               gt_error *error);

/* Fails if nearly all of the sheet is empty: no report looks like that, and its table would be far larger
 * than the file.
 */
bool gt_sheet_cells_check_density(const gt_sheet_cells *cells, gt_error *error);
