/* Cells as Python writes them: lists, tuples and the texts inside them. */
#ifndef GT_OUTPUT_LITERAL_H
#define GT_OUTPUT_LITERAL_H

#include "output/text.h"
#include "table/table.h"

/* Adds the cell as Python's repr prints it: 1, 2.5, 'text', True, [1, 2], (1,), None for a null; a NaN is
 * nan. */
void gt_literal_add(gt_buffer *buffer, const gt_column *column, size_t row, const gt_strings *strings);

/* Whether Python's repr shows the code point as it is: no control character, none that is invisible or
 * unassigned. */
bool gt_is_printable(uint32_t code_point);
/* Adds its escape: \n, \x1b, \u200b, \U000e0001. */
void gt_literal_add_escape(gt_buffer *buffer, uint32_t code_point);

#endif
