/* An Excel workbook (.xlsx), as openpyxl, libxlsxwriter and Excel write it, and its sheets as tables. */
#ifndef GT_INPUT_SHEETS_XLSX_TABLE_H
#define GT_INPUT_SHEETS_XLSX_TABLE_H

#include "base/error.h"
#include "table/table.h"

typedef struct gt_workbook gt_workbook;

gt_workbook *gt_workbook_open(const char *path, gt_error *error);
/* The same over bytes in memory, which must outlive the workbook. */
gt_workbook *gt_workbook_memory(const void *bytes, size_t len, gt_error *error);
void gt_workbook_close(gt_workbook *book); /* NULL is fine */

size_t gt_workbook_sheet_count(const gt_workbook *book);
const char *gt_workbook_sheet_name(const gt_workbook *book, size_t index);

/* The sheet's table: its first row names the columns, rows without any value at the end do not count. The
 * sentence of an error names the part of the workbook, not its file. */
gt_table *gt_workbook_table(gt_workbook *book, size_t index, gt_interner *strings, gt_error *error);

#endif
