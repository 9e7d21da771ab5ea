/* The events of a PyTorch (Kineto) trace as columns of the event store. */
#ifndef GT_TRACE_EVENTS_H
#define GT_TRACE_EVENTS_H

#include "trace/store.h"

/* Columns of a store of events. Times are microseconds. Values that may be of any JSON type (process and
 * thread ids, streams, arrays) are kept as their JSON text without white space between tokens, strings with
 * their quotes. Integers that an event does not have are GT_EVENT_NONE. */
enum {
    GT_EVENT_PHASE,    /* read, but not kept ... */
    GT_EVENT_CATEGORY, /* ... and neither is this: */
    GT_EVENT_KIND,     /* a gt_event_kind says what both say */
    GT_EVENT_NAME,
    GT_EVENT_PROCESS,
    GT_EVENT_THREAD,
    GT_EVENT_START,
    GT_EVENT_DURATION,
    GT_EVENT_INTEGRAL, /* GT_INTEGRAL_* bits: which of the two were written as integers */
    GT_EVENT_FLOW,
    GT_EVENT_EXTERNAL_ID,
    GT_EVENT_CORRELATION,
    GT_EVENT_STREAM,
    GT_EVENT_SEQUENCE,
    GT_EVENT_INPUT_DIMS,
    GT_EVENT_INPUT_TYPES,
    GT_EVENT_INPUT_STRIDES,
    GT_EVENT_CONCRETE_INPUTS,
    GT_EVENT_GROUP_NAME,  /* from here on: what collectives say of themselves; names, ranks and splits as JSON
                             text, */
    GT_EVENT_GROUP_RANKS, /* so strings with their quotes; collective and dtype as plain text */
    GT_EVENT_GROUP_SIZE,
    GT_EVENT_COLLECTIVE,
    GT_EVENT_DTYPE,
    GT_EVENT_IN_ELEMENTS,
    GT_EVENT_OUT_ELEMENTS,
    GT_EVENT_IN_SPLIT,
    GT_EVENT_OUT_SPLIT,
    GT_EVENT_KERNEL_FILE, /* of ops that torch.compile made: where their code stands */
    GT_EVENT_META_NAME,   /* of metadata events: args.name and args.labels */
    GT_EVENT_META_LABELS,
    GT_EVENT_COLUMNS
};
#define GT_EVENT_NONE (-1)
enum { GT_INTEGRAL_START = 1, GT_INTEGRAL_DURATION = 2 };

extern const gt_store_column gt_event_columns[GT_EVENT_COLUMNS];

#endif
