/* Runs a sweep on SLURM.
 *
 * What was submitted earlier and is still in the queue is neither submitted again nor forgotten: -s waits for
 * it, too. The first Ctrl-C cancels the arrays and waits for the tasks to record their end; the second one
 * leaves. A hang-up (a lost connection) leaves the tasks alone; -s finds them again. */
#include "sweep/run/cluster.h"
#include "os/clock.h"
#include "os/paths.h"

#include <poll.h>

enum { LOOK_MS = 100 };
static const double cancel_grace_s = 120; /* for the tasks to end, once they are cancelled */
static const double late_file_s = 10;     /* after which a file of another node is missing */

/* How long a task without a result may be gone. */
static double grace(void)
{
    double poll_s = gt_slurm_poll_s();
    return poll_s > 0 && poll_s * 5 < late_file_s ? poll_s * 5 : late_file_s;
}

static void pause_for(double seconds)
{
    double until = gt_clock_now_s() + seconds;
    int before = gt_slurm_interrupts();
    while (gt_clock_now_s() < until && gt_slurm_interrupts() == before && !gt_slurm_hung_up())
        poll(NULL, 0, LOOK_MS);
}

/* ---- sweep.json ---- */

/* Writes sweep.json with what the tasks have recorded. */
static bool record_tasks(gt_runner *r, gt_error *error)
{
    gt_sweep_record *record = gt_sweep_record_read(r->plan->root);
    if (!record) return gt_fail(error, "%s was removed or damaged", r->record_path);
    gt_json_writer w = {0};
    gt_json_add_value(&w, record->json);
    gt_sweep_record_free(record);
    return gt_runner_write_json(r->record_path, &w, error);
}

/* ---- what was submitted earlier ---- */

static bool has_open_task(const gt_submission *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (!s->tasks[i].is_ended) return true;
    return false;
}

/* Whoever sees the last of its tasks end removes them. */
static bool has_secrets(const gt_submission *s)
{
    char *path = gt_format("%s/" GT_SWEEP_SECRETS, s->folder);
    bool found = gt_path_is_file(path);
    gt_free(path);
    return found;
}

/* Watches earlier submissions until it is known which of their tasks are in the queue, and marks these runs.
 * Fails if there are some and the sweep is not continued. */
static bool take_earlier(gt_watch *w, gt_error *error)
{
    gt_runner *r = w->r;
    gt_arena arena = {0};
    gt_submission *submissions;
    size_t count = gt_submissions_read(&arena, r->plan->root, &submissions), queued = 0;
    for (size_t i = 0; i < count; i++)
        if (has_open_task(&submissions[i]) || has_secrets(&submissions[i])) gt_watch_add(w, &submissions[i]);
    for (double until = gt_clock_now_s() + 2 * grace() + 1; w->count;) {
        gt_watch_look(w, grace());
        if (w->silences > 2) {
            gt_arena_free(&arena);
            return gt_fail(error, "tasks of this sweep have not ended, and SLURM does not answer");
        }
        size_t open = 0;
        for (size_t i = 0; i < w->count; i++)
            for (size_t t = 0; t < w->items[i].count; t++)
                open += !w->items[i].tasks[t].is_over && !w->items[i].tasks[t].is_queued;
        if (!open || gt_clock_now_s() > until) break;
        pause_for(0.2);
    }
    for (size_t i = 0; i < w->count; i++) {
        const gt_submission *s = gt_submission_read(&arena, r->plan->root, w->items[i].stamp);
        for (size_t t = 0; s && t < w->items[i].count; t++) {
            if (w->items[i].tasks[t].is_over) continue;
            size_t run = gt_watch_run(w, s->tasks[t].place);
            if (run != SIZE_MAX) r->is_queued[run] = true;
            queued++;
        }
    }
    gt_arena_free(&arena);
    r->result->failed = r->done = r->not_run = 0; /* those of an earlier call */
    r->done_s = 0;
    if (queued && !r->options->skip_existing)
        return gt_fail(error,
                       "%zu tasks of this sweep are in the queue of SLURM; continue with --skip_existing, or "
                       "cancel them with scancel",
                       queued);
    return true;
}

