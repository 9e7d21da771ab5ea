/* The events of a rocprofv3 trace in Perfetto's or Chrome's format, as the reports of pftrace files ask for
 * them. */
#ifndef GT_TRACE_CHROME_H
#define GT_TRACE_CHROME_H

#include "trace/store.h"

/* Columns. Integers that an event does not have are GT_CHROME_NONE. */
enum {
    GT_CHROME_PHASE, /* read, but not kept */
    GT_CHROME_CATEGORY,
    GT_CHROME_NAME,
    GT_CHROME_PID,
    GT_CHROME_TID,
    GT_CHROME_TS,       /* microseconds */
    GT_CHROME_DUR,      /* microseconds */
    GT_CHROME_BEGIN_NS, /* from here on: the event's arguments */
    GT_CHROME_END_NS,
    GT_CHROME_DELTA_NS,
    GT_CHROME_CORRELATION, /* by any of its names */
    GT_CHROME_IS_CALL,     /* 1: has an argument corr_id, whatever it is */
    GT_CHROME_AGENT,       /* TEXT: the value's JSON; absent where it counts as false */
    GT_CHROME_DEVICE,      /* by any of its names */
    GT_CHROME_KERNEL_NAME, /* TEXT, by any of its names, where one is not empty */
    GT_CHROME_ARGS_TID,
    GT_CHROME_STREAM,
    GT_CHROME_OPERATION,
    GT_CHROME_GRID,
    GT_CHROME_WORKGROUP,
    GT_CHROME_VGPRS,
    GT_CHROME_ACCUM_VGPRS,
    GT_CHROME_SGPRS,
    GT_CHROME_LDS,
    GT_CHROME_SCRATCH,
    GT_CHROME_COPY_BYTES,
    GT_CHROME_SOURCE, /* TEXT: the value's JSON */
    GT_CHROME_DESTINATION,
    GT_CHROME_COLUMNS
};
#define GT_CHROME_NONE INT64_MIN

typedef struct gt_chrome {
    gt_interner *strings; /* owned */
    gt_store *store;
    uint32_t *order; /* the events in the order that reports go through them; NULL: as they are stored */
    size_t count;
} gt_chrome;

void gt_chrome_free(gt_chrome *trace);

/* A whole column, one entry an event, in the trace's order; the caller frees it. */
int64_t *gt_chrome_ints(const gt_chrome *trace, size_t column);
uint32_t *gt_chrome_strings(const gt_chrome *trace, size_t column);
double *gt_chrome_times(const gt_chrome *trace, size_t column);

/* "Agent-2" and 2, as JSON texts, are 2; -1 where the text does not end in digits. With `only_numbers`
 * "Agent-2" is -1, and "2" still 2. */
int64_t gt_chrome_agent_number(gt_str json, bool only_numbers);

#endif
