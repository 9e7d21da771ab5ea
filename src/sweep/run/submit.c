/* Submits points as a job array. The order of the tasks is that of the runs: SLURM starts tasks of an array
 * in the order of their numbers. */
#include "os/clock.h"
#include "os/paths.h"
#include "output/file.h"
#include "run/plan/secrets.h"
#include "run/targets/targets.h"
#include "sweep/run/cluster.h"

#include <sys/random.h>

typedef struct submitter {
    gt_runner *r;
    gt_arena *arena;
    const gt_value *context;
    gt_distributed launcher;
    int64_t nodes;
    const char *stamp, *folder, *name; /* the folder is an absolute path */
    bool has_secrets;                  /* a task has some */
    gt_error *error;
} submitter;

/* ---- command of a task ---- */

/* The shell line of a point: its command, started by the launcher of the context. The profiler stands around
 * launchers whose processes inherit its variables, and after those that start one profiler per process. */
static const char *launch_line(submitter *s, const gt_run_point *point, bool *is_launched)
{
    const char *const *words = point->argv.items + point->profiler_words;
    size_t count = point->argv.count - point->profiler_words;
    size_t own = s->r->plan->command_count || !s->launcher.given ? 0 : GT_DEFAULT_LAUNCHER_WORDS;
    gt_launch launch = gt_launch_plan(s->arena, &s->launcher, words + own, count - own);
    const char *profiler = gt_shell_line(s->arena, point->argv.items, point->profiler_words);
    const char *blank = point->profiler_words ? " " : "";
    *is_launched = launch.runner;
    if (!launch.runner) return gt_shell_line(s->arena, point->argv.items, point->argv.count);
    return launch.remote
               ? gt_arena_format(s->arena, "%s %s%s%s", launch.runner, profiler, blank, launch.command)
               : gt_arena_format(s->arena, "%s%s%s %s", profiler, blank, launch.runner, launch.command);
}

/* What gputally runs on the first node: the command as it is, or a shell line, or one per node. */
static bool task_argv(submitter *s, const gt_run_point *point, gt_arg_list *argv)
{
    bool is_launched, once = s->nodes == 1 || gt_launcher_runs_once(&s->launcher);
    const char *line = launch_line(s, point, &is_launched);
    if (s->nodes == 1 && !is_launched && !gt_settings_has(s->context, "distributed")) {
        *argv = point->argv;
        return true;
    }
    gt_buffer text = {0};
    if (!gt_slurm_node_lines(&s->launcher, s->context, &text, s->error)) {
        gt_buffer_free(&text);
        return false;
    }
    gt_buffer_add_cstr(&text, "exec ");
    gt_buffer_add_cstr(&text, line);
    if (!once) {
        gt_arg_list_add(s->arena, argv, "srun");
        gt_arg_list_add(s->arena, argv, gt_arena_format(s->arena, "--ntasks=%" PRId64, s->nodes));
        gt_arg_list_add(s->arena, argv, "--ntasks-per-node=1");
        gt_arg_list_add(s->arena, argv, "--kill-on-bad-exit=1");
        gt_arg_list_add(s->arena, argv, "--export=ALL");
        const char *cpus = gt_settings_string(gt_value_get(s->context, "slurm"), "cpus_per_task");
        int64_t given = gt_settings_int(gt_value_get(s->context, "slurm"), "cpus_per_task", 0);
        if (cpus || given)
            gt_arg_list_add(s->arena, argv, gt_arena_format(s->arena, "--cpus-per-task=%" PRId64, given));
    }
    gt_arg_list_add(s->arena, argv, "bash");
    gt_arg_list_add(s->arena, argv, "-c");
    gt_arg_list_add(s->arena, argv, gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
    return true;
}

/* ---- files ---- */

static bool is_same(const gt_arg_list *a, const gt_arg_list *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i], b->items[i]) != 0) return false;
    return true;
}

/* The variables of a point, and the secrets of the context that it does not set itself: job.sh exports the
 * other variables of the context. */
static gt_arg_list task_variables(const submitter *s, gt_run_point *point)
{
    const gt_value *context = gt_value_get(s->context, "env_vars");
    gt_arg_list all = {0};
    for (uint32_t i = 0; context->type == GT_VALUE_DICT && i < context->count; i += 2) {
        const char *name = context->items[i].text.bytes;
        size_t len = strlen(name);
        bool is_set = !gt_secret_is_name(name);
        for (size_t v = 0; v < point->variables.count; v++)
            is_set = is_set || (strncmp(point->variables.items[v], name, len) == 0 &&
                                point->variables.items[v][len] == '=');
        if (!is_set)
            gt_arg_list_add(&point->arena, &all,
                            gt_arena_format(&point->arena, "%s=%s", name,
                                            gt_settings_print(&point->arena, &context->items[i + 1])));
    }
    for (size_t v = 0; v < point->variables.count; v++)
        gt_arg_list_add(&point->arena, &all, point->variables.items[v]);
    return all;
}

