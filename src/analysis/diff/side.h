/* One of the two traces of a diff: its call tree downwards, with the names by which calls are compared.
 *
 * Names are compared without addresses and line numbers, and loosely without the function's name and the
 * folder of its file as well. Only calls that lead to GPU work count in most questions. */
#ifndef GT_ANALYSIS_DIFF_SIDE_H
#define GT_ANALYSIS_DIFF_SIDE_H

#include "base/map.h"
#include "trace/pytorch/calls.h"

typedef struct gt_diff_side {
    const gt_linked_view *trace; /* borrowed */
    gt_interner *names;          /* borrowed: what names are compared by, shared by both sides */
    gt_calls *calls;
    uint32_t *normal,
        *loose; /* by name: what it is compared by, an id of `names`; GT_NO_EVENT: not known yet */
    uint32_t graph_launches[2]; /* name ids */
    gt_row_list roots;
    gt_map children_of; /* outermost event to the one below it that has taken its place as a root, and whose
                           children are its own now ... */
    gt_map parent_of;   /* ... and back */
    uint32_t *wrapped;  /* by row: where gt_diff_unwrap ends, GT_NO_EVENT: not known yet */
    uint8_t *branches;  /* by row: 1 no, 2 yes, 0 not known yet */
    gt_row_list spare;
} gt_diff_side;

gt_diff_side *gt_diff_side_new(const gt_linked_view *trace, gt_interner *names);
void gt_diff_side_free(gt_diff_side *side);

/* Adds the events called by one, host events first, then the GPU work it launched. */
void gt_diff_children(const gt_diff_side *side, uint32_t row, gt_row_list *list);
/* Only those that lead to GPU work, or are it. */
void gt_diff_gpu_children(const gt_diff_side *side, uint32_t row, gt_row_list *list);
bool gt_diff_uses_gpu(const gt_diff_side *side, uint32_t row);
/* The event around one, GT_NO_EVENT at roots. */
uint32_t gt_diff_parent(const gt_diff_side *side, uint32_t row);

/* A kernel or a copy, not a memset: what takes part in the statistics. */
bool gt_diff_is_kernel(const gt_diff_side *side, uint32_t row);
/* A runtime or driver call that is no launch of a graph. */
bool gt_diff_is_runtime(const gt_diff_side *side, uint32_t row);
bool gt_diff_is_graph_launch(const gt_diff_side *side, uint32_t row);

/* By what an event is compared: an id of `names`, GT_STR_NONE where it has no name. */
uint32_t gt_diff_name(gt_diff_side *side, uint32_t row);
/* The same for alignment, where an event without a name has its number for one. */
uint32_t gt_diff_align_name(gt_diff_side *side, uint32_t row, bool loose);
/* The name as shown: a text id of the trace; where it has none, its number. */
uint32_t gt_diff_shown_name(const gt_diff_side *side, uint32_t row);

/* Downwards through events that wrap one other: the first that launches itself, or leads to GPU work in
 * several ways or none. */
uint32_t gt_diff_unwrap(gt_diff_side *side, uint32_t row);
/* Whether the event where gt_diff_unwrap ended leads to GPU work in several ways. */
bool gt_diff_branches(const gt_diff_side *side, uint32_t end);

#endif
