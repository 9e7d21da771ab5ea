/* A CSV file as a table: commas, double quotes, any line ends; the first line names the columns. */
#ifndef GT_INPUT_SHEETS_CSV_TABLE_H
#define GT_INPUT_SHEETS_CSV_TABLE_H

#include "base/error.h"
#include "compat/cells.h"
#include "table/table.h"

/* An empty text, or one of empty lines, gives a table without columns. Fails where a line has more fields
 * than the first one, or a quote is not closed. The text need not outlive the table. */
gt_table *gt_csv_table(gt_str text, gt_sheet name, gt_interner *strings, gt_error *error);

/* The same by other rules of what a field means. */
gt_table *gt_csv_table_as(gt_str text, gt_sheet name, gt_cell_parsing reading, gt_interner *strings,
                          gt_error *error);

/* The same of a file, which may be compressed. The sentence of an error names it. */
gt_table *gt_csv_table_read(const char *path, gt_sheet name, gt_interner *strings, gt_error *error);
gt_table *gt_csv_table_read_as(const char *path, gt_sheet name, gt_cell_parsing reading, gt_interner *strings,
                               gt_error *error);

#endif