/* With `hides`, secrets are masked, and s->has_secrets says whether there are any. */
static bool put_task(submitter *s, gt_json_writer *w, size_t run, bool hides)
{
    gt_run_point point = gt_run_point_make(s->r->plan, run);
    const gt_value *secrets = s->r->plan->secrets;
    gt_arg_list argv = {0}, variables = task_variables(s, &point);
    bool ok = task_argv(s, &point, &argv);
    if (hides) {
        const gt_arg_list own = argv, own_variables = variables;
        argv = gt_secrets_hide_words(&point.arena, secrets, &own);
        variables = gt_secrets_hide_variables(&point.arena, secrets, &own_variables);
        s->has_secrets = s->has_secrets || !is_same(&argv, &own) || !is_same(&variables, &own_variables);
    }
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "place", point.place);
    gt_json_put_cstr(w, "directory", point.folder);
    gt_json_put_cstr(w, "rocprof_directory", point.rocprof_folder);
    gt_json_put_cstrs(w, "argv", argv.items, argv.count);
    gt_json_put_cstrs(w, "env", variables.items, variables.count);
    gt_json_close(w, '}');
    gt_run_point_free(&point);
    return ok;
}

static bool make_list(submitter *s, const size_t *runs, size_t count, size_t array_size, bool hides,
                      gt_json_writer *w)
{
    char start[GT_CLOCK_TEXT];
    const gt_run_plan *plan = s->r->plan;
    gt_clock_format(start, sizeof start, "%Y-%m-%dT%H:%M:%S%z", time(NULL));
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "program", "gputally " GT_VERSION);
    gt_json_put_cstr(w, "start", start);
    gt_json_put_cstr(w, "name", s->name);
    gt_json_put_int(w, "array_size", (int64_t)array_size);
    gt_json_put_int(w, "at_once", (int64_t)s->r->options->cluster->at_once);
    gt_json_put_int(w, "timeout_s", s->r->options->timeout_s);
    gt_json_put_cstrs(w, "unset", plan->unset, plan->unset_count);
    gt_json_put_open(w, "tasks", '[');
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) ok = put_task(s, w, runs[i], hides);
    gt_json_close(w, ']');
    gt_json_put_bool(w, "has_secrets", s->has_secrets);
    gt_json_close(w, '}');
    gt_json_end_document(w);
    return ok;
}

/* The list that has secrets comes first: without tasks.json, there is no submission. */
static bool write_tasks(submitter *s, const size_t *runs, size_t count, size_t array_size)
{
    gt_json_writer shown = {0}, own = {0};
    bool ok = make_list(s, runs, count, array_size, true, &shown);
    if (ok && s->has_secrets)
        ok =
            make_list(s, runs, count, array_size, false, &own) &&
            gt_runner_write_private(gt_path_join(s->arena, s->folder, GT_SWEEP_SECRETS), &own.text, s->error);
    ok = ok && gt_runner_write_whole(gt_path_join(s->arena, s->folder, "tasks.json"), &shown.text, s->error);
    gt_json_writer_free(&shown);
    gt_json_writer_free(&own);
    return ok;
}

static bool write_script(submitter *s)
{
    gt_buffer line = {0};
    const char *self = gt_path_program(s->arena); /* the same on the nodes */
    gt_buffer_add_cstr(&line, "exec ");
    gt_shell_quote(&line, self ? self : "gputally");
    gt_buffer_add_cstr(&line, " sweep run --quiet --task $((SLURM_ARRAY_TASK_ID + ${1:-0})) --output_dir ");
    gt_shell_quote(&line, s->folder);
    gt_plan plan = {.arena = s->arena,
                    .context = s->context,
                    .name = s->name,
                    .workdir = gt_path_current(s->arena),
                    .output_dir = s->folder};
    gt_slurm_array array = {s->folder, gt_buffer_str(&line).bytes};
    gt_slurm_request request = {.plan = &plan, .array = &array};
    gt_slurm slurm = {0};
    bool ok = gt_slurm_make(&request, &slurm, s->error);
    if (ok) {
        const char *path = slurm.script;
        ok = gt_runner_write_private(path, &slurm.text, s->error) &&
             (chmod(path, 0700) == 0 || gt_fail_writing(s->error, path, errno));
    }
    gt_buffer_free(&slurm.text);
    gt_buffer_free(&line);
    return ok;
}

/* ---- the folder ---- */

