/* The loop over the points of a sweep. Lines of the log that scripts look for are those of the reference
 * script. */
#include "os/clock.h"
#include "os/own.h"
#include "os/paths.h"
#include "output/file.h"
#include "output/terminal.h"
#include "sweep/run/cluster.h"
#include "sweep/run/slots.h"

#include <signal.h>
#include <sys/file.h>

/* ---- signals: os/child.c passes them on to the running command; this flag stops the sweep ---- */

static volatile sig_atomic_t caught, caught_count;

static void note_signal(int number)
{
    caught = number;
    caught_count = caught_count + 1;
}

static const int WATCHED[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void watch_signals(struct sigaction old[GT_LENGTH(WATCHED)])
{
    struct sigaction action = {.sa_handler = note_signal};
    sigemptyset(&action.sa_mask);
    caught = caught_count = 0;
    for (size_t i = 0; i < GT_LENGTH(WATCHED); i++) sigaction(WATCHED[i], &action, &old[i]);
}

static void restore_signals(const struct sigaction old[GT_LENGTH(WATCHED)])
{
    for (size_t i = 0; i < GT_LENGTH(WATCHED); i++) sigaction(WATCHED[i], &old[i], NULL);
}

/* Sleeps in short intervals, so that a signal between two of them is noticed. */
static void wait_seconds(int64_t seconds)
{
    enum { PIECES = 10 };
    for (int64_t i = 0; i < seconds * PIECES && !caught; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000000 / PIECES}, NULL);
}

/* ---- records ---- */

static bool write_summary(gt_runner *r, gt_error *error)
{
    gt_buffer text = {0};
    gt_run_summary(r->plan, r->outcomes, time(NULL), &text);
    if (!r->options->quiet) printf("\n%s\n", gt_buffer_str(&text).bytes);
    if (!gt_runner_write_whole(r->summary_path, &text, error)) return false;
    gt_runner_log(r, "Summary saved to: %s", r->summary_path);
    return true;
}

/* ---- one point ---- */

/* Runs the command of a point whose folder exists. */
static void run_command(gt_runner *r, size_t index, const gt_run_point *point)
{
    gt_run_outcome *outcome = &r->outcomes[index];
    gt_error error;
    gt_run_limits limits = {.timeout_s = (double)r->options->timeout_s,
                            .silent = r->options->quiet || r->options->slots > 1};
    if (!gt_run_execute(point, &limits, outcome, &error)) gt_runner_log(r, "[ERROR] %s", error.text);
    if (caught) outcome->status = GT_RUN_INTERRUPTED;
    r->done++;
    r->done_s += outcome->seconds;
}

/* After a run: its outcome is known. */
static bool note_end(gt_runner *r, size_t index, gt_error *error)
{
    const gt_run_outcome *outcome = &r->outcomes[index];
    if (outcome->status != GT_RUN_INTERRUPTED) gt_runner_log_end(r, index, outcome);
    r->result->failed += outcome->status == GT_RUN_FAILED || outcome->status == GT_RUN_TIMEOUT;
    if (outcome->status == GT_RUN_INTERRUPTED && !caught) caught = SIGINT;
    return gt_runner_record(r, false, error);
}

static bool run_point(gt_runner *r, size_t index, const gt_run_point *point, size_t left, gt_error *error)
{
    if (r->is_unrecorded && !gt_runner_record(r, false, error)) return false;
    gt_runner_log_begin(r, index, point, left);
    if (!gt_run_make_folders(point, error)) return false;
    run_command(r, index, point);
    return note_end(r, index, error);
}

/* ---- all points ---- */

static bool run_points(gt_runner *r, gt_error *error)
{
    bool waits = false;
    size_t left;
    bool ok = gt_runner_choose(r, &left, error);
    for (size_t i = 0; i < r->runs && ok && !caught; i++) {
        size_t run = r->order[i];
        if (r->outcomes[run].is_skipped) continue;
        if (waits && r->options->delay_s) {
            gt_runner_log(r, "Waiting %" PRId64 " seconds before next run...", r->options->delay_s);
            wait_seconds(r->options->delay_s);
        }
        if (caught) break;
        gt_run_point point = gt_run_point_make(r->plan, run);
        ok = run_point(r, run, &point, left--, error);
        waits = true;
        gt_run_point_free(&point);
    }
    return ok;
}

/* ---- several at once ---- */

