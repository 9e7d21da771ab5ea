/* Collecting: the tree is listed once; links, merged files and conversions follow from the list. */
#include "run/execute/collect.h"
#include "base/length.h"
#include "base/log.h"
#include "run/execute/collect_files.h"
#include "run/execute/convert_csv.h"
#include "run/sensors/histogram.h"
#include "os/paths.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct collector {
    const gt_plan *plan;
    gt_outcome *outcome;
    const gt_profiler *profiler;
    const char *tree; /* what the profiler wrote */
    const char *root; /* <output-dir>/rocprof_output */
    gt_found_files files;
} collector;

static const char *const top_tables[] = {"kernel_trace.csv", "hip_api_trace.csv", "memory_copy_trace.csv"};
static const char *const canonical_tables[] = {"agent_info.csv",    "domain_stats.csv",
                                               "kernel_stats.csv",  "kernel_trace.csv",
                                               "hip_api_trace.csv", "counter_collection.csv"};
static const char *const results[] = {"results.db", "results.json", "results.pftrace"};

static void warn(const gt_error *error)
{
    gt_warn("%s", error->text);
}

static void add_output(collector *c, const char *path)
{
    gt_arg_list_add(c->plan->arena, &c->outcome->files, path);
}

static void link_to(collector *c, const char *from, const char *to)
{
    gt_error error;
    if (gt_link_file(from, to, &error))
        add_output(c, to);
    else
        warn(&error);
}

/* ---- legacy results in the work folder ---- */

static bool is_new(const collector *c, const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_mtim.tv_sec >= c->outcome->begin.tv_sec;
}

static void move_legacy(collector *c)
{
    DIR *dir = opendir(c->plan->workdir);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        const char *from = gt_path_join(c->plan->arena, c->plan->workdir, entry->d_name);
        if (strncmp(entry->d_name, "results.", 8) != 0 || !is_new(c, from)) continue;
        const char *to = gt_path_join(c->plan->arena, c->tree, entry->d_name);
        if (rename(from, to) != 0) gt_warn("cannot move %s to %s: %s", from, to, strerror(errno));
    }
    if (dir) closedir(dir);
}

/* ---- results ---- */

static bool is_result(const gt_found_file *file)
{
    for (size_t i = 0; i < GT_LENGTH(results); i++)
        if (strcmp(file->kind, results[i]) == 0) return true;
    return false;
}

static bool is_taken(const char *path, const char *by)
{
    struct stat there, ours;
    return stat(path, &there) == 0 && stat(by, &ours) == 0 &&
           (there.st_ino != ours.st_ino || there.st_dev != ours.st_dev);
}

static void link_results(collector *c)
{
    for (size_t i = 0; i < c->files.count; i++) {
        const gt_found_file *file = &c->files.items[i];
        if (!is_result(file) || file->at_top) continue;
        const char *to = gt_path_join(c->plan->arena, c->tree, file->name);
        if (is_taken(to, file->path)) {
            to = gt_arena_format(c->plan->arena, "%s/%s_%s", c->tree,
                                 file->pass_folder ? file->pass_folder : "other", file->name);
        }
        link_to(c, file->path, to);
    }
}

static void link_largest(collector *c, const char *kind, const char *name)
{
    const gt_found_file *largest = NULL;
    for (size_t i = 0; i < c->files.count; i++)
        if (strcmp(c->files.items[i].kind, kind) == 0 &&
            (!largest || c->files.items[i].bytes > largest->bytes))
            largest = &c->files.items[i];
    const char *to = gt_path_join(c->plan->arena, c->root, gt_path_name(name));
    struct stat status;
    if (largest)
        link_to(c, largest->path, to);
    else if (lstat(to, &status) == 0 && (status.st_nlink > 1 || S_ISLNK(status.st_mode)))
        unlink(to); /* a link to an earlier run's */
}

/* ---- tables ---- */

/* Files of one kind that belong together: of counters all passes; of the rest those of the first pass, since
 * later ones record the same program again; of agents one. */
static size_t files_of(const collector *c, const char *kind, const char **paths)
{
    bool all_passes = strcmp(kind, "counter_collection.csv") == 0, one = strcmp(kind, "agent_info.csv") == 0;
    size_t count = 0;
    unsigned pass = 0;
    for (size_t i = 0; i < c->files.count; i++) {
        const gt_found_file *file = &c->files.items[i];
        if (strcmp(file->kind, kind) != 0 || strcmp(file->name, kind) == 0)
            continue; /* one that was put together */
        if (count && ((file->pass != pass && !all_passes) || one)) break;
        pass = file->pass;
        paths[count++] = file->path;
    }
    return count;
}

