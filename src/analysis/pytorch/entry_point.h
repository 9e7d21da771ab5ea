/* Which function of the user's program called an op? A frame of the op's call stack. */
#ifndef GT_ANALYSIS_PYTORCH_ENTRY_POINT_H
#define GT_ANALYSIS_PYTORCH_ENTRY_POINT_H

#include "base/interner.h"

/* The place of the frame among `frames` (outermost first); SIZE_MAX where there is none. */
size_t gt_entry_point(gt_str op_name, const gt_str *frames, size_t count);

#endif
