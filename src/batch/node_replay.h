/* Node replay: runs the ops that take most of the time of a group in a batch report again, with PyTorch
 * and with the benchmark program of the library that does the work, and compares the times with those in
 * the traces. */
#pragma once

#include "batch/bench_commands.h"

/* The programs that are installed. */
typedef struct gt_replay_tools {
    bool hipblaslt, miopen, torch;
} gt_replay_tools;

/* Finds the programs, and prints the missing ones to `out` unless it is NULL. Each program that is run for
 * this is ended after timeout_s (0: never). */
gt_replay_tools gt_replay_tools_find(FILE *out, int64_t timeout_s);

typedef struct gt_node_replay {
    gt_bench bench;            /* hipBLASLt for the group gemm, MIOpen for conv */
    const char *group;         /* "gemm" or "conv" */
    const gt_table *sheet;     /* of the group */
    const gt_table *arguments; /* of its rows: dims, types, strides, concrete inputs as JSON strings */
    const char *folder;        /* gets hipblaslt-bench-<i>.log or miopen-driver-<i>.log: one command per op */
    const gt_schemas *schemas; /* of the ops */
    gt_replay_tools tools;
    int64_t timeout_s; /* of each program that is run; 0: none */
    FILE *out;         /* NULL: print nothing */
} gt_node_replay;

/* The sheet <group>_node_replay. Cells of steps that cannot be run are empty. Returns NULL if a command
 * cannot be written. */
gt_table *gt_node_replay_run(const gt_node_replay *replay, gt_error *error);
