/* Which ops tell the whole story of the GPU's time, each kernel once?
 *
 * From the roots of the call tree downwards, the first op on each way that has a performance model; where
 * there is none, the op that launched the kernels. Backward passes of one op count for the op whose gradient
 * they compute. Kernels that no such op covers get a row each, made up from the op above them. Communication
 * is left out. */
#ifndef GT_ANALYSIS_PYTORCH_UNIFIED_EVENTS_H
#define GT_ANALYSIS_PYTORCH_UNIFIED_EVENTS_H

#include "analysis/pytorch/perf.h"

typedef struct gt_unified_event {
    uint32_t row;    /* the op; of a made-up one: the event above its kernel */
    uint32_t kernel; /* of a made-up one: its only GPU event; else GT_NO_EVENT */
    uint32_t name, uid;
    uint32_t root;         /* where the way to it began */
    uint32_t forward;      /* the op whose gradient it computes alone, and whose model tells about that; else
                              GT_NO_EVENT */
    const gt_model *model; /* its own; NULL: none */
} gt_unified_event;

typedef struct gt_unified_events {
    gt_unified_event *items;
    size_t count, capacity;
} gt_unified_events;

gt_unified_events gt_unified_events_find(gt_perf *perf);
void gt_unified_events_free(gt_unified_events *events);

#endif
