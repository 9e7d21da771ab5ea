/* Whose time is it? Every nanosecond of the window in which the GPU is busy counts for exactly one op, so
 * that times of ops add up to busy time, however ops overlap.
 *
 *     stream 1     AAAAAAAAAA       BBBBBB          A 10, B 5
 *     stream 2          CCCCCCCCCCCCC               C 8
 *     all-reduce     NNNNNNNNNNNNNNNNNNNNNNNNN      N 4, its exposed time
 *
 * Where several ops run, a kernel that computes goes before one that communicates, and that before copies and
 * memsets; of two ops of the same class, the one that started first. So the exclusive time of communication
 * and of copies is their exposed time. */
#pragma once

#include "findings/schedule/schedule.h"

/* In the order in which they are served. */
typedef enum gt_op_class { GT_OPS_COMPUTE, GT_OPS_COMMUNICATION, GT_OPS_MEMORY, GT_OP_CLASSES } gt_op_class;

static inline gt_op_class gt_op_class_of(const gt_gpu_op *op)
{
    if (op->kind != GT_KIND_KERNEL) return GT_OPS_MEMORY;
    return op->communicates ? GT_OPS_COMMUNICATION : GT_OPS_COMPUTE;
}

/* A stretch of time that counts for an op, an index of schedule->ops. */
typedef void gt_exclusive_visit(void *context, size_t op, int64_t start_ns, int64_t end_ns);
/* Visits all stretches between two times that count for ops: class by class, those of a class in order of
 * time. They are disjoint. Linear. */
void gt_ops_exclusive_visit(const gt_schedule *schedule, int64_t start_ns, int64_t end_ns,
                            gt_exclusive_visit *visit, void *context);

/* The exclusive time of each op inside the window, in the order of schedule->ops; the caller frees it. The
 * sum is the window less its idle time. Linear. */
int64_t *gt_ops_exclusive_ns(const gt_schedule *schedule);
