/* A Python literal as JSON: {'a': (True, None,)} is {"a":[true,null]}. For settings that people type in a
 * shell, where single quotes and True come easily. */
#ifndef GT_COMPAT_PYTHON_JSON_H
#define GT_COMPAT_PYTHON_JSON_H

#include "base/error.h"
#include "base/buffer.h"

/* Adds the literal as JSON. Tokens are translated one by one, brackets and all: whether they make sense
 * together the reader of the JSON sees. False where something is no token of a literal. */
bool gt_python_to_json(gt_str literal, gt_buffer *json, gt_error *error);

#endif
