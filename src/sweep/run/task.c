/* A task on a node: runs the command of its point like a run here, and writes how it ended to a file of its
 * own (tasks.h). The first task on each node also describes the machine. */
#include "os/clock.h"
#include "os/own.h"
#include "os/paths.h"
#include "run/execute/execute.h"
#include "sweep/run/cluster.h"

typedef struct task_run {
    gt_arena *arena;
    const char *folder, *stamp;
    size_t task, restart;
    char *path;     /* of its result */
    char node[256]; /* its name in SLURM */
    time_t started;
} task_run;

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
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
    return gt_runner_write_json(t->path, &w, error);
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
    int made = gt_open(node.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
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
    if (!gt_runner_write_json(node->path, &w, &error)) gt_warn("%s", error.text);
    gt_run_session_free(&node->session);
    gt_free(node->path);
}

/* ---- the whole ---- */

static bool run_task(task_run *t, const gt_task_plan *plan, gt_run_outcome *outcome, gt_error *error)
{
    const gt_run_point *point = &plan->point;
    gt_run_limits limits = {
        .timeout_s = (double)plan->timeout_s, .silent = true, .in_slurm = variable("SLURM_JOB_ID")};
    if (!gt_run_make_folders(point, error) || !write_result(t, NULL, error)) return false;
    described_node node = begin_node(t, point);
    gt_error reason;
    if (!gt_run_execute(point, &limits, outcome, &reason)) gt_warn("%s", reason.text);
    if (outcome->ended_rest)
        gt_warn("%d processes that the command had left behind were ended", outcome->ended_rest);
    if (outcome->status == GT_RUN_INTERRUPTED && gt_run_time_is_over()) outcome->status = GT_RUN_TIMEOUT;
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
    gt_task_plan plan;
    bool ok = gt_task_plan_read(&plan, folder, task, error) && run_task(&t, &plan, outcome, error);
    gt_task_plan_free(&plan);
    gt_free(t.path);
    gt_arena_free(&arena);
    return ok;
}
