/* What the tasks of a sweep do.
 *
 * A task is over once it has written its result. One that was killed cannot do so: SLURM no longer has it in
 * the queue, and it has no result. Then, after some seconds, because a network file system may show a file
 * late, the word of SLURM is written for it: results/<task>.slurm.json. Clusters without accounting forget a
 * task after some minutes; it then counts as interrupted, which is enough to run it again.
 *
 * A task that wrote that it was interrupted may be started again by SLURM (preempted, requeued): it is not
 * over while it is in the queue. */
#include "os/clock.h"
#include "sweep/run/cluster.h"

#include <signal.h>

/* ---- submissions ---- */

size_t gt_watch_run(const gt_watch *w, const char *place)
{
    uint32_t found = gt_interner_find(w->places, place, strlen(place));
    return found == GT_STR_NONE || found < w->first_place || found - w->first_place >= w->r->runs
               ? SIZE_MAX
               : found - w->first_place;
}

static void know_array(gt_watch *w, gt_watched *item, const char *array)
{
    for (size_t i = 0; i < item->arrays.count; i++)
        if (strcmp(item->arrays.items[i], array) == 0) return;
    gt_arg_list_add(w->job.arena, &item->arrays, array);
}

void gt_watch_add(gt_watch *w, const gt_submission *s)
{
    w->items = gt_realloc(w->items, (w->count + 1) * sizeof *w->items);
    gt_watched *item = &w->items[w->count++];
    *item =
        (gt_watched){.stamp = gt_arena_bytes(w->job.arena, s->stamp, strlen(s->stamp)), .count = s->count};
    item->tasks = gt_arena_alloc(w->job.arena, s->count * sizeof *item->tasks);
    memset(item->tasks, 0, s->count * sizeof *item->tasks);
    for (size_t i = 0; gt_value_is_list(s->jobs) && i < s->jobs->count; i++) {
        const char *array = gt_value_copy(w->job.arena, &s->jobs->items[i]);
        if (array && *array && strspn(array, "0123456789") == strlen(array)) know_array(w, item, array);
    }
}

bool gt_watch_is_over(const gt_watch *w)
{
    for (size_t i = 0; i < w->count; i++)
        for (size_t t = 0; t < w->items[i].count; t++)
            if (!w->items[i].tasks[t].is_over) return false;
    return true;
}

void gt_watch_cancel(gt_watch *w)
{
    for (size_t i = 0; i < w->count; i++)
        for (size_t k = 0; k < w->items[i].arrays.count; k++) {
            w->job.id = w->items[i].arrays.items[k];
            if (!gt_slurm_cancel(&w->job)) gt_warn("%s", w->job.problem);
            gt_slurm_take_signal(&w->job);
        }
}

/* ---- the word of SLURM ---- */

/* The status of a task that SLURM ended, by its state; NULL: SLURM no longer knows it. */
static gt_run_status status_of(const char *state, bool is_begun)
{
    static const char *const failures[] = {"FAILED", "OUT_OF_MEMORY", "LAUNCH_FAILED", "COMPLETED"};
    if (state && (strcmp(state, "TIMEOUT") == 0 || strcmp(state, "DEADLINE") == 0)) return GT_RUN_TIMEOUT;
    for (size_t i = 0; state && i < GT_LENGTH(failures); i++)
        if (strcmp(state, failures[i]) == 0) return GT_RUN_FAILED;
    return is_begun ? GT_RUN_INTERRUPTED : GT_RUN_PENDING;
}

