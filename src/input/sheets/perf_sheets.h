/* A report on disk, its sheets read by name when they are asked for: a folder of "<sheet>.csv" files or an
 * Excel workbook, ours or the Python tool's. */
#ifndef GT_INPUT_SHEETS_PERF_SHEETS_H
#define GT_INPUT_SHEETS_PERF_SHEETS_H

#include "base/error.h"
#include "table/table.h"

typedef struct gt_perf_sheets gt_perf_sheets;

gt_perf_sheets *gt_perf_sheets_open(const char *path, gt_error *error);
void gt_perf_sheets_close(gt_perf_sheets *sheets); /* NULL is fine */

bool gt_perf_sheets_has(const gt_perf_sheets *sheets, gt_sheet name);
/* A sheet that is there. NULL and an error that names the file where it cannot be read. */
gt_table *gt_perf_sheets_read(gt_perf_sheets *sheets, gt_sheet name, gt_interner *strings, gt_error *error);

#endif
