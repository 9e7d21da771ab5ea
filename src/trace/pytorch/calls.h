/* Questions about subtrees of the call tree: what did an event call, and which GPU events were launched below
 * it? And from forward ops to the backward pass.
 *
 * gt_calls is built once from the preorder numbers and the launches. Then every question about a subtree is
 * one about a range of numbers. */
#pragma once

#include "trace/pytorch/pytorch.h"

typedef struct gt_calls {
    const gt_linked_view *trace; /* borrowed */
    uint32_t *row_of;            /* by preorder number: the event */
    gt_row_set launching;        /* the numbers of the events that launched anything themselves */
    uint32_t *begins; /* by rank in `launching`: where its launches begin in `links`; one entry more */
    uint32_t *links;  /* launches (indexes into trace->link_*), sorted by the number of the runtime call */
} gt_calls;

/* Where the launches of the events with this number or a greater one begin in `links`. The number may be
 * trace->numbered: then all launches of the tree are before. */
static inline uint32_t gt_calls_begin(const gt_calls *calls, uint32_t number)
{
    return calls->begins[gt_row_set_below(&calls->launching, number)];
}

/* Borrows the trace, which must not be edited while gt_calls is used. */
gt_calls *gt_calls_new(const gt_linked_view *trace);
void gt_calls_free(gt_calls *calls);

/* The host events that an event called, in order:
 *
 *     for (uint32_t c = gt_calls_first(calls, row); c != GT_NO_EVENT; c = gt_calls_next(calls, row, c)) */
uint32_t gt_calls_first(const gt_calls *calls, uint32_t row);
uint32_t gt_calls_next(const gt_calls *calls, uint32_t row, uint32_t child);

/* By preorder number: the number of the event whose child it is, GT_NO_EVENT at roots. Differs from the
 * trace's parent after gt_tree_wrap_launch. The caller of this function frees it. */
uint32_t *gt_calls_callers(const gt_calls *calls);

/* Whether an event or one below it launched anything. */
bool gt_calls_use_gpu(const gt_calls *calls, uint32_t row);

/* Appends the GPU events launched by an event or below it, in file order of their runtime calls. A GPU event
 * that was launched twice is appended twice. */
void gt_calls_add_gpu_events(const gt_calls *calls, uint32_t row, gt_row_list *list);

/* The cpu_ops that are not below another cpu_op, in order of their starts, followed by trace->late_roots. */
gt_row_list gt_calls_cpu_roots(const gt_calls *calls);

/* ---- gradients ---- */

/* Autograd gives an op of the forward pass and the function that computes its gradient the same sequence
 * number. */
typedef struct gt_gradients {
    const gt_calls *calls; /* borrowed */
    /* By row; NULL, both of them, if the trace has no gradients. */
    uint32_t *forward_of;  /* the op whose gradient an autograd event computes; GT_NO_EVENT if it is none */
    uint32_t *backward_of; /* see gt_gradient_function */
    uint32_t *numbers;     /* preorder numbers of the ops that have one, ascending */
    size_t count;          /* of numbers */
} gt_gradients;

gt_gradients *gt_gradients_link(const gt_calls *calls);
void gt_gradients_free(gt_gradients *gradients);

/* The autograd event of an op; GT_NO_EVENT if it has none. */
static inline uint32_t gt_gradient_function(const gt_gradients *gradients, uint32_t row)
{
    return gradients->backward_of ? gradients->backward_of[row] : GT_NO_EVENT;
}

/* Appends the autograd events of an op and of all events below it. */
void gt_gradients_add_below(const gt_gradients *gradients, uint32_t row, gt_row_list *list);
