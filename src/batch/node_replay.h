/* Node replay: the ops that take most of the time of a batch report's group, run again alone by PyTorch and
 * by the benchmark program of the library that does the work, beside what they took in the traces. */
#ifndef GT_BATCH_NODE_REPLAY_H
#define GT_BATCH_NODE_REPLAY_H

#include "batch/bench_commands.h"
#include "table/table.h"

#include <stdio.h>

/* What can be run on this machine. */
typedef struct gt_replay_tools {
    bool hipblaslt, miopen, torch;
} gt_replay_tools;

/* Looks for the programs, and names those that are not there on `out`, unless that is NULL. */
gt_replay_tools gt_replay_tools_find(FILE *out);

typedef struct gt_node_replay {
    gt_bench bench;            /* hipBLASLt for the group gemm, MIOpen for conv */
    const char *group;         /* "gemm" or "conv" */
    const gt_table *sheet;     /* the group's */
    const gt_table *arguments; /* of its rows: dims, types, strides, concrete inputs as JSON texts */
    const char *folder; /* gets hipblaslt-bench-<i>.log or miopen-driver-<i>.log: a command for each op */
    gt_replay_tools tools;
    FILE *out; /* NULL: nothing is said */
} gt_node_replay;

/* Sheet <group>_node_replay. Steps that cannot be run leave their cells empty. NULL where a command cannot be
 * written. */
gt_table *gt_node_replay_run(const gt_node_replay *replay, gt_error *error);

#endif
