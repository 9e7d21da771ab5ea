/* Gives the profiler's files the names that the user asked for with -d and -o.
 *
 * The profiler wrote them into a folder of this run alone, DIR/TIMESTAMP, with the process id in each name.
 * With -d DIR -o NAME the user expects
 *
 *     DIR/[pmc_1/]NAME_kernel_trace.csv           one process: a link; several: all rows in one file
 *     DIR/[pmc_1/]NAME_results.db|json|pftrace    a link; of several processes: to the largest
 *     DIR/[pmc_1/]NAME_123_kernel_trace.csv       links; without -o: HOST/123_kernel_trace.csv
 *
 * A file of an earlier run that has such a name is replaced, as rocprofv3 would do; no other file is touched.
 * In rocprof_output, which is described as a folder of runs, only the first two are made, and nothing per
 * pass: collect.c combines the passes there. */
#include "run/execute/execute.h"
#include "run/execute/found_files.h"
#include "os/paths.h"

typedef struct publisher {
    gt_arena *arena;
    gt_outcome *outcome;
    const gt_profiler *profiler;
    bool is_default; /* the folder is rocprof_output */
    gt_made_files made;
} publisher;

static bool make_folder_of(const publisher *p, const char *path, gt_error *error)
{
    return gt_path_make_folder(gt_arena_bytes(p->arena, path, gt_path_folder_len(path)), error);
}

/* Makes `to` a link to a file, or one of several files. */
static void publish(publisher *p, const char *const *paths, size_t count, const char *to)
{
    gt_error error;
    bool ok = make_folder_of(p, to, &error);
    if (ok && count > 1) {
        unlink(to); /* not through a link to a file of an earlier run */
        ok = gt_found_files_merge(paths, count, to, &error);
    } else if (ok) {
        ok = gt_found_file_link(paths[0], to, &error);
    }
    if (!ok) {
        gt_warn("%s", error.text);
        return;
    }
    gt_made_files_add(&p->made, p->arena, to);
    gt_arg_list_add(p->arena, &p->outcome->files, to);
}

/* Where the user expects a file, by its path below the folder of the run. */
static const char *path_in_named(const publisher *p, const char *path)
{
    return gt_path_join(p->arena, p->profiler->named_dir, path + strlen(p->profiler->output_dir) + 1);
}

/* The name without what was added for each process; NULL if the profiler did not name the file so. */
static const char *plain_path(const publisher *p, const gt_found_file *file)
{
    const char *plain = p->profiler->file_name ? gt_path_name(p->profiler->file_name) : NULL;
    size_t len = plain ? strlen(plain) : 0;
    if (!plain || strncmp(file->name, plain, len) != 0 || file->name[len] != '_' || !file->pid) return NULL;
    const char *there = path_in_named(p, file->path);
    return gt_arena_format(p->arena, "%.*s%s_%s", (int)gt_path_folder_len(there), there, plain, file->kind);
}

typedef struct plain_file {
    const char *to;
    const gt_found_file *file;
    size_t order; /* of the process */
} plain_file;

static int by_plain_name(const void *a, const void *b)
{
    const plain_file *x = a, *y = b;
    int order = strcmp(x->to, y->to);
    return order ? order : x->order < y->order ? -1 : x->order > y->order;
}

static void publish_plain(publisher *p, const plain_file *files, size_t count)
{
    const char **paths = gt_arena_alloc(p->arena, count * sizeof *paths), *kind = files[0].file->kind;
    size_t len = strlen(kind), largest = 0;
    bool is_csv = len > 4 && strcmp(kind + len - 4, ".csv") == 0,
         is_same = strcmp(kind, "agent_info.csv") == 0;
    for (size_t i = 0; i < count; i++) {
        paths[i] = files[i].file->path;
        if (files[i].file->bytes > files[largest].file->bytes) largest = i;
    }
    if (is_csv && !is_same)
        publish(p, paths, count, files[0].to);
    else
        publish(p, &paths[is_same ? 0 : largest], 1, files[0].to);
}

static void publish_all(publisher *p)
{
    gt_found_files files = gt_found_files_list(p->arena, p->profiler->output_dir);
    plain_file *plain = gt_arena_alloc(p->arena, (files.count + 1) * sizeof *plain);
    size_t count = 0;
    for (size_t i = 0; i < files.count; i++) {
        const gt_found_file *file = &files.items[i];
        if (p->is_default && file->pass) continue;
        const char *to = plain_path(p, file);
        if (to) plain[count++] = (plain_file){to, file, i};
        if (!p->is_default) publish(p, &file->path, 1, path_in_named(p, file->path));
    }
    if (count) qsort(plain, count, sizeof *plain, by_plain_name);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && strcmp(plain[end].to, plain[first].to) == 0;) end++;
        publish_plain(p, &plain[first], end - first);
    }
}

void gt_publish(const gt_plan *plan, gt_outcome *outcome)
{
    const char *root = gt_path_join(plan->arena, plan->output_dir, "rocprof_output");
    gt_error error;
    for (size_t i = 0; i < plan->piece_count; i++) {
        const gt_profiler *profiler = plan->pieces[i].profiler;
        if (!profiler || !profiler->named_dir) continue;
        publisher p = {.arena = plan->arena,
                       .outcome = outcome,
                       .profiler = profiler,
                       .is_default = strcmp(profiler->named_dir, root) == 0};
        publish_all(&p);
        if (!gt_made_files_list(&p.made, plan->arena, &error)) gt_warn("%s", error.text);
    }
}
