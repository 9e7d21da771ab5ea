/* Launchers of distributed programs: torchrun, deepspeed, accelerate, mpirun, srun, and frameworks that only
 * need variables (vllm, sglang, primus).
 *
 * launcher.c knows the launchers: their names, the options that place the processes, and their variables.
 * launch.c decides how the user's command is started: by the launcher, or as it is because it starts the
 * launcher itself. */
#pragma once

#include "json/values.h"
#include "os/shell_words.h"

typedef enum gt_launcher_kind {
    GT_LAUNCHER_TORCHRUN,
    GT_LAUNCHER_DEEPSPEED,
    GT_LAUNCHER_ACCELERATE,
    GT_LAUNCHER_MPIRUN,
    GT_LAUNCHER_SRUN,
    GT_LAUNCHER_SERVER,       /* starts its own processes; has variables for their number */
    GT_LAUNCHER_SERVER_SPLIT, /* the same, with separate nodes for prefill and decode */
    GT_LAUNCHER_PRIMUS,
    GT_LAUNCHER_SCRIPT, /* the command runs once, on the first node, and starts the others itself */
    GT_LAUNCHER_NONE,
} gt_launcher_kind;

/* The processes of a run: how many, where, and who starts them. */
typedef struct gt_distributed {
    const char *name; /* of the launcher, as in the table; torchrun if the context has none */
    gt_launcher_kind kind;
    bool given;               /* the context has a launcher, so the command is started by it */
    int64_t nodes, processes; /* processes per node */
    int64_t port;             /* of the first node */
    const char *rendezvous;   /* --rdzv_backend of torchrun; NULL: static */
    const char *hostfile;     /* a shell word; NULL: none */
} gt_distributed;

/* Whether distributed.launcher is known and the numbers of `distributed` are positive integers. */
bool gt_distributed_check(const gt_value *context, gt_error *error);

/* The settings must have passed the check. Without nproc_per_node there is one process per GPU. */
gt_distributed gt_distributed_of(const gt_value *settings, int64_t nodes, int64_t gpus);

/* The GPUs that processes on this machine can use: as many as the context says, else those that a variable
 * such as HIP_VISIBLE_DEVICES lists, else all. At least 1. */
int64_t gt_launcher_gpus_here(gt_arena *arena, const gt_value *context);

/* Whether one launcher, on the first node, starts the processes of all nodes. */
bool gt_launcher_runs_once(const gt_distributed *distributed);

/* The launcher with the options that place the processes, as a part of a shell line. With several nodes it
 * uses ${NODE_RANK} and ${MASTER_ADDR}, which are the same for a job script, a container and a local run. ""
 * if the launcher is no program. */
const char *gt_launcher_runner(gt_arena *arena, const gt_distributed *distributed);

/* The variables of the launcher: MAD_MULTI_NODE_RUNNER, NNODES, NPROC_PER_NODE and those of frameworks, as a
 * dict of strings; they contain ${NODE_RANK} like the runner. Returns NULL if the launcher needs more nodes.
 */
const gt_value *gt_launcher_variables(gt_arena *arena, const gt_distributed *distributed,
                                      const gt_value *settings, gt_error *error);

/* Names of the programs that start processes like this launcher, with NULL at the end. */
const char *const *gt_launcher_programs(gt_launcher_kind kind);

/* ---- how the command is started (launch.c) ---- */

typedef struct gt_launch {
    const char *runner;  /* part of a shell line before the command; NULL: the command is started as it is */
    const char *command; /* shell line of the command, after the runner */
    const char *program; /* that must be in PATH; NULL: none */
    const char *note;    /* why the command is started as it is, or what was added to it; NULL: none */
    bool remote;         /* processes may be started by daemons that do not inherit our environment */
} gt_launch;

gt_launch gt_launch_plan(gt_arena *arena, const gt_distributed *distributed, const char *const *command,
                         size_t count);
