/* How a distributed program is started on a node: variables that launchers and model scripts read. */
#ifndef GT_RUN_TARGETS_DISTRIBUTED_H
#define GT_RUN_TARGETS_DISTRIBUTED_H

#include "run/plan/settings.h"

typedef struct gt_distributed {
    const char *name;         /* distributed.launcher */
    int64_t nodes, processes; /* processes a node */
    int64_t port;
} gt_distributed;

gt_distributed gt_distributed_of(const gt_value *settings, int64_t nodes, int64_t gpus);

/* Adds shell lines "export NAME=..." for the launcher; they may use NODE_RANK and MASTER_ADDR, which are set
 * before. False where the launcher cannot do with so few nodes. */
bool gt_distributed_export(const gt_distributed *launcher, const gt_value *settings, gt_buffer *lines,
                           gt_error *error);

#endif
