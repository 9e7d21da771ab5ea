/* When kernels and copies ran: the length of the union of their times. */
#pragma once

#include "trace/store.h"

typedef __int128 gt_wide_ns; /* of damaged records, even one duration may not fit an int64 */

/* Kernels or copies, in any order. */
typedef struct gt_spans {
    int64_t *starts, *ends;
    size_t count;
} gt_spans;

/* All events of a store; the caller frees them. */
gt_spans gt_spans_of(const gt_store *events, size_t start_column, size_t end_column);
void gt_spans_free(gt_spans *spans);

/* What a device, or all of them, did, and for how long. */
typedef struct gt_activity {
    gt_spans kernels, copies;
    gt_wide_ns kernel_ns, copy_ns; /* in which at least one kernel, or copy, ran */
    gt_wide_ns busy_ns;            /* in which at least one of either ran */
    gt_wide_ns window_ns;          /* from the first start to the last end of either; 0: nothing ran */
} gt_activity;

/* The times of kernels alone, all events of a store, as gt_activity_measure finds them, in little memory. */
gt_activity gt_activity_of(const gt_store *kernels, size_t start_column, size_t end_column);

/* Sets the times. Sorts the spans in place. A span that ends before it starts counts with its negative
 * length, unless another one covers its start. */
void gt_activity_measure(gt_activity *activity);
