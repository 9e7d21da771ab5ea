/* Submits a SLURM job, shows its output while it runs, and combines the records of its nodes.
 *
 * The result of a job is what SLURM says about it and what its nodes recorded: a job succeeded if it
 * completed and every node has a record of a successful run. Clusters without accounting forget a job after
 * some minutes; then the records alone decide. While SLURM does not answer, the job goes on, so that is no
 * reason to stop waiting: the question is repeated at growing intervals.
 *
 * The first Ctrl-C ends the processes of the job with SIGTERM, so that the nodes collect what they have, and
 * waits for that; the second one cancels the job and leaves. A hang-up (a lost connection) leaves the job
 * alone. */
#include "os/clock.h"
#include "os/own.h"
#include "os/paths.h"
#include "output/file.h"
#include "run/execute/execute.h"
#include "run/targets/slurm_job.h"
#include "run/targets/targets.h"

#include <poll.h>
#include <signal.h>

/* ---- the output of a job ---- */

/* A file that another machine appends to. */
typedef struct follower {
    const char *path;
    int shown_at;   /* our descriptor; -1: no longer */
    int descriptor; /* -1: not open */
    ino_t inode;
    off_t offset;
} follower;

enum { BLOCK = 64 * 1024 };

static void write_all(follower *f, const char *bytes, size_t len)
{
    while (len && f->shown_at >= 0) {
        ssize_t n = write(f->shown_at, bytes, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) f->shown_at = -1; /* its reader has gone */
        if (n > 0) bytes += n, len -= (size_t)n;
    }
}

static bool open_file(follower *f)
{
    struct stat status;
    if (f->descriptor >= 0) {
        /* A job that is started again truncates or replaces the file. */
        bool replaced = stat(f->path, &status) == 0 && status.st_ino != f->inode;
        bool truncated = fstat(f->descriptor, &status) == 0 && status.st_size < f->offset;
        if (truncated || replaced) f->offset = 0;
        if (!replaced) return true;
        close(f->descriptor);
    }
    f->descriptor = gt_open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (f->descriptor < 0) return false;
    if (fstat(f->descriptor, &status) == 0) f->inode = status.st_ino;
    return true;
}

/* Shows what was added since the last call. The file may not exist yet, or may begin again. */
static void follower_show(follower *f)
{
    char block[BLOCK];
    ssize_t n;
    if (!open_file(f)) return;
    while ((n = pread(f->descriptor, block, sizeof block, f->offset)) > 0) {
        f->offset += n;
        write_all(f, block, (size_t)n);
    }
}

/* Opens the file again, because a network file system may show the end of a file only then, shows the rest
 * and closes it. */
static void follower_end(follower *f)
{
    if (f->descriptor >= 0) {
        follower_show(f);
        close(f->descriptor);
        f->descriptor = -1;
    }
    follower_show(f);
    if (f->descriptor >= 0) close(f->descriptor);
    f->descriptor = -1;
}

enum {
    SILENCES_TO_TRUST = 5, /* ... until records of all nodes are taken as the end of the job */
    LOOK_MS = 250,         /* between two looks at the job's output */
    RECORD_TRIES = 40,     /* looks for records that a network file system does not show yet */
};
static const double stop_grace_s = 120; /* for the nodes to collect, before the job is cancelled */

/* ---- waiting ---- */

typedef struct waiting {
    const gt_slurm *slurm;
    gt_slurm_job job;
    follower out, err;
    gt_arg_list reasons; /* already shown */
    const char *shown;   /* state that was shown last */
    double pause_s, stopped_at;
    int silences, gone;
    bool cancelled, left;
} waiting;

static void show_output(waiting *w)
{
    follower_show(&w->out);
    follower_show(&w->err);
}

/* Waits and shows the output; returns early if a signal arrives. */
static void pause_for(waiting *w, double seconds)
{
    double until = gt_clock_now_s() + seconds;
    int before = gt_slurm_interrupts();
    while (gt_clock_now_s() < until && gt_slurm_interrupts() == before && !gt_slurm_hung_up()) {
        double left_ms = (until - gt_clock_now_s()) * 1000;
        poll(NULL, 0, left_ms < LOOK_MS ? (int)left_ms + 1 : LOOK_MS);
        show_output(w);
    }
}

