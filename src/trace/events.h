/* The events of a PyTorch (Kineto) trace as columns of the event store. */
#ifndef GT_TRACE_EVENTS_H
#define GT_TRACE_EVENTS_H

#include "trace/store.h"

/* Columns of a store of events. Times are microseconds. Process and thread ids may be any JSON value and are kept as
 * its text; so are arrays. Integers that an event does not have are GT_EVENT_NONE. */
enum {
    GT_EVENT_PHASE,
    GT_EVENT_CATEGORY,
    GT_EVENT_NAME,
    GT_EVENT_PROCESS,
    GT_EVENT_THREAD,
    GT_EVENT_START,
    GT_EVENT_DURATION,
    GT_EVENT_FLOW,
    GT_EVENT_EXTERNAL_ID,
    GT_EVENT_CORRELATION,
    GT_EVENT_STREAM,
    GT_EVENT_DEVICE,
    GT_EVENT_SEQUENCE,
    GT_EVENT_PYTHON_ID,
    GT_EVENT_PYTHON_PARENT,
    GT_EVENT_INPUT_DIMS,
    GT_EVENT_INPUT_TYPES,
    GT_EVENT_INPUT_STRIDES,
    GT_EVENT_CONCRETE_INPUTS,
    GT_EVENT_GRID,
    GT_EVENT_BLOCK,
    GT_EVENT_COLUMNS
};
#define GT_EVENT_NONE (-1)

extern const gt_store_column gt_event_columns[GT_EVENT_COLUMNS];

#endif
