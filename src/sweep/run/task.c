/* A task on a node: runs the command of its point like a run here, and writes how it ended to a file of its
 * own (tasks.h). The first task on each node also describes the machine. */
#include "base/log.h"
#include "base/memory.h"
#include "json/writer.h"
#include "os/clock.h"
#include "os/paths.h"
#include "run/execute/execute.h"
#include "run/plan/context.h"
#include "run/plan/plan.h"
#include "sweep/run/cluster.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

typedef struct task_run {
    gt_arena *arena;
    const char *folder, *stamp;
    const gt_value *list, *json; /* tasks.json; this task's object */
    size_t task, restart;
    char *path;     /* of its result */
    char node[256]; /* its name in SLURM */
    time_t started;
} task_run;

/* ---- what to run ---- */

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static bool add_strings(gt_arena *arena, const gt_value *list, gt_arg_list *out)
{
    if (!gt_value_is_list(list)) return false;
    for (size_t i = 0; i < list->count; i++) {
        const char *text = gt_value_copy(arena, &list->items[i]);
        if (!text || strlen(text) != list->items[i].text.len) return false;
        gt_arg_list_add(arena, out, text);
    }
    return true;
}

static void end_list(gt_arena *arena, gt_arg_list *list)
{
    gt_arg_list_add(arena, list, "");
    list->items[--list->count] = NULL;
}

static bool names_variable(const gt_arg_list *list, const char *entry)
{
    size_t len = strcspn(entry, "=");
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i], entry, len) == 0 && (!list->items[i][len] || list->items[i][len] == '='))
            return true;
    return false;
}

static void make_environment(gt_arena *arena, const gt_arg_list *unset, gt_run_point *point)
{
    for (char **entry = environ; *entry; entry++)
        if (!names_variable(&point->variables, *entry) && !names_variable(unset, *entry))
            gt_arg_list_add(arena, &point->environment, *entry);
    for (size_t i = 0; i < point->variables.count; i++)
        gt_arg_list_add(arena, &point->environment, point->variables.items[i]);
    end_list(arena, &point->environment);
}

/* The point of the task; its memory is in the arena of the task. */
static bool read_point(task_run *t, gt_run_point *point, gt_error *error)
{
    gt_arg_list unset = {0};
    point->place = gt_settings_string(t->json, "place");
    point->folder = gt_settings_string(t->json, "directory");
    point->rocprof_folder = gt_settings_string(t->json, "rocprof_directory");
    bool ok = point->place && point->folder &&
              add_strings(t->arena, gt_value_get(t->json, "argv"), &point->argv) && point->argv.count &&
              add_strings(t->arena, gt_value_get(t->json, "env"), &point->variables) &&
              add_strings(t->arena, gt_value_get(t->list, "unset"), &unset);
    if (!ok) return gt_fail(error, "%s/tasks.json: task %zu is damaged", t->folder, t->task);
    end_list(t->arena, &point->argv);
    make_environment(t->arena, &unset, point);
    return true;
}

static bool read_list(task_run *t, gt_error *error)
{
    gt_buffer text = {0};
    char *path = gt_format("%s/tasks.json", t->folder);
    bool ok = gt_read_small_file(path, 256 << 20, &text, error);
    if (ok)
        t->list = gt_value_parse(
            t->arena, (gt_str){gt_arena_bytes(t->arena, text.len ? text.bytes : "", text.len), text.len});
    const gt_value *tasks = ok ? gt_value_get(t->list, "tasks") : &gt_value_missing;
    if (ok && (!gt_value_is_list(tasks) || t->task >= tasks->count))
        ok = gt_fail(error, "%s: has no task %zu", path, t->task);
    if (ok) t->json = &tasks->items[t->task];
    gt_buffer_free(&text);
    gt_free(path);
    return ok;
}

/* ---- result ---- */

