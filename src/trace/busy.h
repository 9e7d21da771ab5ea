/* For how long did at least one of these events run? */
#ifndef GT_TRACE_BUSY_H
#define GT_TRACE_BUSY_H

#include "trace/intervals.h"
#include "trace/pytorch/pytorch.h"

typedef struct gt_busy {
    double us;
    bool integral; /* all times involved were written as integers */
} gt_busy;

/* `spare` is room for the work, kept from call to call. */
gt_busy gt_busy_time(const gt_event_view *trace, const uint32_t *rows, size_t count, gt_intervals *spare);

#endif
