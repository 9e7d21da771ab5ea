/* The folder that a model runs in: run_directory in the folder of models.json, or a clone of the model's
 * repository. The model's scripts are copied into it, and it is removed at the end.
 *
 * Two runs in one folder must not share it, so it is locked; the second run takes run_directory_2. The lock
 * is on the folder itself: no lock files stay behind, and it ends with the process. */
#include "run/models/models.h"
#include "os/child.h"
#include "os/own.h"
#include "os/paths.h"

#include <sys/file.h>

enum { FOLDERS_MAX = 1000, DEPTH_MAX = 6 };
static const double clone_timeout_s = 1800;

/* ---- the folder ---- */

/* Opens and locks the folder. -1: another run has it; -2: it cannot be used. */
static int lock_folder(const char *path, gt_error *error)
{
    for (int tries = 0; tries < 100; tries++) {
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return gt_fail(error, "cannot make the folder %.300s: %s", path, strerror(errno)), -2;
        int descriptor = gt_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (descriptor < 0) {
            if (errno == ENOENT) continue;
            return gt_fail(error, "%.300s: not a folder that a model can run in: %s", path, strerror(errno)),
                   -2;
        }
        if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close(descriptor);
            return -1;
        }
        struct stat ours, there; /* the run before may have removed it meanwhile */
        if (fstat(descriptor, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino &&
            ours.st_dev == there.st_dev)
            return descriptor;
        close(descriptor);
    }
    return gt_fail(error, "%.300s: cannot be locked", path), -2;
}

static bool run_program(const char *const *argv, const char *folder, double timeout_s)
{
    gt_child_setup setup = {.argv = argv, .directory = folder, .silent = true, .timeout_s = timeout_s};
    gt_child_result result;
    gt_error ignored;
    return gt_child_run(&setup, &result, &ignored) && result.exit_code == 0;
}

static bool empty_folder(const char *path)
{
    return run_program((const char *[]){"find", path, "-mindepth", "1", "-delete", NULL}, NULL, 0);
}

/* "run_directory", or the last part of the URL without ".git". */
static const char *folder_name(gt_arena *arena, const gt_value *model)
{
    const char *url = gt_model_text(model, "url"), *rank = getenv("SLURM_PROCID");
    size_t len = strlen(url);
    while (len && url[len - 1] == '/') len--;
    const char *name = url + len;
    while (name > url && name[-1] != '/' && name[-1] != ':') name--;
    len = (size_t)(url + len - name);
    if (len > 4 && memcmp(name + len - 4, ".git", 4) == 0) len -= 4;
    bool usable = len && name[0] != '.' && name[0] != '-';
    const char *chosen = usable ? gt_arena_bytes(arena, name, len) : "run_directory";
    /* the nodes of a job may share the folder without sharing locks */
    return rank && *rank ? gt_arena_format(arena, "%s_node%s", chosen, rank) : chosen;
}

static bool open_folder(gt_arena *arena, const gt_value *model, gt_workspace *space, gt_error *error)
{
    const char *base = gt_path_absolute(arena, gt_path_current(arena), folder_name(arena, model));
    for (int n = 1; n < FOLDERS_MAX; n++) {
        space->folder = n == 1 ? base : gt_arena_format(arena, "%s_%d", base, n);
        space->lock = lock_folder(space->folder, error);
        if (space->lock == -2) return false;
        if (space->lock == -1) continue;
        if (empty_folder(space->folder)) return true;
        close(space->lock);
        space->lock = -1;
        return gt_fail(error, "%.300s: cannot be emptied; remove it (files of a container belong to root)",
                       space->folder);
    }
    return gt_fail(error, "%.300s: used by too many runs", base);
}

/* ---- repositories ---- */

static const char *commit_of(gt_arena *arena, const char *folder)
{
    const char *argv[] = {"git", "rev-parse", "HEAD", NULL};
    gt_buffer text = {0};
    bool ok = gt_child_ask((gt_child_setup){.argv = argv, .directory = folder, .timeout_s = 60}, &text);
    const char *commit = ok ? gt_arena_bytes(arena, text.bytes, text.len) : "";
    gt_buffer_free(&text);
    return commit;
}

