/* Python literals and JSON: each as the other.
 *
 * [[4,8],[]] of a trace is printed as ((4, 8), ()) or [[4, 8], []]. Lists become tuples where asked for (not
 * those inside an object, which is printed as a dict), strings are printed by repr, true, false and null are
 * True, False and None, floats have their shortest digits, integers stay as written. */
#pragma once

#include "base/base.h"

typedef enum gt_python_form { GT_PYTHON_LISTS, GT_PYTHON_TUPLES } gt_python_form;

/* Adds the JSON value as str() gives it, or as repr() does, which puts quotes around a string that is the
 * whole value. What is not one JSON value is added as it is. */
void gt_python_add_json(gt_buffer *buffer, gt_str json, gt_python_form form);
void gt_python_add_json_repr(gt_buffer *buffer, gt_str json, gt_python_form form);

/* str() by ids of interned strings, each of which is converted only once. */
typedef struct gt_python_literals gt_python_literals;
gt_python_literals *gt_python_literals_new(gt_interner *strings, gt_python_form form);
uint32_t gt_python_literals_of(gt_python_literals *literals, uint32_t json); /* GT_STR_NONE for itself */
/* The same for many ids at once, in place. All of them must have been strings when the literals were created.
 */
void gt_python_literals_convert(gt_python_literals *literals, uint32_t *ids, size_t count);
void gt_python_literals_free(gt_python_literals *literals);

/* Adds a Python literal as JSON: {'a': (True, None,)} is {"a":[true,null]}. For settings that people type in
 * a shell, where single quotes and True come easily. Tokens are translated one by one; whether the brackets
 * match is for the reader of the JSON to find out. False if something is not a token of a literal. */
bool gt_python_to_json(gt_str literal, gt_buffer *json, gt_error *error);
/* Adds a list, tuple or dict that repr() printed as JSON, as short as SQLite writes it: ((8, 128), (), nan)
 * is [[8,128],[],null]. False, and nothing added, if the text is anything else. */
bool gt_python_shown_to_json(gt_str text, gt_buffer *json);
