/* Internals of the unified sheet: which events are its rows, and the call stacks of their kernels. */
#pragma once

#include "analysis/pytorch/op_rows.h"

/* ---- events (unified_events.c) ---- */

/* Which ops account for all GPU time, with each kernel counted once? On each path down from the roots of the
 * call tree, the first op that has a performance model; if there is none, the op that launched the kernels.
 * The backward pass of an op counts for the op whose gradient it computes. Kernels that no such op covers get
 * a synthetic op each, named after the op above them. Communication is ignored. */
typedef struct gt_unified_event {
    uint32_t row;    /* the op; for a synthetic op the event above its kernel */
    uint32_t kernel; /* the only GPU event of a synthetic op; else GT_NO_EVENT */
    uint32_t name, uid;
    uint32_t root;    /* where the path to it began */
    uint32_t forward; /* the op whose gradient it computes alone, if that op's model describes gradients; else
                         GT_NO_EVENT */
    const gt_model *model; /* its own; NULL: none */
} gt_unified_event;

typedef struct gt_unified_events {
    gt_unified_event *items;
    size_t count, capacity;
} gt_unified_events;

gt_unified_events gt_unified_events_find(gt_perf *perf);
void gt_unified_events_free(gt_unified_events *events);

/* ---- call stacks (call_stacks.c) ---- */

/* A stack is a list of frames, outermost first: names of modules, functions with a path, and ops, without
 * numbers after underscores ("nn.Module: Linear_3" is "nn.Module: Linear"). Stacks are numbers; equal stacks
 * are equal numbers. */
typedef struct gt_call_stacks gt_call_stacks;
gt_call_stacks *gt_call_stacks_new(const gt_calls *calls);
void gt_call_stacks_free(gt_call_stacks *stacks);

/* The stack of an event, starting at the event `root`. */
uint32_t gt_call_stack_of(gt_call_stacks *stacks, uint32_t row, uint32_t root);
/* The stack of a kernel: the stack of the event `row` that it belongs to, and the calls between that and the
 * kernel. */
uint32_t gt_call_stack_to_kernel(gt_call_stacks *stacks, uint32_t stack, uint32_t row, uint32_t kernel);
/* A stack as a Python list of its innermost 1,000 frames: a string id. Stacks are printed when a cell shows
 * them, because the stacks of n nested calls have n * n / 2 frames, and most cells show the first of many. */
uint32_t gt_call_stack_text(gt_call_stacks *stacks, uint32_t stack);

/* The stacks of several kernels as one list, and the user's function in it that called the op. String ids. */
typedef struct gt_call_stack_paths {
    uint32_t full;        /* the common frames, then the rest of each stack with the kernel's name last */
    uint32_t entry_point; /* "Not found" if there is none */
} gt_call_stack_paths;
gt_call_stack_paths gt_call_stack_paths_of(gt_call_stacks *stacks, uint32_t op_name,
                                           const gt_kernel_detail *kernels, size_t count);

/* Adds a name without underscores followed by digits, and without these digits: numbers of modules and files
 * differ between layers that do the same. */
void gt_add_without_numbers(gt_buffer *out, gt_str name);

/* Which function of the user's program called an op? The index in `frames` (outermost first); SIZE_MAX if
 * none is found. */
size_t gt_entry_point(gt_str op_name, const gt_str *frames, size_t count);
