/* When and where every event of a trace was, and nothing more: for those that choose among whole events. */
#ifndef GT_TRACE_PLAIN_EVENTS_H
#define GT_TRACE_PLAIN_EVENTS_H

#include "trace/store.h"

enum {
    GT_PLAIN_PHASE, /* TEXT */
    GT_PLAIN_CATEGORY,
    GT_PLAIN_NAME,
    GT_PLAIN_PROCESS, /* JSON texts, as are thread, flow and correlation: numbers and strings alike */
    GT_PLAIN_THREAD,
    GT_PLAIN_START, /* microseconds; NaN where the event has none */
    GT_PLAIN_DURATION,
    GT_PLAIN_INTEGRAL, /* GT_INTEGRAL_* bits: which of the two were written as integers */
    GT_PLAIN_FLOW,     /* the id of an arrow */
    GT_PLAIN_CORRELATION,
    GT_PLAIN_COLUMNS
};

/* All events, in the file's order. */
typedef struct gt_plain_events {
    gt_interner *strings; /* owned */
    size_t count;
    uint32_t *phase, *category, *name, *process, *thread, *flow, *correlation;
    double *start_us, *dur_us;
    uint8_t *integral;
} gt_plain_events;

/* Takes over the store and the strings. */
gt_plain_events *gt_plain_events_new(gt_store *store, gt_interner *strings);
void gt_plain_events_free(gt_plain_events *events);

#endif
