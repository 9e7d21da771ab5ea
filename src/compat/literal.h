/* Cells as Python writes them: lists, tuples and the texts inside them. */
#ifndef GT_COMPAT_LITERAL_H
#define GT_COMPAT_LITERAL_H

#include "base/buffer.h"
#include "table/table.h"

/* Adds the cell as Python's repr prints it: 1, 2.5, 'text', True, [1, 2], (1,), None for a null; a NaN is
 * nan. */
void gt_literal_add(gt_buffer *buffer, const gt_column *column, size_t row, const gt_interner *strings);

#endif
