/* What an extension answered (run.py says what is in it), done to the trace. */
#ifndef GT_EXTENSION_APPLY_H
#define GT_EXTENSION_APPLY_H

#include "extension/extension.h"

/* `document` is the whole answer. */
bool gt_extension_apply(gt_pytorch_linked *trace, gt_str document, gt_extension_answer *answer,
                        gt_error *error);

#endif
