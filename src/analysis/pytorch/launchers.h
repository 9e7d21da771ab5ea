/* Kernel launchers: the ops (or bare runtime calls) that launched GPU events themselves, and these events.
 *
 * The launcher of a GPU event is the cpu_op that called its runtime call, skipping python functions and ops
 * named exactly `execute`, or the runtime call itself if something else or nothing did. Communication kernels
 * do not make launchers. */
#pragma once

#include "trace/pytorch/calls.h"

typedef struct gt_launcher {
    uint32_t row;          /* the op or runtime call */
    uint32_t first, count; /* its own kernels, by start: kernels[first] to kernels[first + count - 1] */
    bool direct_integral;  /* the times are sums of integers of the trace */
    bool subtree_integral;
    double direct_us;  /* time in which at least one of its own kernels runs */
    double subtree_us; /* the same for all GPU events launched by it or below it, communication included */
} gt_launcher;

typedef struct gt_launchers {
    gt_launcher *items; /* by start of the launcher; ties by the uid of the first kernel */
    size_t count;
    uint32_t *kernels; /* rows of GPU events */
    gt_calls *calls;   /* of the trace, for others, too; their strings are those of the trace */
} gt_launchers;

gt_launchers gt_launchers_find(const gt_linked_view *trace);
void gt_launchers_free(gt_launchers *launchers);
