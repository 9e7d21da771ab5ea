/* One report of all nodes of a job: of the rocprofv3 runs of the nodes together, and of the PyTorch traces of
 * all ranks. A node that failed is named, and the report is made of the others. */
#include "cli/run/reports.h"
#include "input/rocprof/rocprof.h"
#include "os/paths.h"
#include "run/targets/nodes.h"

/* The repeat that stands for all, "repeat_2": that with the median time on the first node that has one. NULL:
 * the command was not repeated. All nodes take the same one, because its processes ran together. */
static const char *typical_repeat(const gt_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++) {
        const gt_value *repeats = gt_value_get(nodes->items[i].record, "repeats");
        const char *folder = gt_settings_string(repeats, "typical");
        if (folder) return gt_path_name(folder);
    }
    return NULL;
}

/* Where a node has the files of its run, or of this repeat (NULL: it was not repeated). */
static const char *run_folder(gt_arena *arena, const gt_node *node, const char *repeat)
{
    const gt_value *runs = gt_value_get(gt_value_get(node->record, "repeats"), "runs");
    for (uint32_t i = 0; repeat && gt_value_is_list(runs) && i < runs->count; i++) {
        const char *folder = gt_settings_string(&runs->items[i], "folder");
        if (!folder || strcmp(gt_path_name(folder), repeat) != 0) continue;
        char *series = gt_path_folder(folder);
        /* Not the path itself: in a pod, the folder of the node has another one. */
        const char *found =
            gt_arena_format(arena, "%s/repeats/%s/%s", node->folder, gt_path_name(series), repeat);
        gt_free(series);
        return found;
    }
    return node->folder;
}

/* The newest rocprofv3 run of a node; NULL if there is none. */
static const char *newest_run(gt_arena *arena, const gt_node *node, const char *repeat)
{
    const char *latest = gt_path_join(arena, run_folder(arena, node, repeat), "rocprof_output/latest");
    char *real = realpath(latest, NULL);
    const char *run = real ? gt_arena_bytes(arena, real, strlen(real)) : NULL;
    free(real);
    return run && gt_path_is_folder(run) ? run : NULL;
}

/* Links the runs of the nodes into one folder, where the reader finds a process per node and process id. */
static size_t link_runs(gt_arena *arena, const gt_nodes *nodes, const char *folder, gt_error *error)
{
    const char *repeat = typical_repeat(nodes);
    size_t count = 0;
    if (!gt_path_make_folder(folder, error)) return 0;
    for (size_t i = 0; i < nodes->count; i++) {
        const char *run = newest_run(arena, &nodes->items[i], repeat);
        const char *name = gt_path_join(arena, folder, gt_path_name(nodes->items[i].folder));
        if (!run) continue;
        if (symlink(run, name) == 0 || errno == EEXIST)
            count++;
        else
            gt_fail(error, "cannot make the link %s: %s", name, strerror(errno));
    }
    return count;
}

static void report_profiler(gt_reporter *r, const gt_nodes *nodes, const char *folder)
{
    gt_error error = {""};
    const char *runs = gt_path_join(r->plan->arena, folder, "rocprof_nodes");
    const char *repeat = typical_repeat(nodes);
    bool any = false;
    for (size_t i = 0; i < nodes->count; i++)
        any = any || newest_run(r->plan->arena, &nodes->items[i], repeat);
    if (!any) return;
    size_t count = link_runs(r->plan->arena, nodes, runs, &error);
    if (error.text[0]) gt_warn("%s", error.text);
    if (count && gt_rocprof_is_folder(runs))
        gt_reporter_make(r, "report", runs,
                         gt_arena_format(r->plan->arena, "%s/%s_perf_report.xlsx", folder, r->plan->name));
}

static void write_summary(gt_reporter *r, const gt_nodes *nodes, const char *folder)
{
    gt_error error;
    const char *path = gt_arena_format(r->plan->arena, "%s/%s_run_summary.xlsx", folder, r->plan->name);
    if (gt_nodes_write_sheet(nodes, path, &error))
        gt_reporter_add(r, path);
    else
        gt_warn("%s", error.text);
}

static void name_missing(const gt_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (strcmp(nodes->items[i].status, "SUCCESS") != 0)
            gt_warn("node_%zu failed (%s): the report has only what it wrote before", i,
                    nodes->items[i].status);
}

void gt_run_reports_of_nodes(const gt_call *call, const gt_plan *plan, const char *folder, size_t count,
                             const char *shared, struct timespec begin)
{
    const char *wanted = gt_arguments_string(&call->arguments, "report");
    gt_outcome outcome = {.begin = begin};
    gt_reporter r = {.call = call, .plan = plan, .outcome = &outcome, .wanted = wanted};
    if (strcmp(wanted, "none") == 0) return;
    gt_nodes nodes = gt_nodes_read(plan->arena, folder, count);
    if (gt_reporter_wants(&r, "pytorch") || gt_reporter_wants(&r, "jax")) {
        for (size_t i = 0; i < nodes.count; i++)
            gt_reporter_find(&r, gt_path_join(plan->arena, nodes.items[i].folder, "traces"), (int64_t)i, 0);
        if (shared) gt_reporter_find(&r, shared, 0, 0);
    }
    if (gt_reporter_wants(&r, "rocprof")) report_profiler(&r, &nodes, folder);
    gt_reporter_own_traces(&r, gt_arena_format(plan->arena, "%s/%s_ranks", folder, plan->name));
    if (gt_reporter_wants(&r, "summary")) write_summary(&r, &nodes, folder);
    if (r.is_shown) name_missing(&nodes);
    if (!gt_arguments_flag(&call->arguments, "quiet")) {
        if (r.is_shown) putchar('\n');
        for (size_t i = 0; i < r.written.count; i++) printf("wrote %s\n", r.written.items[i]);
        gt_reporter_print_last(&r);
        fflush(stdout);
    }
    gt_reporter_free(&r);
}