static void show_state(waiting *w)
{
    const gt_slurm_job *job = &w->job;
    bool pending = strcmp(job->state, "PENDING") == 0;
    bool again = w->shown && pending && strcmp(w->shown, "PENDING") != 0;
    if (again) gt_info("job %s: started again by SLURM", job->id);
    if (!pending && (!w->shown || strcmp(w->shown, job->state) != 0) && strcmp(job->state, "COMPLETING") != 0)
        gt_info("job %s: %s", job->id, job->state);
    w->shown = job->state;
    if (!pending || !*job->reason || strcmp(job->reason, "None") == 0) return;
    for (size_t i = 0; i < w->reasons.count; i++)
        if (strcmp(w->reasons.items[i], job->reason) == 0) return;
    gt_arg_list_add(job->arena, &w->reasons, job->reason);
    bool held = strstr(job->reason, "Held") || strstr(job->reason, "held");
    gt_info("job %s: waits: %s%s%s", job->id, job->reason, held ? "; release it with: scontrol release " : "",
            held ? job->id : "");
}

static void stop_job(waiting *w)
{
    bool runs = w->job.state && strcmp(w->job.state, "RUNNING") == 0;
    w->stopped_at = gt_clock_now_s();
    gt_warn("interrupted: ending job %s and waiting for its results; interrupt again to leave", w->job.id);
    if (!runs || !gt_slurm_stop(&w->job, w->slurm->signal_script)) {
        w->cancelled = true;
        if (!gt_slurm_cancel(&w->job)) gt_warn("%s", w->job.problem);
    }
    gt_slurm_take_signal(&w->job);
}

/* Reacts to signals. Returns false if the job is not waited for any longer. */
static bool handle_signals(waiting *w)
{
    if (gt_slurm_hung_up()) {
        w->left = true;
        return false;
    }
    if (gt_slurm_interrupts() > 0 && w->stopped_at == 0) stop_job(w);
    if (gt_slurm_interrupts() > 1) {
        gt_slurm_cancel(&w->job);
        gt_warn("interrupted again: job %s is cancelled and not waited for", w->job.id);
        w->left = true;
        return false;
    }
    if (w->stopped_at > 0 && !w->cancelled && gt_clock_now_s() > w->stopped_at + stop_grace_s) {
        w->cancelled = true;
        gt_slurm_cancel(&w->job);
        gt_slurm_take_signal(&w->job);
    }
    return true;
}

static bool has_all_records(const waiting *w)
{
    for (int64_t rank = 0; rank < w->slurm->nodes; rank++) {
        const char *path = gt_arena_format(w->job.arena, "%s/%s/node_%" PRId64 "/gputally_run.json",
                                           w->slurm->results_dir, w->job.id, rank);
        if (access(path, F_OK) != 0) return false;
    }
    return true;
}

/* SLURM did not answer. Returns whether to ask again. */
static bool bear_silence(waiting *w)
{
    if (w->silences++ == 0) gt_warn("%s; the job may still run, asking again", w->job.problem);
    if (w->silences >= SILENCES_TO_TRUST && has_all_records(w)) return false;
    if (w->silences < GT_SLURM_SILENCES_MAX) return true;
    gt_warn("SLURM did not answer %d times; the state of job %s is unknown", w->silences, w->job.id);
    return false;
}

/* A job that was taken off its nodes may be started again, and one empty answer may be an accident: both must
 * be reported twice. Returns whether the job is over. */
static bool is_over(waiting *w, gt_slurm_answer answer)
{
    const char *state = w->job.state ? w->job.state : "";
    bool doubtful =
        answer == GT_SLURM_GONE || strcmp(state, "PREEMPTED") == 0 || strcmp(state, "NODE_FAIL") == 0;
    return !doubtful || w->gone++ > 0;
}

