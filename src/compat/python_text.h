/* Text as Python's repr prints it. */
#ifndef GT_COMPAT_PYTHON_TEXT_H
#define GT_COMPAT_PYTHON_TEXT_H

#include "base/buffer.h"

/* Adds the text in quotes: single ones, or double ones where it has single and no double ones. */
void gt_python_add_repr(gt_buffer *buffer, gt_str text);

/* Whether Python's repr shows the code point as it is: no control character, none that is invisible or
 * unassigned. */
bool gt_is_printable(uint32_t code_point);
/* Adds its escape: \n, \x1b, \u200b, \U000e0001. */
void gt_python_add_escape(gt_buffer *buffer, uint32_t code_point);

#endif
