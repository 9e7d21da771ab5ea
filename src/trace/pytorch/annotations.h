/* In which step of the program did an op run? The step is an annotation (record_function, a profiler step)
 * around it in time. */
#ifndef GT_TRACE_PYTORCH_ANNOTATIONS_H
#define GT_TRACE_PYTORCH_ANNOTATIONS_H

#include "trace/pytorch/pytorch.h"

/* Of events whose names begin with `prefix`: the name of the annotation that started first among those that
 * start at or before the event and end behind it, "NA" where there is none; GT_STR_NONE for other events. By
 * row, the caller frees it; NULL where nothing has such a name. */
uint32_t *gt_annotations_find(const gt_event_view *trace, const char *prefix);

#endif
