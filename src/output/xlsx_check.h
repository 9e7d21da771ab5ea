/* Is a workbook that was just written whole? */
#ifndef GT_OUTPUT_XLSX_CHECK_H
#define GT_OUTPUT_XLSX_CHECK_H

#include <stdbool.h>

/* True where every part of the archive inflates and ends with the tag that it began with. */
bool gt_xlsx_is_whole(const char *path);

#endif
