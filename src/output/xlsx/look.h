/* How a column of a sheet should look: its number format and its width. */
#ifndef GT_OUTPUT_XLSX_LOOK_H
#define GT_OUTPUT_XLSX_LOOK_H

#include "table/table.h"

typedef struct gt_xlsx_look {
    const char *number_format; /* NULL: Excel's own choice */
    double width;              /* in characters */
} gt_xlsx_look;

/* Looks at the first `rows` rows. */
gt_xlsx_look gt_xlsx_look_of(const gt_table *table, size_t column, size_t rows);

/* Lines that the column's name takes in bold letters, broken at spaces, in that width. */
size_t gt_xlsx_header_lines(const char *name, double width);

#endif
