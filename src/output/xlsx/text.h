/* Text as a workbook may hold it. */
#ifndef GT_OUTPUT_XLSX_TEXT_H
#define GT_OUTPUT_XLSX_TEXT_H

#include "base/buffer.h"
#include "output/xlsx/zip.h"

enum { GT_EXCEL_CELL_CHARS = 32767, GT_EXCEL_NAME_CHARS = 31 };

/* A copy without what XML forbids, in no more than GT_EXCEL_CELL_CHARS of Excel's (UTF-16) characters, what
 * Excel would take for an escape escaped; `text` itself where nothing has to be done. Sets *cut where it did
 * not fit. */
gt_str gt_xlsx_acceptable(gt_str text, gt_buffer *scratch, bool *cut);

/* Writes acceptable text between two tags, or into an attribute. */
void gt_xlsx_write_escaped(gt_zip *zip, gt_str text);

/* "<is><t>text</t></is>", what a text cell holds. */
void gt_xlsx_write_inline(gt_zip *zip, gt_str text);

/* A name that Excel allows a sheet: no []:*?/\ or control characters, no apostrophe, not empty, not
 * "History"; it may be too long still. */
void gt_xlsx_legal_name(const char *name, gt_buffer *legal);

#endif
