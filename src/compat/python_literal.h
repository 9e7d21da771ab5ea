/* How would Python print a value that the trace holds as JSON? [[4,8],[]] is ((4, 8), ()) or [[4, 8], []].
 *
 * Lists become tuples where asked for (not those inside an object, which is printed as a dict), texts are
 * printed by repr, true, false and null are True, False and None, floats have their shortest digits, integers
 * stay as written. */
#ifndef GT_COMPAT_PYTHON_LITERAL_H
#define GT_COMPAT_PYTHON_LITERAL_H

#include "base/buffer.h"

typedef enum gt_python_form { GT_PYTHON_LISTS, GT_PYTHON_TUPLES } gt_python_form;

/* Adds the value as str() gives it, or as repr() does, which puts quotes around a text that is the whole
 * value. What is not one JSON value is added as it is. */
void gt_python_add_json(gt_buffer *buffer, gt_str json, gt_python_form form);
void gt_python_add_json_repr(gt_buffer *buffer, gt_str json, gt_python_form form);

/* str() by text ids, and each text converted only once. */
typedef struct gt_python_literals gt_python_literals;
gt_python_literals *gt_python_literals_new(gt_interner *strings, gt_python_form form);
uint32_t gt_python_literals_of(gt_python_literals *literals, uint32_t json); /* GT_STR_NONE for itself */
void gt_python_literals_free(gt_python_literals *literals);

#endif
