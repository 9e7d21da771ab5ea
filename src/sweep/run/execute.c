/* Runs the command of a point, here or as a task on a node. */
#include "base/memory.h"
#include "os/child.h"
#include "os/paths.h"
#include "sweep/run/run.h"

bool gt_run_make_folders(const gt_run_point *point, gt_error *error)
{
    return gt_path_make_folder(point->folder, error) &&
           (!point->rocprof_folder || gt_path_make_folder(point->rocprof_folder, error));
}

static gt_run_status status_of(const gt_child_result *child)
{
    if (child->interrupted) return GT_RUN_INTERRUPTED;
    if (child->timed_out) return GT_RUN_TIMEOUT;
    return child->exit_code == 0 ? GT_RUN_SUCCESS : GT_RUN_FAILED;
}

bool gt_run_execute(const gt_run_point *point, const gt_run_limits *limits, gt_run_outcome *outcome,
                    gt_error *error)
{
    char *log_path = gt_format("%s/run_output.log", point->folder);
    gt_child_setup setup = {
        .argv = point->argv.items,
        .environment = point->environment.items,
        .log_path = log_path,
        .silent = limits->silent,
        .merge = true,
        .then_terminate = true,
        .in_slurm = limits->in_slurm,
        .timeout_s = limits->timeout_s,
    };
    gt_child_result child = {0};
    outcome->started = time(NULL);
    bool started = gt_child_run(&setup, &child, error);
    outcome->ended = time(NULL);
    outcome->exit_code = child.exit_code;
    outcome->seconds = child.seconds;
    outcome->duration_s = (int64_t)child.seconds;
    outcome->status = started ? status_of(&child) : GT_RUN_FAILED;
    if (outcome->status == GT_RUN_SUCCESS) gt_run_outputs(point->folder, &outcome->files, &outcome->bytes);
    gt_free(log_path);
    return started;
}