static bool put_together(collector *c, const char *kind, const char *to)
{
    const char **paths = gt_arena_alloc(c->plan->arena, (c->files.count + 1) * sizeof *paths);
    size_t count = files_of(c, kind, paths);
    gt_error error;
    if (count == 1) {
        link_to(c, paths[0], to);
    } else if (count) {
        unlink(to); /* not through a link of an earlier run */
        if (gt_csv_merge(paths, count, to, &error))
            add_output(c, to);
        else
            warn(&error);
    }
    return count > 0;
}

static void put_tables_together(collector *c)
{
    for (size_t i = 0; i < GT_LENGTH(top_tables); i++)
        put_together(c, top_tables[i], gt_path_join(c->plan->arena, c->tree, top_tables[i]));
    for (size_t i = 0; i < GT_LENGTH(canonical_tables); i++) {
        const char *to =
            gt_arena_format(c->plan->arena, "%s/rocprofv3_output_%s", c->root, canonical_tables[i]);
        if (!put_together(c, canonical_tables[i], to)) unlink(to); /* that of an earlier run would mislead */
    }
}

/* ---- other formats ---- */

static bool asks_for_kernels(const gt_profiler *profiler)
{
    static const char *const options[] = {"--kernel-trace", "--runtime-trace", "--sys-trace", "-r", "-s"};
    for (size_t i = 0; i < profiler->options.count; i++)
        for (size_t o = 0; o < GT_LENGTH(options); o++)
            if (strcmp(profiler->options.items[i], options[o]) == 0) return true;
    return false;
}

static bool has_kind(const collector *c, const char *kind)
{
    for (size_t i = 0; i < c->files.count; i++)
        if (strcmp(c->files.items[i].kind, kind) == 0) return true;
    return false;
}

/* Tables from databases, JSON or Perfetto traces; and whether there is any kernel in them. */
static void convert(collector *c)
{
    bool has_csv = has_kind(c, "kernel_trace.csv"), has_other = false;
    for (size_t i = 0; i < GT_LENGTH(results); i++) has_other = has_other || has_kind(c, results[i]);
    size_t kernels = 0;
    gt_error error;
    if (!has_csv && has_other) {
        if (!gt_convert_csv(c->tree, c->tree, &kernels, &c->outcome->files, c->plan->arena, &error)) {
            warn(&error);
            return;
        }
        has_csv = kernels > 0;
    }
    if (!has_csv && asks_for_kernels(c->profiler)) gt_warn("no GPU kernel records in %s", c->tree);
}

static void link_latest(collector *c)
{
    if (strcmp(c->tree, c->plan->run_dir) != 0) return;
    const char *link = gt_path_join(c->plan->arena, c->root, "latest");
    struct stat status;
    if (lstat(link, &status) == 0 && !S_ISLNK(status.st_mode)) return;
    unlink(link);
    if (symlink(c->plan->timestamp, link) != 0) gt_warn("cannot make the link %s: %s", link, strerror(errno));
}

static void list_all(collector *c)
{
    for (size_t i = 0; i < c->files.count; i++) add_output(c, c->files.items[i].path);
}

static void collect_rocprof(collector *c)
{
    gt_error error;
    if (c->profiler->kind == GT_PROFILER_ROCPROF) move_legacy(c);
    if (!gt_path_make_folder(c->root, &error)) {
        warn(&error);
        return;
    }
    c->files = gt_found_files_list(c->plan->arena, c->tree);
    list_all(c);
    convert(c);
    put_tables_together(c);
    link_results(c);
    link_largest(c, "results.pftrace",
                 c->profiler->trace_name ? c->profiler->trace_name : "model_trace.pftrace");
    link_largest(c, "results.json", "trace.json");
    gt_histogram_write(c->root, &c->outcome->files, c->plan->arena);
    link_latest(c);
}

/* rpd writes trace.rpd into the work folder. */
static void collect_rpd(collector *c)
{
    const char *from = gt_path_join(c->plan->arena, c->plan->workdir, "trace.rpd");
    const char *to = gt_path_join(c->plan->arena, c->tree, "trace.rpd");
    if (is_new(c, from) && rename(from, to) != 0)
        gt_warn("cannot move %s to %s: %s", from, to, strerror(errno));
    if (access(to, F_OK) != 0) gt_warn("the tracer left no trace.rpd");
}

void gt_collect(const gt_plan *plan, gt_outcome *outcome)
{
    for (size_t i = 0; i < plan->piece_count; i++) {
        const gt_profiler *profiler = plan->pieces[i].profiler;
        if (!profiler) continue;
        collector c = {.plan = plan, .outcome = outcome, .profiler = profiler, .tree = profiler->output_dir};
        c.root = gt_path_join(plan->arena, plan->output_dir, "rocprof_output");
        if (profiler->kind == GT_PROFILER_ROCPROFV3 || profiler->kind == GT_PROFILER_ROCPROF) {
            collect_rocprof(&c);
            continue;
        }
        if (profiler->kind == GT_PROFILER_RPD) collect_rpd(&c);
        c.files = gt_found_files_list(plan->arena, c.tree);
        list_all(&c);
    }
}