static void wait_for_end(waiting *w)
{
    for (;;) {
        if (!handle_signals(w)) return;
        gt_slurm_answer answer = gt_slurm_ask(&w->job);
        gt_slurm_take_signal(&w->job);
        if (answer == GT_SLURM_SILENT && !bear_silence(w)) break;
        if (answer != GT_SLURM_SILENT && w->silences) {
            gt_info("SLURM answers again");
            w->silences = 0;
        }
        if (answer == GT_SLURM_WAITS) {
            w->gone = 0;
            show_state(w);
        } else if (answer != GT_SLURM_SILENT && is_over(w, answer)) {
            if (answer == GT_SLURM_GONE) w->job.source = NULL;
            break;
        }
        pause_for(w, gt_slurm_next_pause(&w->pause_s, w->silences));
    }
    follower_end(&w->out);
    follower_end(&w->err);
    if (w->silences || !w->job.source) w->job.state = w->job.source = NULL;
}

/* ---- records of the nodes ---- */

typedef struct summary {
    gt_json_writer json;
    gt_performances figures;
    int64_t succeeded, missing;
    int weight;         /* of the reason: how likely it is the cause; see weigh */
    const char *reason; /* why a node has failed; NULL: none has */
    int exit_code;      /* of that node; 0: not known */
} summary;

static const gt_value *read_record(gt_arena *arena, const char *folder)
{
    gt_error ignored;
    return gt_settings_read(arena, gt_path_join(arena, folder, "gputally_run.json"), &ignored);
}

static void add_node(const waiting *w, summary *s, const char *folder, int64_t rank)
{
    gt_arena *arena = w->job.arena;
    const gt_value *record = read_record(arena, folder);
    const char *status = record ? gt_settings_string(record, "status") : NULL;
    const char *metric = record ? gt_settings_string(record, "metric") : NULL;
    const char *reason = record ? gt_settings_string(record, "reason") : "no record";
    const gt_value *value = record ? gt_value_get(record, "performance") : &gt_value_missing;
    gt_json_open(&s->json, '{');
    gt_json_put_int(&s->json, "node", rank);
    gt_json_put_cstr(&s->json, "folder", folder);
    gt_json_put_cstr(&s->json, "status", status ? status : "MISSING");
    gt_json_put_value(&s->json, "exit_code", record ? gt_value_get(record, "exit_code") : &gt_value_none);
    gt_json_put_cstr(&s->json, "reason", reason);
    gt_json_put_value(&s->json, "performance", value);
    gt_json_put_cstr(&s->json, "metric", metric);
    gt_json_close(&s->json, '}');
    if (!status || strcmp(status, "SUCCESS") != 0)
        fprintf(stderr, "gputally: node %" PRId64 ": %s: %s\n", rank, status ? status : "MISSING",
                reason ? reason : "see its log");
    if (metric && (value->type == GT_VALUE_FLOAT || value->type == GT_VALUE_INT))
        gt_performances_add(&s->figures, arena, metric,
                            value->type == GT_VALUE_INT ? (double)value->integer : value->number);
}

static const char *node_folder(const waiting *w, const char *folder, int64_t rank)
{
    return gt_arena_format(w->job.arena, "%s/node_%" PRId64, folder, rank);
}

/* Whether a node was ended by SLURM, as far as its record tells: gputally there was interrupted, or its
 * command was, before gputally itself. */
static bool was_ended(const gt_value *record, const char *reason)
{
    static const char interrupted[] = "interrupted by signal";
    int64_t exit_code = gt_settings_int(record, "exit_code", 0);
    return exit_code == 128 + SIGTERM || exit_code == 128 + SIGKILL ||
           (reason && strncmp(reason, interrupted, sizeof interrupted - 1) == 0);
}

enum { NO_RECORD = 1, WAS_ENDED, FAILED_ITSELF }; /* weights of causes */

/* Keeps the reason of the node that is the cause. When one fails, SLURM ends the others: these were
 * interrupted, or have not even a record. */