/* A folder that did not exist: STAMP, or STAMP_2 if another submission of this second has it. */
static bool make_folder(submitter *s)
{
    char stamp[GT_CLOCK_TEXT];
    uint32_t number = 0;
    const char *root = gt_path_absolute(s->arena, gt_path_current(s->arena), s->r->plan->root);
    const char *all = gt_path_join(s->arena, root, GT_SWEEP_SLURM);
    if (!gt_path_make_folder(all, s->error)) return false;
    gt_clock_format(stamp, sizeof stamp, "%Y%m%d_%H%M%S", time(NULL));
    for (int i = 1; i < 1000; i++) {
        s->stamp = i == 1 ? gt_arena_bytes(s->arena, stamp, strlen(stamp))
                          : gt_arena_format(s->arena, "%s_%d", stamp, i);
        s->folder = gt_path_join(s->arena, all, s->stamp);
        if (mkdir(s->folder, 0777) == 0) break;
        if (errno != EEXIST) return gt_fail_writing(s->error, s->folder, errno);
    }
    /* Another sweep of this second must have another name. */
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) number = (uint32_t)getpid();
    s->name = gt_arena_format(s->arena, "sweep_%s_%08" PRIx32, s->stamp, number);
    gt_path_share(s->folder); /* others of a group note there that a task was killed */
    return gt_path_make_folder(gt_path_join(s->arena, s->folder, "results"), s->error) &&
           gt_path_make_folder(gt_path_join(s->arena, s->folder, "nodes"), s->error);
}

static bool begin(submitter *s)
{
    const gt_run_plan *plan = s->r->plan;
    const gt_value *slurm = gt_value_get(s->context, "slurm");
    s->nodes = gt_settings_int(slurm, "nodes", 1);
    if (!gt_distributed_check(s->context, s->error)) return false;
    s->launcher = gt_distributed_of(s->context, s->nodes, gt_settings_int(slurm, "gpus_per_node", 8));
    if (s->nodes > 1 && !plan->command_count && !s->launcher.given) {
        s->launcher.given = true; /* torchrun is the launcher of the default command */
        s->launcher.processes = plan->nproc;
    }
    return make_folder(s);
}

const char *gt_submission_make(gt_runner *r, gt_slurm_job *job, const size_t *runs, size_t count,
                               gt_error *error)
{
    submitter s = {.r = r, .arena = job->arena, .context = r->options->cluster->context, .error = error};
    size_t most = gt_slurm_array_max(job);
    if (!most) {
        gt_fail(error, "this SLURM has no job arrays (MaxArraySize is 0)");
        return NULL;
    }
    return begin(&s) && write_script(&s) && write_tasks(&s, runs, count, most) ? s.stamp : NULL;
}

/* ---- submitting ---- */

/* The arguments of sbatch for the array whose first task is `first`. */
static gt_arg_list sbatch_arguments(gt_arena *arena, const gt_submission *s, size_t first)
{
    gt_arg_list words = {0};
    size_t count = s->count - first < s->array_size ? s->count - first : s->array_size;
    int64_t at_once = gt_settings_int(s->json, "at_once", 0);
    const char *throttle = at_once > 0 ? gt_arena_format(arena, "%%%" PRId64, at_once) : "";
    gt_arg_list_add(arena, &words, gt_arena_format(arena, "--job-name=gputally-%s.%zu", s->name, first));
    gt_arg_list_add(arena, &words, gt_arena_format(arena, "--array=0-%zu%s", count - 1, throttle));
    gt_arg_list_add(
        arena, &words,
        gt_path_absolute(arena, gt_path_current(arena), gt_arena_format(arena, "%s/job.sh", s->folder)));
    gt_arg_list_add(arena, &words, gt_arena_format(arena, "%zu", first));
    gt_arg_list_add(arena, &words, "");
    words.items[--words.count] = NULL;
    return words;
}

static bool write_jobs(const gt_submission *s, const gt_arg_list *arrays, gt_error *error)
{
    gt_json_writer w = {0};
    gt_json_open(&w, '{');
    gt_json_put_cstrs(&w, "jobs", arrays->items, arrays->count);
    gt_json_close(&w, '}');
    char *path = gt_format("%s/jobs.json", s->folder);
    bool ok = gt_runner_write_json(path, &w, error);
    gt_free(path);
    return ok;
}

bool gt_submission_submit(gt_runner *r, gt_slurm_job *job, const gt_submission *s, size_t *submitted,
                          gt_error *error)
{
    gt_arg_list arrays = {0};
    for (*submitted = 0; *submitted < s->count;) {
        gt_arg_list words = sbatch_arguments(job->arena, s, *submitted);
        if (!gt_slurm_submit(job, words.items))
            return gt_fail(error, "%s/job.sh could not be submitted: %s", s->folder, job->problem);
        size_t count = s->count - *submitted < s->array_size ? s->count - *submitted : s->array_size;
        gt_arg_list_add(job->arena, &arrays, job->id);
        gt_runner_log(r, "Job array %s: %zu run%s", job->id, count, count == 1 ? "" : "s");
        *submitted += count;
        if (!write_jobs(s, &arrays, error)) return false;
    }
    return true;
}

void gt_submission_print(gt_runner *r, const gt_submission *s)
{
    gt_arena arena = {0};
    for (size_t first = 0; first < s->count; first += s->array_size) {
        gt_arg_list words = sbatch_arguments(&arena, s, first);
        gt_runner_log(r, "Submit it with: sbatch %s", gt_shell_line(&arena, words.items, words.count));
    }
    gt_arena_free(&arena);
}