/* In the process of a slot. */
static void run_in_slot(void *context, size_t run, gt_run_outcome *outcome)
{
    gt_runner *r = context;
    gt_run_point point = gt_run_point_make(r->plan, run); /* with the GPUs of the slot in its environment */
    if (r->begun++ && r->options->delay_s) wait_seconds(r->options->delay_s);
    r->outcomes[run] = (gt_run_outcome){.is_begun = true};
    if (caught)
        r->outcomes[run].status = GT_RUN_PENDING;
    else
        run_command(r, run, &point);
    *outcome = r->outcomes[run];
    gt_run_point_free(&point);
}

/* Gives the next runs to idle slots. */
static bool give_runs(gt_runner *r, gt_slots *slots, size_t *next, size_t *left, gt_error *error)
{
    for (; *next < r->runs && !caught; ++*next) {
        size_t run = r->order[*next];
        if (r->outcomes[run].is_skipped) continue;
        if (!gt_slots_have_idle(slots)) break;
        gt_run_point point = gt_run_point_make(r->plan, run);
        bool made = gt_run_make_folders(&point, error), given = made && gt_slots_give(slots, run);
        if (given) gt_runner_log_begin(r, run, &point, (*left)--);
        gt_run_point_free(&point);
        if (!made) return false;
        if (!given) break;
    }
    return true;
}

/* How long slots may take to end their commands after a signal: longer than a command that must be killed. A
 * slot that takes longer hangs, perhaps because it is stopped. */
enum { FIRST_PATIENCE_S = 20, SECOND_PATIENCE_S = 3 };

static bool run_points_at_once(gt_runner *r, gt_slots *slots, gt_error *error)
{
    size_t left, next = 0, run;
    int passed = 0; /* signals that were passed on */
    double patient_until = 0;
    bool ok = gt_runner_choose(r, &left, error);
    while (ok || gt_slots_are_busy(slots)) {
        if (ok) ok = give_runs(r, slots, &next, &left, error);
        if (!gt_slots_are_busy(slots)) break;
        gt_run_outcome outcome;
        if (gt_slots_wait(slots, &run, &outcome)) {
            r->outcomes[run] = outcome;
            r->outcomes[run].is_begun = true;
            r->done++;
            r->done_s += outcome.seconds;
            if (caught && outcome.status == GT_RUN_FAILED) r->outcomes[run].status = GT_RUN_INTERRUPTED;
            if (outcome.status != GT_RUN_PENDING && ok) ok = note_end(r, run, error);
        }
        for (; passed < caught_count; passed++) {
            double patience_s = passed ? SECOND_PATIENCE_S : FIRST_PATIENCE_S;
            patient_until = gt_clock_now_s() + patience_s;
            gt_slots_signal(slots, caught);
        }
        if (passed && gt_clock_now_s() > patient_until) gt_slots_signal(slots, SIGKILL);
    }
    if (ok && !caught && next < r->runs) return gt_fail(error, "all slots were killed");
    return ok;
}

static bool run_in_slots(gt_runner *r, gt_error *error)
{
    gt_arena arena = {0};
    const char **gpus = gt_alloc_zero(r->options->slots, sizeof *gpus);
    gt_slots *slots = NULL;
    const char *unused;
    bool ok = gt_slots_divide(r->options->slots, r->options->gpus, &arena, gpus, &unused, error);
    for (size_t i = 0; ok && i < r->options->slots; i++)
        gt_runner_log(r, "Slot %zu: GPUs %s", i + 1, *gpus[i] ? gpus[i] : "not chosen");
    if (ok && *unused) gt_runner_log(r, "Not used, so that all slots have as many GPUs: %s", unused);
    if (ok) slots = gt_slots_start(r->options->slots, gpus, run_in_slot, r, error);
    ok = slots && run_points_at_once(r, slots, error);
    if (slots) gt_slots_end(slots);
    gt_free(gpus);
    gt_arena_free(&arena);
    return ok;
}

static bool run_all(gt_runner *r, gt_error *error)
{
    if (r->options->cluster) return gt_runner_on_slurm(r, error);
    if (!gt_runner_check_queue(r, error)) return false;
    bool ok = r->options->slots > 1 ? run_in_slots(r, error) : run_points(r, error);
    gt_run_session_end(&r->session);
    return ok && gt_runner_record(r, true, error);
}

