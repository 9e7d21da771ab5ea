/* Runs the command of a point, here or as a task on a node. */
#include "os/child.h"
#include "os/clock.h"
#include "os/paths.h"
#include "output/file.h"
#include "sweep/run/run.h"

static const char *const outputs[] = {"torch_profiler", "rocprof_traces", "run_output.log"};

/* What an earlier run has left would be taken for that of this one: names of traces differ from run to run.
 * It is moved to FOLDER/earlier/<k>. */
static bool set_aside(const gt_run_point *point, gt_error *error)
{
    gt_arena arena = {0};
    const char *to = NULL;
    bool ok = true;
    for (size_t i = 0; ok && i < GT_LENGTH(outputs); i++) {
        const char *from = gt_path_join(&arena, point->folder, outputs[i]);
        struct stat status;
        if (lstat(from, &status) != 0) continue;
        for (int k = 1; !to; k++) {
            const char *free_name = gt_arena_format(&arena, "%s/" GT_SWEEP_EARLIER "/%d", point->folder, k);
            if (lstat(free_name, &status) != 0) to = free_name;
        }
        ok = gt_path_make_folder(to, error) &&
             (rename(from, gt_path_join(&arena, to, outputs[i])) == 0 || gt_fail_writing(error, from, errno));
    }
    gt_arena_free(&arena);
    return ok;
}

bool gt_run_make_folders(const gt_run_point *point, gt_error *error)
{
    return gt_path_make_folder(point->folder, error) && set_aside(point, error) &&
           (!point->rocprof_folder || gt_path_make_folder(point->rocprof_folder, error));
}

/* A folder can be set aside only by who may write into it, also if the command has made it. */
static void share_outputs(const gt_run_point *point)
{
    for (size_t i = 0; i < GT_LENGTH(outputs); i++) {
        char *path = gt_format("%s/%s", point->folder, outputs[i]);
        gt_path_share(path);
        gt_free(path);
    }
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
        .ends_rest = true, /* it would disturb the next run */
        .timeout_s = limits->timeout_s,
    };
    gt_child_result child = {0};
    outcome->started = time(NULL);
    double began = gt_clock_now_s();
    bool started = gt_child_run(&setup, &child, error);
    outcome->ended = time(NULL);
    outcome->exit_code = child.exit_code;
    outcome->seconds = gt_clock_now_s() - began; /* until everything that it started has ended */
    outcome->duration_s = (int64_t)outcome->seconds;
    outcome->ended_rest = child.ended_rest;
    outcome->status = started ? status_of(&child) : GT_RUN_FAILED;
    share_outputs(point);
    if (outcome->status == GT_RUN_SUCCESS) gt_run_outputs(point->folder, &outcome->files, &outcome->bytes);
    gt_free(log_path);
    return started;
}
