/* Which results of an earlier run in the same folder would be taken for those of this one?
 *
 * A run replaces the results of an earlier one that have the same names. Where it has none, because a trace
 * cannot be read or no GPU can be sampled, the old file would stay under a name of this run. It is removed,
 * with a warning, if the record of the earlier run lists it with its present size: files of others, and files
 * that were changed since, are left alone. This happens at the end, when the new results are there, so that a
 * run that is killed leaves the old results with their old record. */
#include "run/execute/execute.h"

#include <sys/stat.h>
#include <unistd.h>

static bool is_written(const gt_outcome *outcome, const char *path)
{
    for (size_t i = 0; i < outcome->files.count; i++)
        if (strcmp(outcome->files.items[i], path) == 0) return true;
    return false;
}

static bool is_sampled(const gt_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->sampler_count; i++)
        if (strcmp(plan->samplers[i].file, path) == 0) return true;
    return false;
}

/* OUTPUT_DIR/NAME_perf_report.xlsx and so on, for which this run has what they are made of. Reports with a
 * process id in their names, as those of several captures, do not have the name of one of this run. */
static bool is_report(const gt_plan *plan, const char *path)
{
    static const char *const of_profiler[] = {"perf_report.xlsx", "perf_report.html"};
    bool is = false;
    for (size_t i = 0; plan->profiler->kind != GT_PROFILER_NONE && i < GT_LENGTH(of_profiler); i++)
        is = is || strcmp(path, gt_arena_format(plan->arena, "%s/%s_%s", plan->output_dir, plan->name,
                                                of_profiler[i])) == 0;
    return is || (plan->sampler_count && strcmp(path, gt_arena_format(plan->arena, "%s/%s_run_summary.xlsx",
                                                                      plan->output_dir, plan->name)) == 0);
}

static bool is_unchanged(const char *path, const gt_value *bytes)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) && bytes->type == GT_VALUE_INT &&
           bytes->integer == (int64_t)status.st_size;
}

void gt_earlier_remove(const gt_plan *plan, const gt_outcome *outcome, bool has_reports)
{
    gt_error ignored;
    if (access(plan->record_path, R_OK) != 0) return;
    const gt_value *record = gt_settings_read(plan->arena, plan->record_path, &ignored);
    const gt_value *files = record ? gt_value_get(record, "files") : &gt_value_missing;
    for (uint32_t i = 0; files->type == GT_VALUE_LIST && i < files->count; i++) {
        const gt_value *file = &files->items[i];
        const char *path = gt_settings_string(file, "path");
        bool would_mislead = path && (is_sampled(plan, path) || (has_reports && is_report(plan, path)));
        if (!would_mislead || is_written(outcome, path) || !is_unchanged(path, gt_value_get(file, "bytes")))
            continue;
        if (unlink(path) == 0)
            gt_warn("%s of an earlier run is removed, because this run has no such result", path);
        else
            gt_warn("%s is of an earlier run and cannot be removed: %s", path, strerror(errno));
    }
}
