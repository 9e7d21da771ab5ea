/* Runs the points of a sweep one after another, and keeps a log, a summary and sweep.json of it in the
 * sweep's folder.
 *
 * Each command runs in a process group of its own (run/child.h). SIGINT, SIGTERM, SIGHUP and SIGQUIT end it
 * and the sweep; a command that fails or takes too long does not. */
#ifndef GT_SWEEP_RUN_RUNNER_H
#define GT_SWEEP_RUN_RUNNER_H

#include "sweep/run/plan.h"

typedef struct gt_runner_options {
    bool skip_existing; /* points whose folder is there are not run */
    bool no_summary;
    bool quiet; /* the commands' output goes to their logs only, and lines of the sweep to its log only */
    int64_t delay_s, timeout_s; /* 0: none */
} gt_runner_options;

typedef struct gt_runner_result {
    size_t failed;    /* points that failed or took too long */
    bool interrupted; /* by a signal */
} gt_runner_result;

/* The plan must have been checked. False where the sweep could not be begun or recorded. */
bool gt_runner_run(const gt_run_plan *plan, const gt_runner_options *options, gt_runner_result *result,
                   gt_error *error);

/* Prints what would be run, and makes nothing. */
void gt_runner_print(const gt_run_plan *plan, const gt_runner_options *options);

#endif
