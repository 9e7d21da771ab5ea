/* Which steps take much longer than the others, and what do they have that the others lack? */
#pragma once

#include "findings/schedule/schedule.h"

/* What the uneven steps have more of than the others: a Python function, a range or an op with all that it
 * calls. */
typedef struct gt_addition {
    uint32_t name;   /* string id */
    uint32_t depth;  /* of its outermost call */
    double ns;       /* host time, or GPU time that it launches, per uneven step, beyond the usual */
    double usual_ns; /* in the others: the median */
    bool in_all;     /* each uneven step has more of it */
} gt_addition;

typedef struct gt_uneven {
    bool *is_uneven;    /* by used step: the time from its first op to that of the next one is unusual */
    bool *is_named;     /* by used step: it takes that time, in full or in part before its own first op */
    size_t count;       /* of those named */
    bool is_of_gpu;     /* the GPU computes more; otherwise the host takes longer */
    bool only_forward;  /* of the GPU: nothing more in the backward pass */
    bool launches_more; /* a tenth more ops than other steps */
    bool is_warm_up;    /* the first steps, and no others */
    bool is_mixed;      /* they do different things */
    size_t period;      /* every so many steps; 0: not at equal distances, or not often enough to know */
    double median_ns, mean_ns; /* of all steps */
    double excess_ns;          /* of an uneven step over the median */
    double gain_ns;            /* per step, if no step was uneven */
    gt_addition *additions;    /* largest first */
    size_t addition_count;
} gt_uneven;

/* Whether the other steps have nothing of it. */
static inline bool gt_addition_is_new(const gt_addition *addition)
{
    return addition->usual_ns < 0.01 * addition->ns;
}

/* NULL if the steps are even, too few, or differ by the size of their inputs alone. */
gt_uneven *gt_uneven_find(const gt_schedule *schedule);
void gt_uneven_free(gt_uneven *uneven);
