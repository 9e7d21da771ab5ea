/* Kernel launchers: the ops (or bare runtime calls) that sent work to the GPU themselves, and that work.
 *
 * A launcher is the nearest cpu_op above the runtime call (one named exactly `execute` is stepped over), or
 * the call itself where there is none. Communication kernels do not make launchers. */
#ifndef GT_ANALYSIS_PYTORCH_LAUNCHERS_H
#define GT_ANALYSIS_PYTORCH_LAUNCHERS_H

#include "trace/pytorch/pytorch.h"

typedef struct gt_launcher {
    uint32_t row;         /* the op or runtime call */
    size_t first, count;  /* its own kernels: kernels[first .. first + count), by start */
    double direct_us;     /* time in which at least one of its own kernels runs */
    double subtree_us;    /* the same for all GPU work launched at or below it, communication included */
    bool direct_integral; /* the times are sums of integers as written in the trace */
    bool subtree_integral;
} gt_launcher;

typedef struct gt_launchers {
    gt_launcher *items; /* by start of the launcher; ties by the uid of the first kernel */
    size_t count;
    uint32_t *kernels; /* rows of GPU events */
} gt_launchers;

gt_launchers gt_launchers_find(const gt_linked_view *trace);
void gt_launchers_free(gt_launchers *launchers);

/* The launcher of a linked GPU event (its parent must exist), whether or not it is a communication kernel. */
uint32_t gt_launcher_of(const gt_linked_view *trace, uint32_t gpu_row);

#endif
