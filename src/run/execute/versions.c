/* Which versions of frameworks and libraries does a run use? They are read from the names of files, so that
 * the command starts without delay: NAME-VERSION.dist-info in the package folders of the command's Python,
 * and the targets of links such as libnccl.so.2. Nothing is imported or loaded. */
#include "run/execute/machine.h"
#include "os/child.h"
#include "os/own.h"
#include "os/paths.h"

#include <glob.h>

/* ---- the command's Python ---- */

static const char *variable(const gt_plan *plan, const char *name)
{
    const char *text = gt_settings_string(plan->env, name);
    if (!text) text = getenv(name);
    return text && *text ? text : NULL;
}

static const char *search_program(const gt_plan *plan, const char *program)
{
    const char *found = gt_path_search(plan->arena, program, variable(plan, "PATH"));
    return found ? gt_path_absolute(plan->arena, plan->workdir, found) : NULL;
}

static bool is_python(const char *program)
{
    return strncmp(gt_path_name(program), "python", 6) == 0;
}

/* The interpreter in the first line of a script, such as that of torchrun; NULL: not a Python script. */
static const char *interpreter_of_script(const gt_plan *plan, const char *path)
{
    char line[512];
    FILE *file = path && gt_path_is_file(path) && gt_path_may_open(path) ? gt_fopen(path, "re") : NULL;
    bool is_script = file && fgets(line, sizeof line, file) && strncmp(line, "#!", 2) == 0;
    if (file) fclose(file);
    if (!is_script) return NULL;
    const char *python = NULL;
    char *rest = line + 2, *word;
    while (!python && (word = strtok_r(rest, " \t\r\n", &rest)))
        if (is_python(word)) python = word;
    return python ? search_program(plan, python) : NULL;
}

const char *gt_versions_python(const gt_plan *plan)
{
    gt_arg_list words = {0};
    const char *found = NULL;
    if (gt_shell_split(plan->arena, plan->command_line, &words) && words.count) {
        const char *program = search_program(plan, words.items[0]);
        found = is_python(words.items[0]) ? program : interpreter_of_script(plan, program);
    }
    return found ? found : search_program(plan, "python3");
}

/* ---- folders of packages ---- */

enum { FOLDERS_MAX = 64, ENTRIES_MAX = 100000 };
static const double ask_timeout_s = 0.3;

static void add_matches(gt_arena *arena, gt_arg_list *folders, const char *pattern)
{
    glob_t matches;
    if (glob(pattern, 0, NULL, &matches) != 0) return;
    for (size_t i = 0; i < matches.gl_pathc && folders->count < FOLDERS_MAX; i++)
        gt_arg_list_add(arena, folders, matches.gl_pathv[i]);
    globfree(&matches);
}

static void add_below(gt_arena *arena, gt_arg_list *folders, const char *prefix)
{
    add_matches(arena, folders, gt_arena_format(arena, "%s/lib/python3*/site-packages", prefix));
    add_matches(arena, folders, gt_arena_format(arena, "%s/lib64/python3*/site-packages", prefix));
    add_matches(arena, folders, gt_arena_format(arena, "%s/local/lib/python3*/dist-packages", prefix));
    add_matches(arena, folders, gt_arena_format(arena, "%s/lib/python3/dist-packages", prefix));
}

/* "/usr" of "/usr/bin/python3" */
static const char *prefix_of(gt_arena *arena, const char *program)
{
    return gt_path_absolute(arena, program, "../..");
}

/* Like Python itself: the packages of a virtual environment are next to its link to Python, those of others
 * next to the program that links point to. */
static void add_own(gt_arena *arena, gt_arg_list *folders, const char *python)
{
    char real[PATH_MAX];
    gt_buffer settings = {0};
    gt_error ignored;
    const char *prefix = prefix_of(arena, python);
    bool is_venv =
        gt_read_small_file(gt_path_join(arena, prefix, "pyvenv.cfg"), 1 << 16, &settings, &ignored);
    bool has_base = strstr(gt_buffer_str(&settings).bytes, "include-system-site-packages = true");
    gt_buffer_free(&settings);
    if (is_venv) add_below(arena, folders, prefix);
    if ((!is_venv || has_base) && realpath(python, real)) add_below(arena, folders, prefix_of(arena, real));
}

