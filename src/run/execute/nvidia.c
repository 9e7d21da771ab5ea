/* What is done with the reports of NVIDIA's profilers? Only their own programs can read them, so each report
 * is exported next to itself: HOST_PID.nsys-rep to HOST_PID.sqlite, HOST_PID.ncu-rep to HOST_PID.csv. These
 * are what our reports read. A report that cannot be exported stays and gives a warning. */
#include "run/execute/execute.h"
#include "os/child.h"
#include "os/own.h"
#include "os/paths.h"

typedef struct nvidia_export {
    const gt_plan *plan;
    FILE *file;      /* receives standard output; NULL: dropped */
    char said[1024]; /* the last line that the program printed, for the warning */
} nvidia_export;

static bool take_line(void *context, gt_child_stream stream, gt_str line)
{
    nvidia_export *e = context;
    if (e->file && stream == GT_CHILD_STDOUT) {
        fwrite(line.bytes, 1, line.len, e->file);
        fputc('\n', e->file);
    } else if (line.len) {
        snprintf(e->said, sizeof e->said, "%.*s", line.len < 1000 ? (int)line.len : 1000, line.bytes);
    }
    return false;
}

static bool run_program(nvidia_export *e, const char *const *argv, const char *report)
{
    gt_child_setup setup = {
        .argv = argv, .directory = e->plan->workdir, .silent = true, .line = take_line, .line_context = e};
    gt_child_result result;
    gt_error error;
    if (!gt_child_run(&setup, &result, &error))
        gt_warn("%s: not exported: %s", report, error.text);
    else if (result.exit_code)
        gt_warn("%s: not exported, exit status %d%s%s", report, result.exit_code, *e->said ? ": " : "",
                e->said);
    else
        return true;
    return false;
}

static void export_nsys(const gt_plan *plan, const char *program, const char *report, const char *to)
{
    nvidia_export e = {.plan = plan};
    const char *argv[] = {program,
                          "export",
                          "--type=sqlite",
                          gt_arena_format(plan->arena, "--output=%s", to),
                          "--force-overwrite=true",
                          report,
                          NULL};
    run_program(&e, argv, report);
}

/* ncu prints numbers as the locale has them; in the C locale they have a point and no separators. */
static void export_ncu(const gt_plan *plan, const char *program, const char *report, const char *to)
{
    nvidia_export e = {.plan = plan};
    const char *part = gt_arena_format(plan->arena, "%s.part", to);
    const char *argv[] = {"env",    "LC_ALL=C", program,         "--import", report, "--csv",
                          "--page", "raw",      "--print-units", "base",     NULL};
    e.file = gt_own_fopen(part, "w");
    if (!e.file) {
        gt_warn("cannot write %s: %s", part, strerror(errno));
        return;
    }
    bool done = run_program(&e, argv, report);
    bool whole = !ferror(e.file);
    whole = fclose(e.file) == 0 && whole;
    if (done && !whole) gt_warn("cannot write %s: %s", part, strerror(errno));
    if (!done || !whole)
        unlink(part);
    else if (rename(part, to) != 0)
        gt_warn("cannot write %s: %s", to, strerror(errno));
}

/* "latest" next to the folder of this run */
static void link_latest(const gt_plan *plan, const char *folder)
{
    const char *link = gt_path_join(plan->arena, folder, "../latest");
    if (unlink(link) != 0 && errno != ENOENT) return;
    if (symlink(gt_path_name(folder), link) != 0)
        gt_warn("cannot make the link %s: %s", link, strerror(errno));
}

static void export_reports(const gt_plan *plan, const gt_profiler *profiler)
{
    bool is_nsys = profiler->kind == GT_PROFILER_NSYS;
    const char *ending = is_nsys ? ".nsys-rep" : ".ncu-rep", *folder = profiler->output_dir;
    const char *program = plan->image ? gt_nvidia_search(plan->arena, profiler->kind) : profiler->path;
    gt_folder_list names = gt_list_folder(folder);
    size_t reports = 0;
    for (size_t i = 0; i < names.count; i++) {
        if (!gt_has_ending(names.items[i], ending)) continue;
        const char *report = gt_path_join(plan->arena, folder, names.items[i]);
        const char *to = gt_arena_format(plan->arena, "%.*s%s", (int)(strlen(report) - strlen(ending)),
                                         report, is_nsys ? ".sqlite" : ".csv");
        reports++;
        if (!program)
            gt_warn("%s: not exported: %s", report, gt_nvidia_missing(plan->arena, profiler->kind));
        else if (is_nsys)
            export_nsys(plan, program, report, to);
        else
            export_ncu(plan, program, report, to);
    }
    for (size_t i = 0; i < names.count && is_nsys && !reports; i++)
        if (gt_has_ending(names.items[i], ".qdstrm"))
            gt_warn(
                "%s/%s: nsys wrote its raw data, but no report: this installation has no importer; import "
                "it where Nsight Systems is complete",
                folder, names.items[i]);
    if (!reports) gt_warn("%s wrote no report into %s", gt_profiler_kind_name(profiler->kind), folder);
    gt_folder_list_free(&names);
    link_latest(plan, folder);
}

void gt_nvidia_export(const gt_plan *plan)
{
    for (size_t i = 0; i < plan->piece_count; i++)
        if (plan->pieces[i].profiler && gt_nvidia_is(plan->pieces[i].profiler))
            export_reports(plan, plan->pieces[i].profiler);
}

bool gt_nvidia_forbids_counters(gt_str line)
{
    return memmem(line.bytes, line.len, "ERR_NVGPUCTRPERM", 16);
}
