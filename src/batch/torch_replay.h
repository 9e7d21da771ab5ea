/* An op of a trace run again by PyTorch, on its own: a Python interpreter in a process of its own, which gets
 * the op as arguments and never as code. */
#ifndef GT_BATCH_TORCH_REPLAY_H
#define GT_BATCH_TORCH_REPLAY_H

#include "batch/bench_commands.h"

/* A command that was run, and what came of it. */
typedef struct gt_replay_run {
    gt_buffer output, errors; /* what it printed; the owner frees both */
    int exit_code;            /* as a shell says it; 127 where there is no such program */
} gt_replay_run;

/* Runs a program with these arguments (NULL behind the last) and keeps what it prints. Ends this program,
 * too, where the user ends it. `environment` is what the program gets besides this one's: "NAME=value", NULL
 * behind the last. */
gt_replay_run gt_replay_run_program(const char *const *argv, const char *const *environment);
void gt_replay_run_free(gt_replay_run *run);

/* Whether python3 can import torch. */
bool gt_torch_is_there(void);
/* Calls the op once with a library's log of commands turned on. What is logged on standard error is in the
 * run; hipBLASLt logs into `log_path`. */
gt_replay_run gt_torch_log(const gt_bench_op *op, gt_bench bench, const char *log_path);
/* Calls the op a thousand times after a thousand others; the output is the mean time in microseconds. */
gt_replay_run gt_torch_time(const gt_bench_op *op);

#endif