/* User and password go through the environment, which other users cannot see. */
static bool clone(gt_arena *arena, const gt_value *model, const gt_value *credentials, gt_workspace *space,
                  gt_error *error)
{
    static const char helper[] = "credential.helper=!f() { echo \"username=$GPUTALLY_GIT_USER\"; echo "
                                 "\"password=$GPUTALLY_GIT_PASSWORD\"; }; f";
    const char *url = gt_model_text(model, "url");
    const gt_value *cred = gt_value_get(credentials, gt_model_text(model, "cred"));
    const char *user = gt_settings_string(cred, "username"), *password = gt_settings_string(cred, "password"),
               *key = gt_settings_string(cred, "ssh_key_file");
    if (!gt_path_search(arena, "git", getenv("PATH")))
        return gt_fail(error, "git not found in PATH; it is needed to clone %.300s", url);
    gt_buffer ssh = {0};
    if (user && key) {
        gt_buffer_add_cstr(&ssh, "core.sshCommand=ssh -o IdentitiesOnly=yes -l ");
        gt_shell_quote(&ssh, user);
        gt_buffer_add_cstr(&ssh, " -i ");
        gt_shell_quote(&ssh, key);
    }
    const char *setting = user && password ? helper
                          : ssh.len        ? gt_buffer_str(&ssh).bytes
                                           : "advice.detachedHead=false";
    if (user) setenv("GPUTALLY_GIT_USER", user, 1);
    if (password) setenv("GPUTALLY_GIT_PASSWORD", password, 1);
    gt_info("cloning %s", url);
    const char *argv[] = {"git", "-c", setting,       "clone", "--recurse-submodules",
                          "--",  url,  space->folder, NULL};
    gt_child_setup setup = {.argv = argv,
                            .silent = true,
                            .merge = true,
                            .timeout_s = clone_timeout_s,
                            .log_path = space->log_path,
                            .log_append = true};
    gt_child_result result;
    bool ok = gt_child_run(&setup, &result, error);
    unsetenv("GPUTALLY_GIT_USER");
    unsetenv("GPUTALLY_GIT_PASSWORD");
    gt_buffer_free(&ssh);
    if (ok && result.exit_code)
        ok = gt_fail(error, "cannot clone %.300s (git: exit status %d)", url, result.exit_code);
    if (ok) space->commit = commit_of(arena, space->folder);
    return ok;
}

/* ---- scripts ---- */

const char *gt_model_line(gt_arena *arena, const gt_value *context, const gt_value *model)
{
    const char *scripts = gt_model_text(model, "scripts"), *args = gt_settings_string(context, "model_args");
    bool is_file = gt_ends_with(scripts, ".sh") || gt_ends_with(scripts, ".slurm"),
         is_python = gt_ends_with(scripts, ".py");
    if (!args) args = gt_model_text(model, "args");
    gt_buffer line = {0};
    gt_buffer_add_cstr(&line, is_python ? "python3 " : "bash ");
    gt_shell_quote(&line, is_file || is_python ? gt_path_name(scripts) : "run.sh");
    gt_buffer_add_cstr(&line, *args ? " " : "");
    gt_buffer_add_cstr(&line, args);
    return gt_buffer_move(&line, arena);
}

static bool copy_scripts(gt_arena *arena, const gt_value *model, const gt_workspace *space, gt_error *error)
{
    const char *scripts = gt_model_text(model, "scripts");
    bool is_file =
        gt_ends_with(scripts, ".sh") || gt_ends_with(scripts, ".slurm") || gt_ends_with(scripts, ".py");
    char *folder = is_file ? gt_path_folder(scripts) : gt_strdup(*scripts ? scripts : ".");
    const char *file = is_file ? scripts : gt_arena_format(arena, "%s/run.sh", scripts);
    bool ok = *scripts || gt_fail(error, "model %.200s: no scripts", gt_model_text(model, "name"));
    if (ok && access(file, R_OK) != 0) ok = gt_fail(error, "%.300s: %s", file, strerror(errno));
    if (ok && strcmp(folder, ".") == 0) {
        /* only the script: the folder of all models holds run_directory itself */
        ok = run_program((const char *[]){"cp", "-RLp", "--", file, space->folder, NULL}, NULL, 0) ||
             gt_fail(error, "%.300s: cannot copy it to %.300s", file, space->folder);
    } else if (ok) {
        const char *from = gt_arena_format(arena, "%s/.", folder);
        ok = run_program((const char *[]){"cp", "-RLp", "--", from, space->folder, NULL}, NULL, 0) ||
             gt_fail(error, "%.300s: cannot copy it to %.300s", folder, space->folder);
    }
    gt_free(folder);
    return ok;
}

