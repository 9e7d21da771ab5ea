/* PyTorch traces in a folder whose report is about files of another profiler. A JAX profile has Chrome traces
 * of its own next to it, which are no traces of PyTorch: HOST.trace.json.gz and perfetto_trace.json.gz. */
#include "cli/inputs/inputs.h"

#include "input/nsys/nsys.h"
#include "input/rocprof/rocprof.h"
#include "os/paths.h"

static bool is_of_jax(const char *path)
{
    return strstr(gt_path_name(path), ".trace.json") || gt_path_is_named(path, "perfetto_trace.json.gz");
}

char *gt_folder_find_others(const char *path, const char **covered, size_t *count)
{
    gt_trace_folder others;
    bool is_rocprof = gt_rocprof_is_folder(path), is_nsys = !is_rocprof && gt_nsys_is_folder(path);
    char *first = NULL;
    *count = 0;
    gt_trace_folder_find(&others, path, false);
    for (size_t i = 0; i < others.count; i++) {
        if (!is_rocprof && !is_nsys && is_of_jax(others.paths[i])) continue;
        if (!first) first = gt_strdup(others.paths[i]);
        ++*count;
    }
    *covered = is_rocprof ? "rocprofv3 files" : is_nsys ? "exports of Nsight Systems" : "JAX profile";
    gt_trace_folder_free(&others);
    return first;
}

void gt_folder_warn_of_others(const char *path)
{
    const char *covered;
    size_t count;
    char *first = gt_folder_find_others(path, &covered, &count);
    if (count == 1)
        gt_warn("%s: the report covers the %s; for its PyTorch trace use gputally report %s", path, covered,
                first);
    else if (count)
        gt_warn("%s: the report covers the %s; for its %zu PyTorch traces use gputally report %s ...", path,
                covered, count, first);
    gt_free(first);
}