/* ---- waiting ---- */

static void log_state(gt_watch *w, size_t all)
{
    gt_runner *r = w->r;
    size_t left = all - w->over;
    double seconds =
        r->done ? r->done_s / (double)r->done * (double)left / (double)(w->running ? w->running : 1) : 0;
    char *rest = gt_runner_time_left(r->done && left && w->running ? seconds : 0);
    gt_runner_log(r, "%zu of %zu runs done, %zu running%s", w->over, all, w->running, rest);
    gt_free(rest);
}

/* Returns false if the tasks are left alone. */
static bool wait_for_tasks(gt_watch *w, gt_error *error, bool *ok)
{
    size_t all = 0;
    double pause_s = 0, cancelled_at = 0;
    for (size_t i = 0; i < w->count; i++) all += w->items[i].count;
    w->over = 0;
    for (size_t i = 0; i < w->count; i++)
        for (size_t t = 0; t < w->items[i].count; t++) w->over += w->items[i].tasks[t].is_over;
    for (;;) {
        if (gt_watch_look(w, grace())) {
            *ok = *ok && record_tasks(w->r, error);
            log_state(w, all);
        }
        if (gt_watch_is_over(w)) return true;
        if (gt_slurm_hung_up() || (gt_slurm_interrupts() > 1 && cancelled_at > 0)) return false;
        if (gt_slurm_interrupts() && cancelled_at <= 0) {
            gt_runner_put(w->r, GT_TONE_RED, "=== Caught interrupt signal ===");
            gt_runner_log(w->r, "Cancelling the tasks and waiting for their end; interrupt again to leave");
            gt_watch_cancel(w);
            cancelled_at = gt_clock_now_s();
            pause_s = 0;
        }
        if (cancelled_at > 0 && gt_clock_now_s() > cancelled_at + cancel_grace_s) return false;
        if (w->silences >= GT_SLURM_SILENCES_MAX) {
            gt_runner_log(w->r, "SLURM did not answer %d times; the tasks may still run", w->silences);
            return false;
        }
        double pause = gt_slurm_next_pause(&pause_s, w->silences);
        pause_for(cancelled_at > 0 && pause > 1 ? 1 : pause);
    }
}

/* ---- the whole ---- */

/* All folders differ, so their strings are numbered one after another. */
static gt_interner *places_of(const gt_run_plan *plan, uint32_t *first)
{
    gt_interner *places = gt_interner_new();
    for (size_t i = 0, runs = gt_run_count(plan); i < runs; i++) {
        gt_run_point point = gt_run_point_make(plan, i);
        uint32_t place = gt_interner_add_cstr(places, point.place);
        if (i == 0) *first = place;
        gt_run_point_free(&point);
    }
    return places;
}

/* Submits the runs that are left. */
static bool submit_left(gt_watch *w, size_t left, gt_error *error)
{
    gt_runner *r = w->r;
    size_t *runs = gt_alloc((left + 1) * sizeof *runs), count = 0, submitted = 0;
    for (size_t i = 0; i < r->runs; i++)
        if (r->outcomes[r->order[i]].is_begun) runs[count++] = r->order[i];
    const char *stamp = gt_submission_make(r, &w->job, runs, count, error);
    gt_free(runs);
    const gt_submission *s = stamp ? gt_submission_read(w->job.arena, r->plan->root, stamp) : NULL;
    if (!stamp) return false;
    if (!s) return gt_fail(error, "%s: the list of tasks was removed", stamp);
    if (r->options->cluster->generate_only) {
        gt_submission_print(r, s);
        return true;
    }
    gt_error reason;
    if (!gt_submission_submit(r, &w->job, s, &submitted, &reason)) {
        if (!submitted) {
            *error = reason;
            return false;
        }
        gt_runner_log(r, "[ERROR] %s", reason.text);
        gt_runner_log(r, "%zu of %zu runs were submitted; submit the others with --skip_existing", submitted,
                      count);
    }
    s = gt_submission_read(w->job.arena, r->plan->root, stamp); /* with the numbers of the arrays */
    if (s) gt_watch_add(w, s);
    if (s && submitted < count) {
        gt_watched *item = &w->items[w->count - 1];
        for (size_t t = submitted; t < item->count; t++) item->tasks[t].is_over = true;
    }
    return s != NULL;
}