typedef struct folder_request {
    const gt_plan *plan;
    gt_arg_list *folders;
} folder_request;

static bool keep_folder(void *context, gt_child_stream stream, gt_str line)
{
    const folder_request *request = context;
    if (stream == GT_CHILD_STDOUT && line.len && line.bytes[0] == '/' &&
        request->folders->count < FOLDERS_MAX)
        gt_arg_list_add(request->plan->arena, request->folders,
                        gt_arena_bytes(request->plan->arena, line.bytes, line.len));
    return false;
}

/* A launcher script in place of Python, as pyenv has it, says only itself where its packages are. */
static void ask_python(folder_request *request, const char *python)
{
    const char *argv[] = {python, "-c", "import sys; print('\\n'.join(sys.path))", NULL};
    gt_child_setup setup = {.argv = argv,
                            .directory = request->plan->workdir,
                            .silent = true,
                            .timeout_s = ask_timeout_s,
                            .line = keep_folder,
                            .line_context = request};
    gt_child_result result;
    gt_error ignored;
    gt_child_run(&setup, &result, &ignored);
}

static gt_arg_list package_folders(const gt_plan *plan, const char *python)
{
    gt_arg_list folders = {0};
    gt_arena *arena = plan->arena;
    const char *home = variable(plan, "HOME"), *more = variable(plan, "PYTHONPATH");
    for (const char *at = more; at && *at && folders.count < FOLDERS_MAX;) {
        size_t len = strcspn(at, ":");
        if (len)
            gt_arg_list_add(arena, &folders,
                            gt_path_absolute(arena, plan->workdir, gt_arena_bytes(arena, at, len)));
        at += len + (at[len] == ':');
    }
    if (!python) return folders;
    size_t before = folders.count;
    add_own(arena, &folders, python);
    if (folders.count == before) ask_python(&(folder_request){.plan = plan, .folders = &folders}, python);
    if (home && !gt_path_is_file(gt_path_join(arena, prefix_of(arena, python), "pyvenv.cfg")))
        add_matches(arena, &folders, gt_arena_format(arena, "%s/.local/lib/python3*/site-packages", home));
    return folders;
}

/* ---- packages ---- */

/* Packages as their dist-info folders spell them, in the order in which they are reported. */
static const char *const packages[] = {"torch",
                                       "torchvision",
                                       "jax",
                                       "jaxlib",
                                       "tensorflow",
                                       "tensorflow_rocm",
                                       "vllm",
                                       "sglang",
                                       "deepspeed",
                                       "accelerate",
                                       "transformers",
                                       "megatron_core",
                                       "lightning",
                                       "flash_attn",
                                       "triton",
                                       "pytorch_triton_rocm",
                                       "cupy_cuda12x",
                                       "cupy_cuda13x",
                                       "numpy",
                                       "nvidia_nccl_cu11",
                                       "nvidia_nccl_cu12",
                                       "nvidia_nccl_cu13",
                                       "nvidia_cuda_runtime_cu11",
                                       "nvidia_cuda_runtime_cu12",
                                       "nvidia_cuda_runtime",
                                       "nvidia_cudnn_cu11",
                                       "nvidia_cudnn_cu12",
                                       "nvidia_cudnn_cu13"};

/* Whether "torch-2.11.0+cu130.dist-info" is a version of the package; its version. '-', '_' and '.' are the
 * same in names of packages. */
static bool read_version(const char *entry, const char *package, const char **version, size_t *len)
{
    size_t n = strlen(package);
    for (size_t i = 0; i < n; i++) {
        char c = entry[i] == '-' || entry[i] == '.' ? '_' : (char)tolower((unsigned char)entry[i]);
        if (c != package[i]) return false;
    }
    if (entry[n] != '-' || !isdigit((unsigned char)entry[n + 1])) return false;
    const char *end = strstr(entry + n, ".dist-info");
    if (!end) end = strstr(entry + n, ".egg-info");
    if (!end) return false;
    *version = entry + n + 1;
    *len = (size_t)(end - *version);
    const char *tag = memchr(*version, '-', *len); /* torch-2.1-py3.10.egg-info */
    if (tag) *len = (size_t)(tag - *version);
    return true;
}