static bool finish(gt_runner *r, gt_error *error)
{
    if (r->result->left || r->result->interrupted) return true;
    if (caught) {
        gt_runner_put(r, GT_TONE_RED, "=== Caught interrupt signal ===");
        gt_runner_log(
            r, "The command and its process group were stopped. Points that were not run are PENDING in %s.",
            r->record_path);
        return r->result->interrupted = true;
    }
    if (!r->options->no_summary && !write_summary(r, error)) return false;
    size_t ran = 0, succeeded = 0;
    for (size_t i = 0; i < r->runs; i++) {
        const gt_run_outcome *outcome = &r->outcomes[i];
        if (outcome->is_skipped) continue;
        ran += outcome->status != GT_RUN_PENDING;
        succeeded += outcome->status == GT_RUN_SUCCESS;
    }
    r->result->all_failed = ran && !succeeded;
    if (r->result->all_failed)
        gt_runner_log(r, "[ERROR] %s failed; run_output.log in %s says why",
                      ran == 1 ? "The run" : "All runs", ran == 1 ? "its folder" : "their folders");
    if (r->not_run)
        gt_runner_log(r, "%zu runs were cancelled before they started; --skip_existing runs them",
                      r->not_run);
    else if (!r->result->all_failed)
        gt_runner_log(r, "All runs completed!");
    return true;
}

/* Two sweeps in one folder would write to the same files. The lock is on the folder itself and ends with this
 * process, however it ends. File systems without such locks are used without. */
static bool lock_folder(gt_runner *r, gt_error *error)
{
    r->lock = gt_open(r->plan->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->lock < 0 || flock(r->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
    return gt_fail(error, "%s: another `gputally sweep run` is at work in this folder", r->plan->root);
}

static bool open_log(gt_runner *r, gt_error *error)
{
    if (!gt_path_make_folder(r->plan->root, error) || !lock_folder(r, error)) return false;
    r->log = gt_own_fopen(r->log_path, "w");
    if (!r->log) return gt_fail_writing(error, r->log_path, errno);
    gt_path_share(r->log_path);
    return true;
}

static bool close_log(gt_runner *r, bool ok, gt_error *error)
{
    if (!r->log) return ok;
    bool failed = ferror(r->log);
    failed = fclose(r->log) != 0 || failed;
    if (ok && failed) return gt_fail(error, "cannot write %s", r->log_path);
    return ok;
}

bool gt_runner_run(const gt_run_plan *plan, const gt_runner_options *options, gt_runner_result *result,
                   gt_error *error)
{
    char stamp[GT_CLOCK_TEXT];
    gt_runner r = {.plan = plan, .options = options, .result = result, .started = time(NULL), .lock = -1};
    *result = (gt_runner_result){0};
    gt_clock_format(stamp, sizeof stamp, "%Y%m%d_%H%M%S", r.started);
    r.runs = gt_run_count(plan);
    r.outcomes = gt_alloc_zero(r.runs, sizeof *r.outcomes);
    r.order = gt_run_order(plan);
    r.earlier = gt_sweep_record_read(plan->root);
    r.colour = gt_terminal_for(stdout).colour;
    r.log_path = gt_format("%s/nccl_thread_sweep_%s.log", plan->root, stamp);
    r.summary_path = gt_format("%s/nccl_thread_sweep_summary_%s.txt", plan->root, stamp);
    r.record_path = gt_format("%s/sweep.json", plan->root);

    struct sigaction old[GT_LENGTH(WATCHED)];
    watch_signals(old);
    bool ok = open_log(&r, error);
    if (ok && !options->cluster) r.session = gt_run_session_begin(plan);
    if (ok) gt_runner_log_plan(&r);
    ok = ok && run_all(&r, error) && finish(&r, error);
    ok = close_log(&r, ok, error);
    restore_signals(old);
    if (r.lock >= 0) close(r.lock);
    gt_free(r.outcomes);
    gt_free(r.is_queued);
    gt_free(r.order);
    gt_sweep_record_free(r.earlier);
    gt_run_session_free(&r.session);
    gt_free(r.log_path);
    gt_free(r.summary_path);
    gt_free(r.record_path);
    return ok;
}

void gt_runner_print(const gt_run_plan *plan, const gt_runner_options *options)
{
    size_t *order = gt_run_order(plan), runs = gt_run_count(plan);
    gt_sweep_record *earlier = gt_sweep_record_read(plan->root);
    const gt_arg_list unset = {.items = (const char **)plan->unset, .count = plan->unset_count};
    for (size_t i = 0; i < runs; i++) {
        gt_run_point point = gt_run_point_make(plan, order[i]);
        char *title = gt_run_point_title(plan, order[i]);
        bool skipped = gt_runner_is_skipped(options, earlier, &point);
        printf("%s# %s%s\n", i ? "\n" : "", title, skipped ? ": skipped, folder exists" : "");
        if (!skipped) gt_run_point_print(&point, &unset, plan->secrets);
        gt_free(title);
        gt_run_point_free(&point);
    }
    gt_sweep_record_free(earlier);
    gt_free(order);
}
