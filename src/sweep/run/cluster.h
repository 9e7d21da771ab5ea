/* `sweep run` on SLURM: the points that are left become the tasks of a job array. tasks.h says which files
 * tell what the tasks do.
 *
 * submit.c: writes the list of tasks and the script, and submits the arrays. task_plan.c: reads what a task
 * runs, and task.c runs it on a node. watch.c: asks SLURM what the tasks do, and records how those ended that
 * could not do so themselves. cluster.c: puts it together. */
#pragma once

#include "run/targets/slurm_job.h"
#include "sweep/run/steps.h"
#include "sweep/tasks.h"

/* Runs what is to be run as tasks, and waits for them. */
bool gt_runner_on_slurm(gt_runner *r, gt_error *error);

/* Of a sweep that runs here: marks the runs that tasks of an earlier call have in the queue of SLURM, and
 * records how killed tasks ended. Fails if there are some in the queue and the sweep is not continued. */
bool gt_runner_check_queue(gt_runner *r, gt_error *error);

/* ---- submitting (submit.c) ---- */

/* Makes the folder of a submission of these runs, with the list of tasks and the script; returns its name
 * (STAMP) in the arena, or NULL. */
const char *gt_submission_make(gt_runner *r, gt_slurm_job *job, const size_t *runs, size_t count,
                               gt_error *error);
/* Submits the arrays of a submission, and writes their numbers to jobs.json. Returns false if one could not
 * be submitted; *submitted is the number of tasks that were. */
bool gt_submission_submit(gt_runner *r, gt_slurm_job *job, const gt_submission *submission, size_t *submitted,
                          gt_error *error);
/* Prints the commands that submit it. */
void gt_submission_print(gt_runner *r, const gt_submission *submission);

/* ---- a task (task_plan.c) ---- */

typedef struct gt_task_plan {
    gt_run_point point; /* its arena has all memory */
    gt_arg_list unset;  /* names of variables that it does not inherit */
    int64_t timeout_s;  /* 0: none */
} gt_task_plan;

/* Reads a task of a submission; `folder` is that of the submission. Free the plan also after a failure. */
bool gt_task_plan_read(gt_task_plan *plan, const char *folder, size_t task, gt_error *error);
void gt_task_plan_free(gt_task_plan *plan);

/* ---- watching (watch.c) ---- */

/* The tasks of one submission that is waited for. */
typedef struct gt_watched {
    const char *stamp;
    gt_arg_list arrays; /* numbers, as far as known */
    size_t count;
    struct gt_watched_task {
        double gone_since; /* when SLURM first did not have it, and it had no result; 0: it has */
        bool is_over;      /* its result was taken, or was there before */
        bool is_queued;    /* SLURM has it in the queue */
        bool is_running;
        char final_state[24]; /* that the queue has; "": none */
    } * tasks;
    size_t asked, forgotten; /* in this look: questions about single tasks, and how often nobody knew */
} gt_watched;

typedef struct gt_watch {
    gt_runner *r;
    gt_slurm_job job;
    gt_watched *items;
    size_t count;
    const gt_interner *places; /* of all runs of the plan */
    uint32_t first_place;      /* of the first run; those of the others follow */
    size_t queued, running, over;
    int silences; /* unanswered questions in a row */
} gt_watch;

/* The run of the plan with this place; SIZE_MAX: none. */
size_t gt_watch_run(const gt_watch *watch, const char *place);
/* Adds a submission. */
void gt_watch_add(gt_watch *watch, const gt_submission *submission);
/* Looks at the results and asks SLURM once. Tasks that have ended since are noted in the outcomes of the runs
 * and in the log. A task that SLURM does not have any more and that has no result gets one after `grace_s`.
 * Returns whether any task has ended. */
bool gt_watch_look(gt_watch *watch, double grace_s);
/* Whether a task is in the queue or may be. */
bool gt_watch_is_over(const gt_watch *watch);
/* Cancels all arrays. */
void gt_watch_cancel(gt_watch *watch);
