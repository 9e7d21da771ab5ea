/* The traces of one run. Folders are read one at a time, in byte order of names, so that the same sweep
 * always gives the same traces. */
#include "sweep/layout.h"
#include "input/rocprof/rocprof.h"
#include "os/paths.h"

enum { DEPTH_MAX = 8, FOLDER_FORMS = 3 };

/* ---- names ---- */

/* ---- traces of torch.profiler ---- */

typedef enum trace_class { CUSTOMER_TRACE, ANY_TRACE, ANY_JSON, NO_TRACE } trace_class;

static trace_class class_of(const char *name)
{
    if (!gt_ends_with(name, ".json") && !gt_ends_with(name, ".json.gz") && !gt_ends_with(name, ".json.zst"))
        return NO_TRACE;
    if (strncmp(name, "customer_trace", strlen("customer_trace")) == 0) return CUSTOMER_TRACE;
    return strstr(name, "trace") ? ANY_TRACE : ANY_JSON;
}

/* The best trace found so far: the lowest class, and of these the first. */
typedef struct best_trace {
    trace_class class;
    char *path;
    size_t others; /* of its class, in its folder */
} best_trace;

static void consider_trace(best_trace *best, const char *folder, const char *name)
{
    trace_class class = class_of(name);
    if (class > best->class || class == NO_TRACE) return;
    char *path = gt_format("%s/%s", folder, name);
    bool is_file = gt_path_is_file(path);
    if (is_file && class < best->class) {
        gt_free(best->path);
        *best = (best_trace){class, path, 0};
        return;
    }
    size_t len = strlen(folder);
    if (is_file && strncmp(best->path, folder, len) == 0 && !strchr(best->path + len + 1, '/'))
        best->others++;
    gt_free(path);
}

