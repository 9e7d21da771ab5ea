/* Rows in order of a time. */
#ifndef GT_TRACE_ORDER_H
#define GT_TRACE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Sorts rows by times[row], ascending; rows of equal time keep their order, and NaN is before all
 * times. Traces are nearly sorted: runs in order are merged, so sorted rows cost one pass. */
void gt_order_rows(uint32_t *rows, size_t count, const double *times);

/* For qsort and bsearch: numbers of rows, ascending. */
int gt_by_row(const void *left, const void *right);

#endif
