/* Which host event called which: the parallel part of building the call tree (see nesting.c). Only
 * src/trace/pytorch includes this. */
#ifndef GT_TRACE_PYTORCH_NESTING_H
#define GT_TRACE_PYTORCH_NESTING_H

#include "trace/pytorch/state.h"

/* Rows of host events: grouped by thread, and each group in order of the starts. */
typedef struct gt_thread_rows {
    uint32_t *rows;
    size_t count;
    size_t *ends; /* by thread: index after its last row */
    size_t thread_count;
} gt_thread_rows;

/* Fills parent, preorder and subtree_end of all host events, and `numbered`. All three arrays must be
 * GT_NO_EVENT before. The result is that of one pass over all events, whatever `grain` is. */
void gt_state_nest(gt_pytorch_state *trace, const gt_thread_rows *threads, size_t grain);

#endif
