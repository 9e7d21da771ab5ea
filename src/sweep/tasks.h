/* Runs of a sweep that are tasks of a SLURM job array: where each attempt is recorded.
 *
 * Tasks end on several nodes at the same time, so none of them writes sweep.json. Each attempt at a task has
 * a small file of its own, which only its process writes: at its begin, and again at its end. Whoever reads
 * sweep.json adds what these files say (gt_tasks_merge), and whoever writes it writes the result; the files
 * stay, so nothing is lost if two do so at the same time, or if nobody was there when the tasks ended.
 *
 *     SWEEP/slurm/STAMP/                 one submission
 *       tasks.json                       name of the arrays, tasks per array, and each task: its folder,
 *                                        arguments and variables, with secrets masked
 *       secrets.json                     mode 0600, only if tasks.json masks something: the same with the
 *                                        values, for the tasks; removed when all of them have ended
 *       job.sh, <array>_<task>.out       the script, and what it printed
 *       jobs.json                        numbers of the arrays
 *       results/<task>.<restart>.json    an attempt: job, node, start; once it has ended, status, exit code,
 * end results/<task>.slurm.json        how a task ended that could not write this itself, as SLURM said
 *       nodes/<host>.json                the machine of the tasks that ran there
 *
 * A task is the number of a run in the submission; task 1200 is the 200th of the second array if an array may
 * have 1000. SLURM starts a task again after its node failed: restart is 0 at first. */
#pragma once

#include "json/values.h"
#include "sweep/status.h"

#define GT_SWEEP_SLURM   "slurm" /* folder below the sweep's */
#define GT_SWEEP_SECRETS "secrets.json"

typedef struct gt_task {
    const char *place;        /* folder of its run below the sweep's */
    const gt_value *json;     /* its object in tasks.json */
    const gt_value *attempts; /* list of those that have ended, as sweep.json has them; the earliest first */
    const char *job;          /* "12_3"; NULL: it has never started */
    size_t restart;           /* of the last start */
    bool is_begun;            /* it has started at least once */
    bool is_ended;            /* it will not run again; `status` says how it ended */
    gt_run_status status;     /* PENDING: it was cancelled before it started */
    int64_t duration_s;
} gt_task;

typedef struct gt_submission {
    const char *stamp, *folder;
    const char *name;     /* of the arrays, without the number of each */
    size_t array_size;    /* tasks per array */
    const gt_value *json; /* tasks.json */
    const gt_value *jobs; /* list of the numbers of the arrays, as far as known */
    gt_task *tasks;
    size_t count;
} gt_submission;

/* The submissions of a sweep, the earliest first, without what cannot be read, which is said in a warning.
 * All memory is in the arena. */
size_t gt_submissions_read(gt_arena *arena, const char *root, gt_submission **submissions);
/* One of them; NULL if it cannot be read. */
gt_submission *gt_submission_read(gt_arena *arena, const char *root, const char *stamp);

/* The record of a sweep (the value of sweep.json) with what its tasks have done since it was written:
 * outcomes, attempts, and the machines that they ran on. `places` has the folder of each item of "points",
 * which must be a list; NULL: not known. */
const gt_value *gt_tasks_merge(gt_arena *arena, const char *root, const gt_value *record,
                               const char *const *places);
