/* From the forward pass to the backward pass: autograd gives an op and the function that computes its
 * gradient the same sequence number. */
#ifndef GT_TRACE_BACKWARD_H
#define GT_TRACE_BACKWARD_H

#include "trace/calls.h"

typedef struct gt_backward {
    const gt_calls *calls;
    uint32_t *
        forward_of; /* by row: the op whose gradient an autograd event computes, GT_NO_EVENT for all others */
    uint32_t *backward_of; /* by row: the autograd event of an op */
    uint32_t *numbers;     /* of the ops in the tree that have one, ascending */
    size_t count;
} gt_backward;

gt_backward *gt_backward_link(const gt_calls *calls);
void gt_backward_free(gt_backward *backward);

/* Adds the autograd events of an op and of all that it called. */
void gt_backward_add_below(const gt_backward *backward, uint32_t row, gt_row_list *list);

#endif
