/* The order that records had in the run a trace was converted from. `gputally convert` numbers them where it
 * is not that of their times, which is the trace's: sums of fractions and ties of sorted sheets follow it. */
#ifndef GT_INPUT_ROCPROF_ROW_ORDER_H
#define GT_INPUT_ROCPROF_ROW_ORDER_H

#include "trace/store.h"

typedef struct gt_row_order {
    double *places;
    size_t count, capacity;
    bool is_lacking;      /* a record without a place came */
    bool is_out_of_order; /* the places so far do not ascend */
} gt_row_order;

/* The place of the next record of a writer; NULL where it is not told. */
void gt_row_order_add(gt_row_order *places, const int64_t *place);
/* Once all are read: puts the writer's records in order where each of them has a place. */
void gt_row_order_restore(const gt_row_order *places, gt_store_writer *writer);
void gt_row_order_free(gt_row_order *places);

#endif