bool gt_workspace_open(gt_arena *arena, const gt_value *model, const gt_value *credentials,
                       const char *log_path, gt_workspace *space, gt_error *error)
{
    *space = (gt_workspace){.lock = -1, .commit = "", .log_path = log_path};
    if (!open_folder(arena, model, space, error)) return false;
    bool ok = (!*gt_model_text(model, "url") || clone(arena, model, credentials, space, error)) &&
              copy_scripts(arena, model, space, error);
    if (!ok) gt_workspace_close(space, false);
    return ok;
}

void gt_workspace_close(gt_workspace *space, bool keep)
{
    if (space->lock < 0) return;
    if (!keep && (!empty_folder(space->folder) || rmdir(space->folder) != 0))
        gt_warn("%s: cannot be removed; files of a container belong to root", space->folder);
    close(space->lock);
    space->lock = -1;
}

/* ---- files that stay ---- */

static const char *const kept_endings[] = {"_output.csv", "_trace.csv"};
static const char *const trace_endings[] = {".pt.trace.json", ".pt.trace.json.gz", ".xplane.pb"};

static bool copy_file(const char *from, const char *folder)
{
    return run_program((const char *[]){"cp", "-p", "--", from, folder, NULL}, NULL, 0);
}

/* Copies traces that the model wrote itself, at any depth, to a folder of their own. */
static void keep_traces(gt_arena *arena, const char *folder, const char *to, int depth)
{
    gt_folder_list names = gt_list_folder(folder);
    for (size_t i = 0; i < names.count; i++) {
        const char *path = gt_path_join(arena, folder, names.items[i]);
        struct stat status;
        gt_error error;
        if (lstat(path, &status) != 0) continue;
        if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX)
            keep_traces(arena, path, gt_path_join(arena, to, names.items[i]), depth + 1);
        if (!S_ISREG(status.st_mode)) continue;
        for (size_t e = 0; e < GT_LENGTH(trace_endings); e++)
            if (gt_ends_with(path, trace_endings[e]) && gt_path_make_folder(to, &error)) copy_file(path, to);
    }
    gt_folder_list_free(&names);
}

const char *gt_workspace_keep(gt_arena *arena, const gt_workspace *space, const gt_value *model,
                              const char *output_dir, const char *name)
{
    gt_folder_list names = gt_list_folder(space->folder);
    const char *results = gt_model_text(model, "multiple_results");
    for (size_t i = 0; i < names.count; i++) {
        bool wanted = strcmp(names.items[i], "library_trace.csv") == 0;
        for (size_t e = 0; e < GT_LENGTH(kept_endings); e++)
            wanted = wanted || gt_ends_with(names.items[i], kept_endings[e]);
        const char *path = gt_path_join(arena, space->folder, names.items[i]);
        /* what gputally wrote to the output folder itself is not replaced */
        if (wanted && gt_path_is_file(path) &&
            access(gt_path_join(arena, output_dir, names.items[i]), F_OK) != 0)
            copy_file(path, output_dir);
    }
    gt_folder_list_free(&names);
    const char *file = *results ? gt_path_join(arena, space->folder, results) : NULL;
    if (file && gt_path_is_file(file)) copy_file(file, output_dir);
    const char *traces = gt_path_join(arena, output_dir, gt_arena_format(arena, "%s_traces", name));
    keep_traces(arena, space->folder, traces, 0);
    return traces;
}