static void weigh(const waiting *w, summary *s, const gt_value *record, int64_t rank)
{
    const char *reason = record ? gt_settings_string(record, "reason") : "no record";
    int weight = !record ? NO_RECORD : was_ended(record, reason) ? WAS_ENDED : FAILED_ITSELF;
    if (!reason || weight <= s->weight) return;
    s->weight = weight;
    s->reason = gt_arena_format(w->job.arena, "node %" PRId64 ": %s", rank, reason);
    s->exit_code = record ? (int)gt_settings_int(record, "exit_code", 0) : 0;
}

static void count_nodes(const waiting *w, summary *s, const char *folder)
{
    for (int64_t rank = 0; rank < w->slurm->nodes; rank++) {
        const gt_value *record = read_record(w->job.arena, node_folder(w, folder, rank));
        const char *status = record ? gt_settings_string(record, "status") : NULL;
        bool succeeded = status && strcmp(status, "SUCCESS") == 0;
        s->succeeded += succeeded;
        s->missing += !status;
        if (!succeeded) weigh(w, s, record, rank);
    }
}

static void add_nodes(const waiting *w, summary *s, const char *folder)
{
    gt_json_put_open(&s->json, "nodes", '[');
    for (int64_t rank = 0; rank < w->slurm->nodes; rank++) add_node(w, s, node_folder(w, folder, rank), rank);
    gt_json_close(&s->json, ']');
    gt_performances_write(&s->figures, &s->json, "metrics");
}

/* The state of the job as SLURM gave it; if SLURM gave none, the records of the nodes decide. */
static const char *final_state(waiting *w, const summary *s)
{
    if (w->left) return w->job.state ? w->job.state : "UNKNOWN";
    if (w->job.source) return w->job.state;
    if (s->missing) return "UNKNOWN";
    w->job.source = "records of the nodes";
    return s->succeeded == w->slurm->nodes ? "COMPLETED" : "FAILED";
}

/* Why a job has no success; NULL if it has. */
static const char *reason_of(const waiting *w, const summary *s, const char *state, bool succeeded)
{
    gt_arena *arena = w->job.arena;
    if (succeeded) return NULL;
    if (w->stopped_at > 0) return "interrupted by the user";
    if (w->left) return gt_arena_format(arena, "not waited for; its last known state is %s", state);
    if (strcmp(state, "COMPLETED") == 0) return s->reason;
    return gt_arena_format(arena, "the job ended with state %s%s%s", state, s->reason ? "; " : "",
                           s->reason ? s->reason : "");
}

/* That of the node whose command failed: SLURM only knows what gputally returned there. SLURM says 0 of a job
 * that it ended itself, and of one that succeeded on some nodes only. -1: not known. Beyond the signals there
 * are numbers of SLURM itself: 125 is a lack of memory. */
static int exit_code_of(const waiting *w, const summary *s, bool succeeded)
{
    const gt_slurm_job *job = &w->job;
    if (!succeeded && s->weight == FAILED_ITSELF && s->exit_code > 0) return s->exit_code;
    if (succeeded || job->exit_code > 0) return job->exit_code;
    if (job->exit_signal > 0 && job->exit_signal <= SIGRTMAX) return 128 + job->exit_signal;
    return s->exit_code > 0 ? s->exit_code : -1;
}

static void add_state(const waiting *w, summary *s, const char *state, bool succeeded, const char *name)
{
    const gt_slurm_job *job = &w->job;
    int exit_code = exit_code_of(w, s, succeeded);
    gt_json_put_cstr(&s->json, "job", job->id);
    gt_json_put_cstr(&s->json, "name", name);
    gt_json_put_cstr(&s->json, "status", succeeded ? "SUCCESS" : "FAILURE");
    gt_json_put_cstr(&s->json, "state", state);
    gt_json_put_cstr(&s->json, "state_from", job->source);
    gt_json_put_cstr(&s->json, "reason", reason_of(w, s, state, succeeded));
    if (exit_code >= 0)
        gt_json_put_int(&s->json, "exit_code", exit_code);
    else
        gt_json_put_cstr(&s->json, "exit_code", NULL);
    if (job->exit_signal > 0) gt_json_put_int(&s->json, "exit_signal", job->exit_signal);
    gt_json_put_cstr(&s->json, "output", w->out.path);
    gt_json_put_cstr(&s->json, "errors", w->err.path);
}

