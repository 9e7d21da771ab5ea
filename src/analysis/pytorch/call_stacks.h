/* Through which functions did the program come to an op, and the op to its kernels?
 *
 * A stack is a list of frames, outermost first: names of modules, of functions with a path, of ops, without
 * numbers behind underscores (nn.Module: Linear_3 is nn.Module: Linear). Stacks are nodes of one tree, so
 * that equal stacks are equal numbers. */
#ifndef GT_ANALYSIS_PYTORCH_CALL_STACKS_H
#define GT_ANALYSIS_PYTORCH_CALL_STACKS_H

#include "analysis/pytorch/kernel_stats.h"
#include "trace/pytorch/calls.h"

typedef struct gt_call_stacks gt_call_stacks;
gt_call_stacks *gt_call_stacks_new(const gt_calls *calls);
void gt_call_stacks_free(gt_call_stacks *stacks);

/* The stack of an event, from the event `root` on. */
uint32_t gt_call_stack_of(gt_call_stacks *stacks, uint32_t row, uint32_t root);
/* The stack of a kernel: that of the event which it belongs to, and what is called between them. */
uint32_t gt_call_stack_to_kernel(gt_call_stacks *stacks, uint32_t stack, uint32_t row, uint32_t kernel);
/* A stack as a Python list: a text id, which gt_call_stack_paths reads back. */
uint32_t gt_call_stack_text(gt_call_stacks *stacks, uint32_t stack);

/* The stacks of several kernels as one list, and the function of the user's program in it that called the op.
 * Text ids. */
typedef struct gt_call_stack_paths {
    uint32_t full;        /* what the stacks share, then what each has further, with the kernel's name last */
    uint32_t entry_point; /* "Not found" where there is none */
} gt_call_stack_paths;
gt_call_stack_paths gt_call_stack_paths_of(gt_call_stacks *stacks, uint32_t op_name,
                                           const gt_kernel_detail *kernels, size_t count);

#endif