static void read_folder(const gt_plan *plan, const char *folder, const char **versions)
{
    DIR *dir = gt_opendir(folder);
    struct dirent *entry;
    for (size_t n = 0; dir && n < ENTRIES_MAX && (entry = readdir(dir)); n++) {
        if (!strstr(entry->d_name, "-info")) continue;
        for (size_t i = 0; i < GT_LENGTH(packages); i++) {
            const char *version;
            size_t len;
            if (versions[i] || !read_version(entry->d_name, packages[i], &version, &len)) continue;
            versions[i] = gt_arena_bytes(plan->arena, version, len);
        }
    }
    if (dir) closedir(dir);
}

/* ---- libraries ---- */

/* "2.21.5" of libnccl.so.2.21.5, which the link libnccl.so.2 points to. */
static const char *library_version(gt_arena *arena, const char *folder, const char *name)
{
    char real[PATH_MAX];
    if (!realpath(gt_path_join(arena, folder, name), real)) return NULL;
    const char *version = strstr(gt_path_name(real), ".so.");
    return version && strchr(version + 4, '.') ? gt_arena_bytes(arena, version + 4, strlen(version + 4))
                                               : NULL;
}

const char *gt_versions_library(const gt_plan *plan, const char *name)
{
    static const char *const folders[] = {"/opt/rocm/lib",
                                          "/usr/local/cuda/lib64",
                                          "/usr/lib/x86_64-linux-gnu",
                                          "/usr/lib/aarch64-linux-gnu",
                                          "/usr/lib64",
                                          "/usr/lib",
                                          "/usr/local/lib"};
    const char *found = NULL, *rocm = variable(plan, "ROCM_PATH");
    for (const char *at = variable(plan, "LD_LIBRARY_PATH"); at && *at && !found;) {
        size_t len = strcspn(at, ":");
        if (len) found = library_version(plan->arena, gt_arena_bytes(plan->arena, at, len), name);
        at += len + (at[len] == ':');
    }
    if (!found && rocm) found = library_version(plan->arena, gt_path_join(plan->arena, rocm, "lib"), name);
    for (size_t i = 0; !found && i < GT_LENGTH(folders); i++)
        found = library_version(plan->arena, folders[i], name);
    return found;
}

const char *gt_versions_profiler(const gt_plan *plan)
{
    const gt_profiler *profiler = plan->profiler;
    char real[PATH_MAX];
    if (profiler->version || profiler->kind != GT_PROFILER_ROCPROFV3 || !profiler->path || plan->image ||
        !realpath(profiler->path, real))
        return profiler->version;
    return library_version(plan->arena, gt_path_join(plan->arena, prefix_of(plan->arena, real), "lib"),
                           "librocprofiler-sdk.so");
}

/* The version of the CUDA toolkit, from its version.json: {"cuda": {"name": …, "version": "12.4.1"}, …}. */
const char *gt_versions_cuda(const gt_plan *plan)
{
    const char *home = variable(plan, "CUDA_HOME");
    const char *path = gt_path_join(plan->arena, home ? home : "/usr/local/cuda", "version.json");
    gt_error ignored;
    const gt_value *json = gt_path_is_file(path) ? gt_settings_read(plan->arena, path, &ignored) : NULL;
    return json ? gt_settings_string(gt_value_get(json, "cuda"), "version") : NULL;
}

size_t gt_versions_packages(const gt_plan *plan, const char *python, gt_version *found)
{
    const char *versions[GT_LENGTH(packages)] = {0};
    gt_arg_list folders = package_folders(plan, python);
    size_t count = 0;
    for (size_t i = 0; i < folders.count; i++) read_folder(plan, folders.items[i], versions);
    for (size_t i = 0; i < GT_LENGTH(packages) && count < GT_VERSIONS_MAX; i++)
        if (versions[i]) found[count++] = (gt_version){packages[i], versions[i]};
    return count;
}
