/* What is known about a SLURM job: asking SLURM for its state (slurm_queue.c) and that of the tasks of an
 * array (slurm_array.c), and waiting (slurm_wait.c). Used by
 * slurm_job.c and by sweeps. */
#pragma once

#include "json/values.h"

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

/* The first program that is needed to submit jobs and is not in PATH; NULL: all are there. */
const char *gt_slurm_missing_program(gt_arena *arena);

/* Whether the cluster has the partitions of the settings, so that nothing is prepared for a job that sbatch
 * refuses. True if SLURM does not say. */
bool gt_slurm_check_partition(gt_arena *arena, const gt_value *slurm_settings, gt_error *error);

/* Calls a program about jobs of the job's cluster, with `count` arguments. */
bool gt_slurm_call_about(gt_slurm_job *job, const char *const *words, size_t count, gt_buffer *text);

/* Submits a script: calls sbatch with these arguments, which end with NULL; sets id and cluster. */
bool gt_slurm_submit(gt_slurm_job *job, const char *const *arguments);

typedef enum gt_slurm_answer {
    GT_SLURM_WAITS,  /* it is in the queue or runs; state and reason are set */
    GT_SLURM_ENDED,  /* the state is final */
    GT_SLURM_GONE,   /* nobody remembers it: it has ended, and the state is unknown */
    GT_SLURM_SILENT, /* SLURM did not answer; see `problem` */
} gt_slurm_answer;

gt_slurm_answer gt_slurm_ask(gt_slurm_job *job);
/* Whether the answer begins with a state that SLURM has; *is_final: the job has ended. */
bool gt_slurm_is_state(const char *answer, bool *is_final);

/* Sends SIGTERM to the processes of the job's steps, so that the nodes can collect what they have; or to its
 * script, for launchers that end their processes themselves. */
bool gt_slurm_stop(gt_slurm_job *job, bool script);
/* Cancels the job. */
bool gt_slurm_cancel(gt_slurm_job *job);

/* ---- tasks of job arrays (slurm_array.c) ---- */

/* How many tasks an array may have: MaxArraySize of the cluster, or SLURM's default if it does not answer. */
size_t gt_slurm_array_max(gt_slurm_job *job);

/* A line of the queue. */
typedef struct gt_slurm_task {
    const char *job_name;
    const char *array;  /* the number of the array: the task is job ARRAY_INDEX */
    const char *state;  /* "RUNNING" */
    const char *reason; /* why it waits */
    size_t index;
    bool is_final;
} gt_slurm_task;

/* The tasks of all arrays with these names (comma-separated) that SLURM still remembers, in the arena.
 * Returns false if SLURM does not answer; see `problem`. */
bool gt_slurm_ask_tasks(gt_slurm_job *job, const char *job_names, gt_slurm_task **tasks, size_t *count);

/* ---- waiting (slurm_wait.c) ---- */

enum { GT_SLURM_SILENCES_MAX = 30 }; /* unanswered questions in a row until the state is unknown */

/* Counts signals that end programs, from now on; the handlers of before come back with restore. */
void gt_slurm_watch_signals(void);
void gt_slurm_restore_signals(void);
int gt_slurm_interrupts(void); /* all but SIGHUP */
bool gt_slurm_hung_up(void);
/* Counts a signal that arrived while a program of SLURM ran: gt_child_run took it. */
void gt_slurm_take_signal(gt_slurm_job *job);

/* GPUTALLY_SLURM_POLL_SECONDS; 0: not set. */
double gt_slurm_poll_s(void);
/* Seconds until the next question: one at first, growing to half a minute, or those of the variable; longer
 * after questions without an answer. *pause_s is 0 at first. */
double gt_slurm_next_pause(double *pause_s, int silences);