static void write_summary(summary *s, const char *path, const char *copy)
{
    gt_error error;
    gt_output *output = gt_output_new();
    const gt_str text = gt_buffer_str(&s->json.text);
    if (gt_output_write_file(output, path, text, &error) &&
        (!copy || gt_output_write_file(output, copy, text, &error)) && gt_output_commit(output, &error))
        gt_info("%s", path);
    else
        gt_warn("%s", error.text);
    gt_output_free(output);
}

static bool summarise(waiting *w, const char *name)
{
    summary s = {0};
    const char *folder = gt_path_join(w->job.arena, w->slurm->results_dir, w->job.id);
    bool ended_well = w->job.source && strcmp(w->job.state, "COMPLETED") == 0;
    for (int i = 0; ended_well && i < RECORD_TRIES && !has_all_records(w); i++) poll(NULL, 0, LOOK_MS);
    count_nodes(w, &s, folder);
    const char *state = final_state(w, &s);
    bool completed = strcmp(state, "COMPLETED") == 0 && w->stopped_at == 0 && !w->left;
    bool succeeded = completed && s.succeeded == w->slurm->nodes;
    gt_json_open(&s.json, '{');
    add_state(w, &s, state, succeeded, name);
    add_nodes(w, &s, folder);
    gt_json_close(&s.json, '}');
    gt_buffer_add_cstr(&s.json.text, "\n");
    if (completed && s.missing)
        gt_warn("%s: not every node wrote a record; is this folder the same on all nodes?", folder);
    write_summary(&s, gt_path_join(w->job.arena, folder, "results_summary.json"), w->slurm->summary_copy);
    if (succeeded)
        gt_info("job %s: %s", w->job.id, state);
    else if (w->left)
        fprintf(stderr, "gputally: job %s was not waited for; its last known state is %s\n", w->job.id,
                state);
    else if (!completed)
        fprintf(stderr, "gputally: job %s ended with state %s%s\n", w->job.id, state,
                w->stopped_at > 0 ? " after it was interrupted" : "");
    else
        fprintf(stderr, "gputally: not every node of job %s succeeded\n", w->job.id);
    gt_json_writer_free(&s.json);
    return succeeded;
}

/* ---- the whole ---- */

bool gt_slurm_run(const gt_plan *plan, const gt_slurm *slurm, const char **folder)
{
    gt_arena *arena = plan->arena;
    *folder = NULL;
    const char *missing = gt_slurm_missing_program(arena);
    if (missing) {
        fprintf(stderr, "gputally: %s not found in PATH; wrote %s, submit it from a cluster node\n", missing,
                slurm->script);
        return false;
    }
    waiting w = {.slurm = slurm,
                 .job = {.arena = arena,
                         .environment = gt_slurm_environment(arena, gt_value_get(plan->context, "slurm")),
                         .reason = "",
                         .problem = "",
                         .exit_code = -1},
                 .out = {.shown_at = STDOUT_FILENO, .descriptor = -1},
                 .err = {.shown_at = STDERR_FILENO, .descriptor = -1}};
    if (!gt_slurm_submit(&w.job, (const char *[]){slurm->script, NULL})) {
        fprintf(stderr, "gputally: %s could not be submitted: %s\n", slurm->script, w.job.problem);
        return false;
    }
    w.out.path = gt_arena_format(arena, "%s_%s_0.out", slurm->log_path, w.job.id);
    w.err.path = gt_arena_format(arena, "%s_%s_0.err", slurm->log_path, w.job.id);
    gt_info("job %s: %s", w.job.id, slurm->script);
    gt_info("output of job %s: %s", w.job.id, w.out.path);
    gt_slurm_watch_signals();
    gt_slurm_take_signal(&w.job);
    wait_for_end(&w);
    bool succeeded = summarise(&w, plan->name);
    gt_slurm_restore_signals();
    if (!w.left) *folder = gt_path_join(arena, slurm->results_dir, w.job.id);
    return succeeded;
}