static bool write_word(gt_watch *w, const gt_submission *s, size_t task, const gt_slurm_job *asked)
{
    const char *state = asked->source ? asked->state : NULL;
    char end[GT_CLOCK_TEXT];
    int code = asked->exit_signal > 0 && asked->exit_signal <= SIGRTMAX ? 128 + asked->exit_signal
                                                                        : asked->exit_code;
    gt_json_writer json = {0};
    gt_clock_format(end, sizeof end, "%Y-%m-%dT%H:%M:%S%z", time(NULL));
    gt_json_open(&json, '{');
    gt_json_put_cstr(&json, "status", gt_run_status_names[status_of(state, s->tasks[task].is_begun)]);
    gt_json_key(&json, "exit_code");
    if (code > 0)
        gt_json_add_int(&json, code);
    else
        gt_json_add_cstr(&json, NULL);
    gt_json_put_cstr(&json, "end", end);
    gt_json_put_cstr(&json, "state", state ? state : "UNKNOWN");
    gt_json_close(&json, '}');
    char *path = gt_format("%s/results/%zu.slurm.json", s->folder, task);
    gt_error error;
    bool written = gt_runner_write_json(path, &json, &error);
    if (!written) gt_warn("%s", error.text);
    gt_free(path);
    (void)w;
    return written;
}

enum {
    ASKED_MAX = 50,     /* questions about single tasks per look; each calls up to three programs */
    FORGOTTEN_MAX = 10, /* of these, after which SLURM has forgotten the others, too */
};

/* Asks for the end of a task that is gone. False if it is not gone after all, or SLURM does not answer. When
 * thousands of tasks are gone at once, only some are asked about; the exit code of the others is not known.
 */
static bool take_word(gt_watch *w, gt_watched *item, const gt_submission *s, size_t task)
{
    gt_slurm_job asked = w->job;
    const char *known = item->tasks[task].final_state;
    size_t array = task / s->array_size;
    asked.state = asked.source = NULL;
    asked.reason = asked.problem = "";
    asked.exit_code = asked.exit_signal = -1;
    asked.id = s->tasks[task].job;
    if (item->asked >= ASKED_MAX || item->forgotten >= FORGOTTEN_MAX) {
        if (!*known && item->forgotten < FORGOTTEN_MAX) return false; /* in the next look */
        asked.state = *known ? known : NULL;
        asked.source = *known ? "squeue" : NULL;
        return write_word(w, s, task, &asked);
    }
    item->asked++;
    if (!asked.id && array < item->arrays.count)
        asked.id = gt_arena_format(w->job.arena, "%s_%zu", item->arrays.items[array], task % s->array_size);
    gt_slurm_answer answer = asked.id ? gt_slurm_ask(&asked) : GT_SLURM_GONE;
    w->job.interrupted = asked.interrupted;
    gt_slurm_take_signal(&w->job);
    if (answer == GT_SLURM_WAITS || answer == GT_SLURM_SILENT) return false;
    item->forgotten = answer == GT_SLURM_GONE ? item->forgotten + 1 : 0;
    if (answer == GT_SLURM_GONE) asked.source = NULL;
    return write_word(w, s, task, &asked);
}

/* ---- looking ---- */

/* "NAME.0,NAME.1000": the names of the arrays. */
static const char *array_names(gt_arena *arena, const gt_submission *s)
{
    gt_buffer names = {0};
    for (size_t first = 0; first < s->count; first += s->array_size)
        gt_buffer_add_format(&names, "%sgputally-%s.%zu", first ? "," : "", s->name, first);
    return gt_buffer_move(&names, arena);
}

/* Takes the queue's lines about a submission. */
static void take_queue(gt_watch *w, gt_watched *item, const gt_submission *s, const gt_slurm_task *lines,
                       size_t count)
{
    for (size_t t = 0; t < item->count; t++) {
        item->tasks[t].is_queued = item->tasks[t].is_running = false;
        item->tasks[t].final_state[0] = 0;
    }
    for (size_t i = 0; i < count; i++) {
        const char *dot = strrchr(lines[i].job_name, '.');
        size_t first = dot ? (size_t)strtoull(dot + 1, NULL, 10) : 0;
        size_t task = first + lines[i].index;
        if (first >= item->count || task >= item->count || lines[i].index >= s->array_size) continue;
        if (first / s->array_size == item->arrays.count) know_array(w, item, lines[i].array);
        item->tasks[task].is_queued = !lines[i].is_final;
        item->tasks[task].is_running = strcmp(lines[i].state, "RUNNING") == 0;
        if (lines[i].is_final)
            snprintf(item->tasks[task].final_state, sizeof item->tasks[task].final_state, "%s",
                     lines[i].state);
    }
}