static bool is_own_folder(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Links to folders are not followed: they may lead back. */
static void search_folder(best_trace *best, const char *folder, unsigned depth)
{
    gt_folder_list names = gt_list_folder(folder);
    for (size_t i = 0; i < names.count; i++) consider_trace(best, folder, names.items[i]);
    for (size_t i = 0; i < names.count && depth; i++) {
        char *path = gt_format("%s/%s", folder, names.items[i]);
        if (is_own_folder(path)) search_folder(best, path, depth - 1);
        gt_free(path);
    }
    gt_folder_list_free(&names);
}

static best_trace trace_in(const char *folder)
{
    best_trace best = {.class = NO_TRACE};
    search_folder(&best, folder, 0);
    char *moved = gt_format("%s/trace", folder); /* the folder to which the Python script moves traces */
    if (!best.path) search_folder(&best, moved, 0);
    gt_free(moved);
    if (!best.path) search_folder(&best, folder, DEPTH_MAX);
    return best;
}

/* The rank in the name of a folder, and which of the three forms it has: rank1, rank_1, rank_01. */
static bool rank_of_folder(const char *name, int64_t *rank, unsigned *form)
{
    if (strncmp(name, "rank", 4) != 0) return false;
    const char *at = name + 4;
    bool apart = *at == '_';
    at += apart;
    bool padded = at[0] == '0' && at[1];
    *form = padded ? 2 : apart;
    return gt_take_number(&at, rank) && !*at;
}

/* "trace_rank1.json", "rank-1_x.json": "rank", an optional separator, and the number. */
static bool rank_of_file(const char *name, int64_t *rank)
{
    for (const char *at = name; (at = strstr(at, "rank"));) {
        at += 4;
        const char *digits = at + (*at && !isalnum((unsigned char)*at));
        if (gt_take_number(&digits, rank)) return true;
    }
    return false;
}

static gt_sweep_trace *find_rank(gt_sweep_traces *traces, int64_t rank)
{
    for (size_t i = traces->count; i-- > 0;)
        if (traces->items[i].rank == rank) return &traces->items[i];
    return NULL;
}

static void add_trace(gt_sweep_traces *traces, int64_t rank, char *path, size_t others)
{
    gt_sweep_trace trace = {rank, path, others};
    GT_PUSH(traces->items, traces->count, traces->capacity, trace);
}

/* In the order of the forms, so that the first one counts. */
static void add_from_folders(gt_sweep_traces *traces, const char *profiler, const gt_folder_list *names)
{
    for (unsigned wanted = 0; wanted < FOLDER_FORMS; wanted++)
        for (size_t i = 0; i < names->count; i++) {
            int64_t rank;
            unsigned form;
            if (!rank_of_folder(names->items[i], &rank, &form) || form != wanted || find_rank(traces, rank))
                continue;
            char *folder = gt_format("%s/%s", profiler, names->items[i]);
            best_trace best = gt_path_is_folder(folder) ? trace_in(folder) : (best_trace){.class = NO_TRACE};
            if (best.path) add_trace(traces, rank, best.path, best.others);
            gt_free(folder);
        }
}

static void add_from_files(gt_sweep_traces *traces, const char *profiler, const gt_folder_list *names)
{
    for (trace_class class = CUSTOMER_TRACE; class < NO_TRACE; class ++)
        for (size_t i = 0; i < names->count; i++) {
            int64_t rank;
            if (class_of(names->items[i]) != class || !rank_of_file(names->items[i], &rank) ||
                find_rank(traces, rank))
                continue;
            char *path = gt_format("%s/%s", profiler, names->items[i]);
            if (gt_path_is_file(path))
                add_trace(traces, rank, path, 0);
            else
                gt_free(path);
        }
}

GT_ORDER_BY(by_rank, gt_sweep_trace, GT_UP(rank))

gt_sweep_traces gt_sweep_traces_in(const char *profiler_folder)
{
    gt_sweep_traces traces = {0};
    gt_folder_list names = gt_list_folder(profiler_folder);
    add_from_folders(&traces, profiler_folder, &names);
    add_from_files(&traces, profiler_folder, &names);
    if (traces.count) qsort(traces.items, traces.count, sizeof *traces.items, by_rank);
    gt_folder_list_free(&names);
    return traces;
}

gt_sweep_traces gt_sweep_torch_traces(const char *config_folder)
{
    char *profiler = gt_format("%s/torch_profiler", config_folder);
    gt_sweep_traces traces = gt_sweep_traces_in(profiler);
    gt_free(profiler);
    return traces;
}

char *gt_sweep_torch_trace(const char *config_folder, int64_t rank)
{
    gt_sweep_traces traces = gt_sweep_torch_traces(config_folder);
    gt_sweep_trace *found = find_rank(&traces, rank);
    char *path = found ? gt_strdup(found->path) : NULL;
    gt_sweep_traces_free(&traces);
    return path;
}

/* ---- traces of rocprofv3 ---- */

/* The CSV file with the kernels, if a process has several. */
static const char *kernels_of(const gt_rocprof_file_group *group)
{
    static const char *const wanted[] = {"_kernel_trace.csv", "_counter_collection.csv"};
    for (size_t w = 0; w < GT_LENGTH(wanted); w++)
        for (size_t i = 0; i < group->count; i++)
            if (strstr(group->files[i].path, wanted[w])) return group->files[i].path;
    return group->files[0].path;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(kernels_of(a), kernels_of(b));
}

static int by_pid_then_path(const void *a, const void *b)
{
    int64_t x = ((const gt_rocprof_file_group *)a)->pid, y = ((const gt_rocprof_file_group *)b)->pid;
    return x < y ? -1 : x > y ? 1 : by_path(a, b);
}

gt_sweep_traces gt_sweep_rocprof_traces(const char *config_folder, bool by_pid)
{
    gt_sweep_traces traces = {0};
    gt_error ignored;
    gt_rocprof_files files = {0};
    char *first_pass = gt_format("%s/rocprof_traces/pass_1", config_folder);
    char *folder = gt_format("%s/rocprof_traces", config_folder);
    if (gt_rocprof_files_find(&files, gt_path_is_folder(first_pass) ? first_pass : folder, &ignored)) {
        size_t count = 0; /* the first pass only */
        while (count < files.count && files.groups[count].pass == files.groups[0].pass) count++;
        qsort(files.groups, count, sizeof *files.groups, by_pid ? by_pid_then_path : by_path);
        for (size_t i = 0; i < count; i++)
            if (files.groups[i].count)
                add_trace(&traces, (int64_t)traces.count, gt_strdup(kernels_of(&files.groups[i])), 0);
    }
    gt_rocprof_files_free(&files);
    gt_free_all(first_pass, folder);
    return traces;
}

/* ---- profiles of JAX ---- */

enum { JAX_DEPTH_MAX = 8 };

/* The profiles of the last folder that has some. */
static void find_profiles(gt_sweep_traces *traces, const char *folder, unsigned depth)
{
    static const char ending[] = ".xplane.pb";
    gt_folder_list names = gt_list_folder(folder);
    bool is_first = true;
    for (size_t i = 0; i < names.count; i++) {
        char *path = gt_format("%s/%s", folder, names.items[i]);
        size_t len = strlen(path);
        if (gt_path_is_folder(path)) {
            if (depth) find_profiles(traces, path, depth - 1);
        } else if (len > strlen(ending) && strcmp(path + len - strlen(ending), ending) == 0) {
            if (is_first) gt_sweep_traces_free(traces);
            is_first = false;
            add_trace(traces, (int64_t)traces->count, gt_strdup(path), 0);
        }
        gt_free(path);
    }
    gt_folder_list_free(&names);
}

gt_sweep_traces gt_sweep_jax_traces(const char *config_folder)
{
    gt_sweep_traces traces = {0};
    find_profiles(&traces, config_folder, JAX_DEPTH_MAX);
    return traces;
}

void gt_sweep_traces_free(gt_sweep_traces *traces)
{
    for (size_t i = 0; i < traces->count; i++) gt_free(traces->items[i].path);
    gt_free(traces->items);
    *traces = (gt_sweep_traces){0};
}
