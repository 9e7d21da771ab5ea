/* The call tree, as a JSON document for an extension (run.py says what is in it). */
#ifndef GT_EXTENSION_QUESTION_H
#define GT_EXTENSION_QUESTION_H

#include "extension/extension.h"

#include <stdio.h>

void gt_extension_write_question(FILE *file, const gt_linked_view *trace, const gt_extension_source *source);

#endif
