/* Communication that runs alone, and the schedule in which other work hides it. */
#pragma once

#include "findings/replay.h"

/* By op; 0 for ops that do not communicate. */
typedef struct gt_overlap {
    int64_t *alone_ns;  /* how long no other kind of op runs; of several collectives at once it counts for the
                           first, so that the sum is time in which the GPU only communicates */
    int64_t *hidden_ns; /* how long other kinds of ops run at the same time */
} gt_overlap;

/* The caller frees the arrays; both are NULL if no op communicates. Linear, except for a binary search for
 * each collective. */
gt_overlap gt_overlap_find(const gt_schedule *schedule);
void gt_overlap_free(gt_overlap *overlap);

/* Adds that communication takes only the time in which other work runs at the same time. */
void gt_overlap_edit(const gt_overlap *overlap, const gt_schedule *schedule, gt_edit *edit);
