/* From the forward pass to the backward pass: autograd gives an op and the function that computes its
 * gradient the same sequence number. */
#ifndef GT_TRACE_PYTORCH_GRADIENTS_H
#define GT_TRACE_PYTORCH_GRADIENTS_H

#include "trace/pytorch/calls.h"

typedef struct gt_gradients {
    const gt_calls *calls;
    uint32_t *forward_of;  /* by row: the op whose gradient an autograd event computes; else GT_NO_EVENT */
    uint32_t *backward_of; /* by row: the autograd event of an op; else GT_NO_EVENT */
    uint32_t *numbers;     /* of the ops in the tree that have one, ascending */
    size_t count;
} gt_gradients;

gt_gradients *gt_gradients_link(const gt_calls *calls);
void gt_gradients_free(gt_gradients *gradients);

/* Adds the autograd events of an op and of all that it called. */
void gt_gradients_add_below(const gt_gradients *gradients, uint32_t row, gt_row_list *list);

#endif
