/* Values as Python prints them: str() and repr() of strings, of cells of a table and of JSON values. */
#pragma once

#include "json/values.h"
#include "table/table.h"

/* Adds the string in quotes: single quotes, or double quotes if it contains single but no double ones. */
void gt_python_add_repr(gt_buffer *buffer, gt_str text);

/* Whether Python's repr shows the code point as it is: no control character, none that is invisible or
 * unassigned. */
bool gt_is_printable(uint32_t code_point);
/* Adds its escape: \n, \x1b, \u200b, \U000e0001. */
void gt_python_add_escape(gt_buffer *buffer, uint32_t code_point);

/* Adds the cell as repr prints it: 1, 2.5, 'text', True, [1, 2], (1,), None for a null; a NaN is nan. */
void gt_python_add_cell(gt_buffer *buffer, const gt_column *column, size_t row, const gt_interner *strings);

/* Adds the value as str() gives it: a string as it is, but quoted inside of lists. */
void gt_python_add_value(gt_buffer *buffer, const gt_value *value);
/* As repr() does: as it looks inside of a list. */
void gt_python_add_value_repr(gt_buffer *buffer, const gt_value *value);

/* What the string of gt_python_add_value shows. Integers that do not fit 64 bits count as strings. */
gt_shown gt_python_shown(const gt_value *value);
/* Sets a cell of a STRING column to the string of gt_python_add_value, and what it shows. */
void gt_python_set_cell(gt_table *table, size_t column, size_t row, const gt_value *value, gt_buffer *spare);
