/* Reports on one run that is not in a sweep: a sweep of one setting without a name. */
#include "sweep/report.h"
#include "os/paths.h"
#include "sweep/compare/compare.h"

static bool has_traces(const char *folder)
{
    gt_sweep_traces traces = gt_sweep_traces_in(folder);
    bool has = traces.count > 0;
    gt_sweep_traces_free(&traces);
    return has;
}

bool gt_single_run_find(gt_single_run *run, const char *path, gt_error *error)
{
    char whole[PATH_MAX];
    *run = (gt_single_run){0};
    if (!realpath(path, whole) || !gt_path_is_folder(whole))
        return gt_fail(error, "directory not found: %s", path);
    run->folder = gt_run_folder(path, error);
    if (!run->folder) return false;
    run->profiler = gt_format("%s/torch_profiler", run->folder);
    if (gt_has_rank_folders(whole) || !gt_path_is_folder(run->profiler)) {
        gt_free(run->profiler);
        run->profiler = gt_strdup(whole);
    }
    return has_traces(run->profiler) ||
           gt_fail(error, "%s: no traces: no rank<R>/*.json in it or in its folder torch_profiler", path);
}

void gt_single_run_free(gt_single_run *run)
{
    gt_free_all(run->folder, run->profiler);
    *run = (gt_single_run){0};
}

bool gt_single_run_report(const gt_single_run *run, const char *folder, gt_sweep_report_options options,
                          gt_sweep_totals *totals, gt_error *error)
{
    gt_sweep_config config = {.repeat = 1,
                              .status = GT_RUN_UNKNOWN,
                              .folder = run->folder,
                              .place = ".",
                              .name = gt_path_name(run->folder),
                              .setting = gt_path_name(run->folder),
                              .report_folder = ".",
                              .report_name = ""};
    const gt_sweep sweep = {.configs = &config, .count = 1};
    char *analysis = folder ? gt_strdup(folder) : gt_format("%s/" GT_SWEEP_ANALYSIS, run->folder);
    options.profiler_folder = run->profiler;
    bool made = gt_sweep_make_reports(&sweep, run->profiler, analysis, &options, totals, error);
    gt_free(analysis);
    return made;
}
