/* Questions about the GPU events below many events at once.
 *
 * The GPU events below an event are a range of one list (calls.h), so the ranges of n ops that are nested in
 * each other have up to n * n / 2 events together. Usually each range is short, and going through it is the
 * fastest way. If the ranges are long together, these functions answer all questions in one pass over the
 * list instead, in time n * log(n). */
#pragma once

#include "trace/pytorch/calls.h"

/* How many GPU events were launched by an event or below it, without listing them. */
size_t gt_calls_count_gpu_events(const gt_calls *calls, uint32_t row);
/* The gradients of an event of the tree and of all events below it: numbers[*begin] to numbers[*end - 1]. */
void gt_gradients_below(const gt_gradients *gradients, uint32_t row, size_t *begin, size_t *end);

/* ---- lists and ranges ---- */

/* A list of GPU events: `order` says which of two with the same start comes first. */
typedef struct gt_gpu_rows {
    const gt_event_view *trace; /* borrowed */
    uint32_t *rows, *order;
    size_t count;
} gt_gpu_rows;

typedef struct gt_gpu_range {
    uint32_t begin, end;
} gt_gpu_range;

/* All launches of the tree, by the number of their calls; and the range of an event of the tree. */
gt_gpu_rows gt_gpu_rows_of_calls(const gt_calls *calls);
gt_gpu_range gt_gpu_range_below(const gt_calls *calls, uint32_t row);
void gt_gpu_rows_free(gt_gpu_rows *list);

/* Whether ranges with this many events together, of a list of `count`, are too long to go through each. */
static inline bool gt_gpu_ranges_are_long(uint64_t events, size_t count)
{
    return events > 64 * (uint64_t)count + GT_SMALL_OR(0, 1u << 24); /* a tenth of a second */
}

/* How long at least one event of each range was running. The times are added up exactly and rounded once,
 * where gt_busy_time rounds after each addition: the results are the same as long as those sums are exact,
 * that is if the times are multiples of a power of two of which the trace has fewer than 2^53. */
void gt_gpu_ranges_busy(const gt_gpu_rows *list, const gt_gpu_range *ranges, size_t count, gt_busy *busy);

/* The event of each range that starts first, of those with wanted[i] != 0 for their index in the list; NULL:
 * of all. Rows; GT_NO_EVENT if there is none. */
void gt_gpu_ranges_first(const gt_gpu_rows *list, const uint8_t *wanted, const gt_gpu_range *ranges,
                         size_t count, uint32_t *first);

/* How long at least one GPU event was running, of those launched by each of these events or below it. Uses
 * all threads. */
void gt_busy_below(const gt_calls *calls, const uint32_t *rows, size_t count, gt_busy *busy);
