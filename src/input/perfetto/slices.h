/* Which end belongs to which beginning: durations of slices whose two ends are events of their own.
 *
 * Slices of one track are nested: an end closes the slice that began last. Events need not come in the order
 * of time. Where a track's beginnings and ends cannot be told in the order they come, they are gathered until
 * there are as many of one as of the other. Then, if they came in order of time, the rule above holds; if all
 * beginnings came first and all ends behind them, each end belongs to the beginning of the same place, as
 * writers that go through columns have it, so that slices may overlap; else they are sorted by time. Of
 * events at one time, slices that began earlier end before others begin. */
#ifndef GT_INPUT_PERFETTO_SLICES_H
#define GT_INPUT_PERFETTO_SLICES_H

#include <stddef.h>
#include <stdint.h>

#define GT_SLICE_UNWANTED UINT32_MAX

typedef struct gt_slices gt_slices;

gt_slices *gt_slices_new(void);
void gt_slices_free(gt_slices *slices);

/* Rows count from 0, each given once; GT_SLICE_UNWANTED for slices whose duration nobody asks for. */
void gt_slices_begin(gt_slices *slices, uint32_t track, int64_t time_ns, uint32_t row);
void gt_slices_end(gt_slices *slices, uint32_t track, int64_t time_ns);
/* A slice whose duration is known. */
void gt_slices_complete(gt_slices *slices, uint32_t row, int64_t dur_ns);

/* Durations of rows 0 to count - 1, GT_SLICE_OPEN where no end was found; they are the slices'. */
#define GT_SLICE_OPEN INT64_MIN
const int64_t *gt_slices_finish(gt_slices *slices, size_t count);

#endif
