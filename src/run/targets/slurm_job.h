/* What is known about a SLURM job: asking SLURM for its state (slurm_queue.c), and showing what it prints
 * (slurm_follow.c). Used by slurm_job.c. */
#ifndef GT_RUN_TARGETS_SLURM_JOB_H
#define GT_RUN_TARGETS_SLURM_JOB_H

#include "base/buffer.h"
#include "base/memory.h"
#include "json/values.h"

#include <stdbool.h>
#include <sys/types.h>

/* ---- asking SLURM (slurm_queue.c) ---- */

typedef struct gt_slurm_job {
    gt_arena *arena;
    const char *id;
    const char *cluster;                  /* NULL: that of this machine */
    const char *const *environment;       /* of SLURM's programs */
    const char *state, *reason, *problem; /* "RUNNING"; why it waits; why SLURM did not answer; "": none */
    const char *source;                   /* program that gave the state; NULL: none did */
    int exit_code, exit_signal;           /* of the job, once it has ended; -1: unknown */
    int interrupted;                      /* a signal that arrived while a program ran; 0: none */
} gt_slurm_job;

/* This process's variables without those that change what SLURM's programs do or print. Variables of sbatch
 * stay if they supply a setting that the context does not have: SBATCH_ACCOUNT, SBATCH_PARTITION. */
const char *const *gt_slurm_environment(gt_arena *arena, const gt_value *slurm_settings);

/* Runs a program of SLURM. What it prints is in `text`, its last error line in job->problem. */
bool gt_slurm_call(gt_slurm_job *job, const char *const *argv, gt_buffer *text);

/* Submits the script; sets id and cluster. */
bool gt_slurm_submit(gt_slurm_job *job, const char *script);

typedef enum gt_slurm_answer {
    GT_SLURM_WAITS,  /* it is in the queue or runs; state and reason are set */
    GT_SLURM_ENDED,  /* the state is final */
    GT_SLURM_GONE,   /* nobody remembers it: it has ended, and the state is unknown */
    GT_SLURM_SILENT, /* SLURM did not answer; see `problem` */
} gt_slurm_answer;

gt_slurm_answer gt_slurm_ask(gt_slurm_job *job);

/* Sends SIGTERM to the processes of the job's steps, so that the nodes can collect what they have; or to its
 * script, for launchers that end their processes themselves. */
bool gt_slurm_stop(gt_slurm_job *job, bool script);
/* Cancels the job. */
bool gt_slurm_cancel(gt_slurm_job *job);

/* ---- showing output (slurm_follow.c) ---- */

/* A file that grows, such as the output of a job. */
typedef struct gt_follower {
    const char *path;
    int shown_at;   /* our descriptor; -1: no longer */
    int descriptor; /* -1: not open */
    ino_t inode;
    off_t offset;
} gt_follower;

/* Shows what was added since the last call. The file may not exist yet, or may begin again. */
void gt_follower_show(gt_follower *follower);
/* Opens the file again, because a network file system may show the end of a file only then, shows the rest
 * and closes it. */
void gt_follower_end(gt_follower *follower);

#endif