/* A task has ended: the run of this plan that it was. */
static void note_end(gt_watch *w, const gt_task *task)
{
    gt_runner *r = w->r;
    size_t run = gt_watch_run(w, task->place);
    if (run == SIZE_MAX) return;
    gt_run_outcome *outcome = &r->outcomes[run];
    outcome->status = task->status;
    outcome->is_skipped = false;
    outcome->duration_s = task->duration_s;
    const gt_value *last =
        task->attempts->count ? &task->attempts->items[task->attempts->count - 1] : &gt_value_missing;
    const gt_value *code = gt_value_get(last, "exit_code");
    outcome->exit_code = code->type == GT_VALUE_INT ? (int)code->integer : 0;
    r->result->failed += outcome->status != GT_RUN_SUCCESS;
    if (task->status == GT_RUN_PENDING) {
        r->not_run++;
        return;
    }
    gt_runner_log_end(r, run, outcome);
    r->done++;
    r->done_s += (double)task->duration_s;
}

/* Nobody needs the secrets of a submission any more once all of its tasks are over. */
static void forget_secrets(const gt_watched *item, const gt_submission *s)
{
    for (size_t t = 0; t < item->count; t++)
        if (!item->tasks[t].is_over) return;
    char *path = gt_format("%s/" GT_SWEEP_SECRETS, s->folder);
    unlink(path);
    gt_free(path);
}

static bool look_at(gt_watch *w, gt_watched *item, const gt_submission *s, bool answered, double grace_s)
{
    bool any = false;
    item->asked = item->forgotten = 0;
    for (size_t t = 0; t < item->count; t++) {
        struct gt_watched_task *known = &item->tasks[t];
        const gt_task *task = &s->tasks[t];
        bool may_return = task->status == GT_RUN_INTERRUPTED || task->status == GT_RUN_TIMEOUT;
        if (known->is_over) continue;
        if (task->is_ended && (!may_return || (answered && !known->is_queued))) {
            known->is_over = any = true;
            w->over++;
            note_end(w, task);
            continue;
        }
        if (!answered) continue;
        w->queued += known->is_queued;
        w->running += known->is_running;
        if (known->is_queued) {
            known->gone_since = 0;
        } else if (known->gone_since <= 0) {
            known->gone_since = gt_clock_now_s();
        }
        if (known->gone_since > 0 && !task->is_ended && gt_clock_now_s() >= known->gone_since + grace_s)
            take_word(w, item, s, t);
    }
    if (any) forget_secrets(item, s);
    return any;
}

bool gt_watch_look(gt_watch *w, double grace_s)
{
    bool any = false, all_answered = true;
    w->queued = w->running = 0;
    for (size_t i = 0; i < w->count; i++) {
        gt_arena arena = {0}, *kept = w->job.arena;
        gt_watched *item = &w->items[i];
        gt_slurm_task *lines = NULL;
        size_t count = 0;
        const gt_submission *s = gt_submission_read(&arena, w->r->plan->root, item->stamp);
        if (s && s->count == item->count) {
            w->job.arena = &arena; /* of this look only */
            bool answered = gt_slurm_ask_tasks(&w->job, array_names(&arena, s), &lines, &count);
            const char *problem = answered ? NULL : gt_strdup(w->job.problem);
            w->job.arena = kept;
            w->job.problem = "";
            if (problem && w->silences == 0) gt_warn("%s; the tasks may still run, asking again", problem);
            gt_free((char *)problem);
            gt_slurm_take_signal(&w->job);
            all_answered = all_answered && answered;
            if (answered) take_queue(w, item, s, lines, count);
            any = look_at(w, item, s, answered, grace_s) || any;
        }
        gt_arena_free(&arena);
    }
    w->silences = all_answered ? 0 : w->silences + 1;
    return any;
}
