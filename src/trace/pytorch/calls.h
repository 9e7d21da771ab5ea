/* Downwards in the call tree: whom did an event call, and what did they all send to the GPU?
 *
 * Built once from the tree's numbers and the launches; every question about a subtree is then one about a run
 * of numbers. */
#ifndef GT_TRACE_PYTORCH_CALLS_H
#define GT_TRACE_PYTORCH_CALLS_H

#include "trace/pytorch/pytorch.h"

typedef struct gt_calls {
    const gt_linked_view *trace; /* borrowed */
    uint32_t *row_of;            /* by number: the event */
    uint32_t *caller;            /* by number: the number of the event around it, GT_NO_EVENT at roots */
    uint32_t *begin;             /* by number, and one more: where its own launches begin in ... */
    uint32_t *links;             /* ... this: launches (indexes of trace->link_*) by number of the call */
} gt_calls;

gt_calls *gt_calls_new(const gt_linked_view *trace);
void gt_calls_free(gt_calls *calls);

/* The host events that an event called, in order:
 *
 *     for (uint32_t c = gt_calls_first(calls, row); c != GT_NO_EVENT; c = gt_calls_next(calls, row, c)) */
uint32_t gt_calls_first(const gt_calls *calls, uint32_t row);
uint32_t gt_calls_next(const gt_calls *calls, uint32_t row, uint32_t child);

/* Whether anything was launched at or below an event. */
bool gt_calls_use_gpu(const gt_calls *calls, uint32_t row);

/* A list of rows. {0} is empty; the owner frees items. */
typedef struct gt_row_list {
    uint32_t *items;
    size_t count, capacity;
} gt_row_list;

/* Adds the GPU events launched at or below an event, in file order of the calls that launched them; one that
 * was launched twice is there twice. */
void gt_calls_add_gpu_events(const gt_calls *calls, uint32_t row, gt_row_list *list);

/* The cpu_ops that no other cpu_op is around, in order of their starts; behind them trace->late_roots. */
gt_row_list gt_calls_cpu_roots(const gt_calls *calls);

#endif
