/* Ops that were launched before the trace began.
 *
 * If the host runs ahead of the GPU, a trace begins with ops whose launches were not recorded: up to as many
 * as the launch queue holds. Rules do not know what launched them, so their edits leave them out. But the
 * host waits for such ops when the queue is full, and without them an edit of a slow GPU would seem to gain
 * little. So an edit also changes these ops, as it changes the others with the same name. */
#pragma once

#include "findings/replay.h"

typedef struct gt_backlog {
    uint32_t *kernels; /* by op: a number for each name that an op without a launch has; others GT_NONE */
    size_t kernel_count;
} gt_backlog;

gt_backlog gt_backlog_find(const gt_schedule *schedule);
/* Adds the ops without a launch to an edit: each becomes shorter by the ratio by which the ops with a launch
 * and the same name become shorter together. */
void gt_backlog_extend(const gt_backlog *backlog, const gt_schedule *schedule, gt_edit *edit);
void gt_backlog_free(gt_backlog *backlog);
