/* Names of collectives: which kind of exchange a name stands for. */
#pragma once

#include "base/base.h"

typedef enum gt_collective_type {
    GT_COLLECTIVE_OTHER, /* broadcast, send, barrier, ...: ranks need not wait for each other */
    GT_COLLECTIVE_ALLREDUCE,
    GT_COLLECTIVE_REDUCESCATTER,
    GT_COLLECTIVE_ALLGATHER,
    GT_COLLECTIVE_ALLTOALL,
    GT_COLLECTIVE_ALLTOALLV, /* ranks send different amounts, so one may finish before another */
} gt_collective_type;

gt_collective_type gt_collective_type_of(const char *collective);

/* The collective that a kernel's name implies; NULL if it implies none. */
const char *gt_collective_of_kernel(gt_str kernel);