static void put_time(gt_json_writer *w, const char *key, time_t at)
{
    char text[GT_CLOCK_TEXT];
    gt_clock_format(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", at);
    gt_json_put_cstr(w, key, text);
}

/* "12_3": as SLURM's programs call the task. */
static const char *job_of(task_run *t)
{
    const char *array = variable("SLURM_ARRAY_JOB_ID"), *index = variable("SLURM_ARRAY_TASK_ID");
    return array && index ? gt_arena_format(t->arena, "%s_%s", array, index) : variable("SLURM_JOB_ID");
}

/* At the begin (no outcome), and at the end. */
static bool write_result(task_run *t, const gt_run_outcome *outcome, gt_error *error)
{
    gt_json_writer w = {0};
    gt_json_open(&w, '{');
    gt_json_put_cstr(&w, "job", job_of(t));
    gt_json_put_cstr(&w, "node", t->node);
    put_time(&w, "start", outcome ? outcome->started : t->started);
    if (outcome) {
        gt_json_put_cstr(&w, "status", gt_run_status_names[outcome->status]);
        gt_json_put_int(&w, "exit_code", outcome->exit_code);
        put_time(&w, "end", outcome->ended);
        gt_json_put_int(&w, "duration_s", outcome->duration_s);
        if (outcome->status == GT_RUN_SUCCESS) {
            gt_json_put_int(&w, "output_files", (int64_t)outcome->files);
            gt_json_put_int(&w, "output_bytes", (int64_t)outcome->bytes);
        }
    }
    gt_json_close(&w, '}');
    gt_buffer_add_cstr(&w.text, "\n");
    return gt_runner_write_whole(t->path, &w.text, error);
}

/* ---- machine ---- */

typedef struct described_node {
    gt_run_session session;
    char *path; /* of its file; NULL: another task describes this node */
} described_node;

/* Only one task per node and submission: the one that makes the file. */
static described_node begin_node(task_run *t, const gt_run_point *point)
{
    described_node node = {.path = gt_format("%s/nodes/%s.json", t->folder, t->node)};
    int made = open(node.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (made < 0) {
        gt_free(node.path);
        node.path = NULL;
        return node;
    }
    close(made);
    node.session = gt_run_session_of(point, point->rocprof_folder);
    return node;
}

static void end_node(task_run *t, described_node *node)
{
    gt_error error;
    if (!node->path) return;
    gt_run_session_end(&node->session);
    gt_json_writer w = {0};
    gt_json_open(&w, '{');
    put_time(&w, "start", t->started);
    gt_json_put_cstr(&w, "task", gt_arena_format(t->arena, "%s/%s", t->stamp, t->node));
    gt_machine_put(&w, node->session.machine);
    gt_json_close(&w, '}');
    gt_buffer_add_cstr(&w.text, "\n");
    if (!gt_runner_write_whole(node->path, &w.text, &error)) gt_warn("%s", error.text);
    gt_run_session_free(&node->session);
    gt_free(node->path);
}

/* ---- the whole ---- */

/* Whether a signal comes because the time of the job is over; the script says from when on. */
static bool is_time_over(void)
{
    const char *from = variable("GPUTALLY_TIME_OVER");
    return from && (double)time(NULL) >= strtod(from, NULL);
}

static bool run_task(task_run *t, gt_run_outcome *outcome, gt_error *error)
{
    gt_run_point point = {0};
    gt_run_limits limits = {.timeout_s = (double)gt_settings_int(t->list, "timeout_s", 0),
                            .silent = true,
                            .in_slurm = variable("SLURM_JOB_ID")};
    if (!read_point(t, &point, error) || !gt_run_make_folders(&point, error)) return false;
    if (!write_result(t, NULL, error)) return false;
    described_node node = begin_node(t, &point);
    gt_error reason;
    if (!gt_run_execute(&point, &limits, outcome, &reason)) gt_warn("%s", reason.text);
    if (outcome->ended_rest)
        gt_warn("%d processes that the command had left behind were ended", outcome->ended_rest);
    if (outcome->status == GT_RUN_INTERRUPTED && is_time_over()) outcome->status = GT_RUN_TIMEOUT;
    end_node(t, &node); /* before the result: who has seen that may look at this, too */
    return write_result(t, outcome, error);
}

bool gt_task_run(const char *folder, size_t task, gt_run_outcome *outcome, gt_error *error)
{
    gt_arena arena = {0};
    task_run t = {.arena = &arena, .folder = folder, .stamp = gt_path_name(folder), .task = task};
    const char *restart = variable("SLURM_RESTART_COUNT");
    t.restart = restart ? (size_t)strtoul(restart, NULL, 10) : 0;
    t.started = time(NULL);
    t.path = gt_format("%s/results/%zu.%zu.json", folder, task, t.restart);
    if (variable("SLURMD_NODENAME"))
        snprintf(t.node, sizeof t.node, "%s", variable("SLURMD_NODENAME"));
    else if (gethostname(t.node, sizeof t.node - 1) != 0)
        strcpy(t.node, "unknown");
    for (char *c = t.node; *c; c++)
        if (*c == '/') *c = '_';
    *outcome = (gt_run_outcome){0};
    bool ok = read_list(&t, error) && run_task(&t, outcome, error);
    gt_free(t.path);
    gt_arena_free(&arena);
    return ok;
}