static bool run_tasks(gt_watch *w, gt_error *error)
{
    gt_runner *r = w->r;
    const gt_run_cluster *cluster = r->options->cluster;
    size_t left;
    if (!take_earlier(w, error)) return false;
    gt_sweep_record_free(r->earlier); /* what is known now about earlier tasks */
    r->earlier = gt_sweep_record_read(r->plan->root);
    if (!gt_runner_choose(r, &left, error)) return false;
    if (left && !submit_left(w, left, error)) return false;
    if (cluster->generate_only) return r->result->left = true;
    if (cluster->no_wait) {
        gt_runner_log(r, "The tasks are not waited for; --skip_existing waits for them and runs what failed");
        return r->result->left = true;
    }
    bool ok = true;
    if (!wait_for_tasks(w, error, &ok)) {
        r->result->left = true;
        gt_runner_log(r, "The tasks are not waited for; --skip_existing waits for them and runs what failed");
    }
    r->result->interrupted = gt_slurm_interrupts() || gt_slurm_hung_up();
    return ok && (!gt_path_is_file(r->record_path) || record_tasks(r, error));
}

static gt_watch begin_watch(gt_runner *r, gt_arena *arena, gt_interner **places)
{
    uint32_t first = 0;
    const gt_value *context = r->options->cluster ? r->options->cluster->context : &gt_value_missing;
    *places = places_of(r->plan, &first);
    if (!r->is_queued) r->is_queued = gt_alloc_zero(r->runs, sizeof *r->is_queued);
    return (gt_watch){.r = r,
                      .places = *places,
                      .first_place = first,
                      .job = {.arena = arena,
                              .environment = gt_slurm_environment(arena, gt_value_get(context, "slurm")),
                              .reason = "",
                              .problem = "",
                              .exit_code = -1}};
}

static void end_watch(gt_watch *w, gt_interner *places)
{
    gt_free(w->items);
    gt_interner_free(places);
}

bool gt_runner_check_queue(gt_runner *r, gt_error *error)
{
    gt_arena arena = {0};
    gt_submission *submissions;
    size_t open = 0;
    bool ok = true;
    for (size_t i = gt_submissions_read(&arena, r->plan->root, &submissions); i-- > 0;)
        open += has_open_task(&submissions[i]);
    if (open && gt_slurm_missing_program(&arena)) {
        gt_warn("tasks of this sweep on SLURM may not have ended, and SLURM cannot be asked here");
    } else if (open) {
        gt_interner *places;
        gt_watch w = begin_watch(r, &arena, &places);
        ok = take_earlier(&w, error);
        end_watch(&w, places);
        gt_sweep_record_free(r->earlier); /* what is known now */
        r->earlier = gt_sweep_record_read(r->plan->root);
    }
    gt_arena_free(&arena);
    return ok;
}

bool gt_runner_on_slurm(gt_runner *r, gt_error *error)
{
    gt_arena arena = {0};
    const char *missing = gt_slurm_missing_program(&arena);
    bool ok;
    if (missing && !r->options->cluster->generate_only) {
        ok = gt_fail(error, "%s not found in PATH; run this on a node of the cluster", missing);
    } else {
        gt_interner *places;
        gt_watch w = begin_watch(r, &arena, &places);
        gt_slurm_watch_signals();
        ok = run_tasks(&w, error);
        gt_slurm_restore_signals();
        end_watch(&w, places);
    }
    gt_arena_free(&arena);
    return ok;
}
