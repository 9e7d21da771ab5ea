/* The loop over the points of a sweep. Lines of the log that scripts look for are those of the reference
 * script. */
#include "sweep/run/run.h"
#include "base/memory.h"
#include "base/printing.h"
#include "os/child.h"
#include "os/clock.h"
#include "os/paths.h"
#include "output/file.h"
#include "output/terminal.h"
#include "sweep/record.h"
#include "sweep/run/slots.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct runner {
    const gt_run_plan *plan;
    const gt_runner_options *options;
    gt_runner_result *result;
    gt_run_outcome *outcomes; /* one per run */
    size_t runs;
    size_t *order;            /* of the runs */
    gt_sweep_record *earlier; /* sweep.json as it was before; NULL: none */
    gt_run_session session;
    size_t begun; /* runs of this program, without skipped ones */
    size_t done;  /* those that ended, and the seconds that they took */
    double done_s;
    char *log_path, *summary_path, *record_path;
    FILE *log;
    bool colour;
    time_t started, recorded; /* time of the last write of sweep.json */
} runner;

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

/* ---- log ---- */

typedef enum tone { PLAIN, GREEN, YELLOW, RED } tone;
static const char *const TONES[] = {"", "\033[0;32m", "\033[1;33m", "\033[0;31m"};
static const char RESET[] = "\033[0m";

/* Prints a line on the terminal, in colour, and in the log. */
static void put_line(runner *r, tone t, const char *text)
{
    bool colour = !r->options->quiet && r->colour && t;
    if (colour) gt_print_raw(stdout, TONES[t], strlen(TONES[t]));
    if (!r->options->quiet) fputs(text, stdout);
    if (colour) gt_print_raw(stdout, RESET, strlen(RESET));
    if (!r->options->quiet) putchar('\n');
    fflush(stdout);
    fprintf(r->log, "%s\n", text);
    fflush(r->log);
}

static void log_line(runner *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void log_line(runner *r, const char *format, ...)
{
    char *text, stamp[GT_CLOCK_TEXT];
    va_list arguments;
    va_start(arguments, format);
    int len = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (len < 0) return;
    gt_clock_format(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", time(NULL));
    char *line = gt_format("[%s] %s", stamp, text);
    put_line(r, PLAIN, line);
    gt_free(line);
    gt_free(text);
}

static void log_values(runner *r, const char *what, const gt_sweep_axis *axis)
{
    gt_buffer list = {0};
    for (size_t i = 0; i < axis->value_count; i++) {
        if (i) gt_buffer_add_cstr(&list, " ");
        gt_buffer_add_cstr(&list, axis->values[i]);
    }
    log_line(r, "Testing %s: %s", what, gt_buffer_str(&list).bytes);
    gt_buffer_free(&list);
}

static void log_beginning(runner *r)
{
    const gt_sweep_grid *grid = &r->plan->grid;
    put_line(r, GREEN, "=== NCCL Channel & Thread Sweep ===");
    if (!r->plan->command_count) {
        log_line(r, "Config file: %s", r->plan->config);
        log_line(r, "Processes per node: %" PRId64, r->plan->nproc);
    }
    for (size_t i = 0; i < grid->axis_count; i++)
        log_values(r, strcmp(grid->axes[i].name, "threads") == 0 ? "threads per block" : grid->axes[i].name,
                   &grid->axes[i]);
    if (r->plan->repeats > 1)
        log_line(r, "Each setting %zu times, in random order (seed %" PRIu64 ")", r->plan->repeats,
                 r->plan->seed);
    log_line(r, "Skip existing: %s", r->options->skip_existing ? "true" : "false");
    log_line(r, "Results directory: %s", r->plan->root);
}

/* "RCCL_THREADS_PER_BLOCK=256, NCCL_MAX_NCHANNELS=28" */
static char *describe_variables(const gt_run_plan *plan, size_t run)
{
    const gt_sweep_grid *grid = &plan->grid;
    gt_buffer text = {0};
    for (size_t k = 0; k < grid->axis_count; k++) {
        size_t axis = gt_sweep_grid_named_as(grid, k);
        const char *name = grid->axes[axis].variable ? grid->axes[axis].variable : grid->axes[axis].name;
        if (k) gt_buffer_add_cstr(&text, ", ");
        gt_buffer_add_cstr(&text, name);
        gt_buffer_add_cstr(&text, "=");
        gt_buffer_add_cstr(&text, gt_sweep_grid_value(grid, gt_run_grid_point(plan, run), axis));
    }
    char *described = gt_strdup(gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
    return described;
}

/* ---- records ---- */

static bool write_whole(const char *path, gt_buffer *text, gt_error *error)
{
    gt_output *output = gt_output_new();
    bool written =
        gt_output_write_file(output, path, gt_buffer_str(text), error) && gt_output_commit(output, error);
    gt_output_free(output);
    gt_buffer_free(text);
    return written;
}

/* sweep.json is rewritten after each point, so that it is complete whenever the sweep ends, but at most
 * once per second. */
static bool write_record(runner *r, bool last, gt_error *error)
{
    gt_buffer text = {0};
    if (!last && time(NULL) == r->recorded) return true;
    r->recorded = time(NULL);
    gt_run_json(&(gt_run_history){r->plan, r->outcomes, r->earlier, r->session.machine, r->started}, &text);
    return write_whole(r->record_path, &text, error);
}

static bool write_summary(runner *r, gt_error *error)
{
    gt_buffer text = {0};
    gt_run_summary(r->plan, r->outcomes, time(NULL), &text);
    if (!r->options->quiet) printf("\n%s\n", gt_buffer_str(&text).bytes);
    if (!write_whole(r->summary_path, &text, error)) return false;
    log_line(r, "Summary saved to: %s", r->summary_path);
    return true;
}

/* ---- one point ---- */

static gt_run_status status_of(const gt_child_result *child)
{
    if (child->interrupted || caught) return GT_RUN_INTERRUPTED;
    if (child->timed_out) return GT_RUN_TIMEOUT;
    return child->exit_code == 0 ? GT_RUN_SUCCESS : GT_RUN_FAILED;
}

static void log_end(runner *r, size_t index, const gt_run_outcome *outcome)
{
    char *title = gt_run_point_title(r->plan, index);
    if (outcome->status == GT_RUN_SUCCESS)
        log_line(r, "[OK] Completed run with %s (duration: %" PRId64 "s)", title, outcome->duration_s);
    else if (outcome->status == GT_RUN_TIMEOUT)
        log_line(r, "[ERROR] Timed out run with %s (exit code: %d, duration: %" PRId64 "s)", title,
                 outcome->exit_code, outcome->duration_s);
    else
        log_line(r, "[ERROR] Failed run with %s (exit code: %d, duration: %" PRId64 "s)", title,
                 outcome->exit_code, outcome->duration_s);
    gt_free(title);
}

/* Runs the command of a point whose folder exists. */
static void run_command(runner *r, size_t index, const gt_run_point *point)
{
    gt_run_outcome *outcome = &r->outcomes[index];
    char *log_path = gt_format("%s/run_output.log", point->folder);
    gt_child_setup setup = {
        .argv = point->argv.items,
        .environment = point->environment.items,
        .log_path = log_path,
        .silent = r->options->quiet || r->options->slots > 1,
        .merge = true,
        .then_terminate = true,
        .timeout_s = (double)r->options->timeout_s,
    };
    gt_child_result child = {0};
    gt_error error;
    outcome->started = time(NULL);
    bool started = gt_child_run(&setup, &child, &error);
    outcome->ended = time(NULL);
    outcome->exit_code = child.exit_code;
    outcome->duration_s = (int64_t)child.seconds;
    outcome->status = started ? status_of(&child) : GT_RUN_FAILED;
    if (!started) log_line(r, "[ERROR] %s", error.text);
    if (outcome->status == GT_RUN_SUCCESS) gt_run_outputs(point->folder, &outcome->files, &outcome->bytes);
    r->done++;
    r->done_s += child.seconds;
    gt_free(log_path);
}

static bool make_folders(const gt_run_point *point, gt_error *error)
{
    return gt_path_make_folder(point->folder, error) &&
           (!point->rocprof_folder || gt_path_make_folder(point->rocprof_folder, error));
}

/* "3 of 16", and from the second run on how long the rest will take if it is like what was done. */
static void log_progress(runner *r, size_t left)
{
    double slots = r->options->slots > 1 ? (double)r->options->slots : 1;
    double seconds = r->done ? ((double)left * (r->done_s / (double)r->done) +
                                (double)(left - 1) * (double)r->options->delay_s) /
                                   slots
                             : 0;
    size_t number = r->begun + 1, all = r->begun + left;
    if (!r->done)
        log_line(r, "Run %zu of %zu", number, all);
    else if (seconds < 90)
        log_line(r, "Run %zu of %zu, about %.0f s left", number, all, seconds);
    else if (seconds < 90 * 60)
        log_line(r, "Run %zu of %zu, about %.0f min left", number, all, seconds / 60);
    else
        log_line(r, "Run %zu of %zu, about %.1f h left", number, all, seconds / 3600);
}

static void log_begin(runner *r, size_t index, const gt_run_point *point, size_t left)
{
    static const char rule[] = "========================================";
    char *variables = describe_variables(r->plan, index);
    put_line(r, YELLOW, rule);
    log_progress(r, left);
    log_line(r, "Running with %s", variables);
    log_line(r, "Output directory: %s", point->folder);
    put_line(r, YELLOW, rule);
    gt_free(variables);
    r->begun++;
}

/* After a run: its outcome is known. */
static bool note_end(runner *r, size_t index, gt_error *error)
{
    const gt_run_outcome *outcome = &r->outcomes[index];
    if (outcome->status != GT_RUN_INTERRUPTED) log_end(r, index, outcome);
    r->result->failed += outcome->status == GT_RUN_FAILED || outcome->status == GT_RUN_TIMEOUT;
    if (outcome->status == GT_RUN_INTERRUPTED && !caught) caught = SIGINT;
    return write_record(r, false, error);
}

static bool run_point(runner *r, size_t index, const gt_run_point *point, size_t left, gt_error *error)
{
    log_begin(r, index, point, left);
    if (!make_folders(point, error)) return false;
    run_command(r, index, point);
    return note_end(r, index, error);
}

static void skip_point(runner *r, size_t index, const gt_run_point *point)
{
    char *title = gt_run_point_title(r->plan, index);
    log_line(r, "Skipping %s (directory exists)", title);
    r->outcomes[index].is_skipped = true;
    if (gt_sweep_record_point(r->earlier, point->place)->type == GT_VALUE_MISSING)
        r->outcomes[index].status = GT_RUN_SKIPPED;
    gt_free(title);
}

/* Without a record, it cannot be known how a run ended: then its folder counts, as for the script. */
static bool is_skipped(const gt_runner_options *options, const gt_sweep_record *earlier,
                       const gt_run_point *point)
{
    if (!options->skip_existing) return false;
    const gt_value *recorded = gt_sweep_record_point(earlier, point->place);
    bool is_unknown =
        recorded->type == GT_VALUE_MISSING ||
        gt_value_equals_cstr(gt_value_get(recorded, "status"), gt_run_status_names[GT_RUN_SKIPPED]);
    return is_unknown ? gt_path_is_folder(point->folder) : gt_run_is_whole(earlier, point);
}

/* ---- all points ---- */

/* Runs that are repeated are PENDING from now on: one that ended well before is not taken for that if this
 * program is killed while it runs again. */
static bool choose_runs(runner *r, size_t *left, gt_error *error)
{
    *left = 0;
    for (size_t i = 0; i < r->runs; i++) {
        gt_run_point point = gt_run_point_make(r->plan, r->order[i]);
        if (is_skipped(r->options, r->earlier, &point)) {
            skip_point(r, r->order[i], &point);
        } else {
            r->outcomes[r->order[i]].is_begun = true;
            ++*left;
        }
        gt_run_point_free(&point);
    }
    return !r->earlier || write_record(r, true, error);
}

static bool run_points(runner *r, gt_error *error)
{
    bool waits = false;
    size_t left;
    bool ok = choose_runs(r, &left, error);
    for (size_t i = 0; i < r->runs && ok && !caught; i++) {
        size_t run = r->order[i];
        if (r->outcomes[run].is_skipped) continue;
        if (waits && r->options->delay_s) {
            log_line(r, "Waiting %" PRId64 " seconds before next run...", r->options->delay_s);
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
    runner *r = context;
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
static bool give_runs(runner *r, gt_slots *slots, size_t *next, size_t *left, gt_error *error)
{
    for (; *next < r->runs && !caught; ++*next) {
        size_t run = r->order[*next];
        if (r->outcomes[run].is_skipped) continue;
        gt_run_point point = gt_run_point_make(r->plan, run);
        bool made = make_folders(&point, error), given = made && gt_slots_give(slots, run);
        if (given) log_begin(r, run, &point, (*left)--);
        gt_run_point_free(&point);
        if (!made) return false;
        if (!given) break;
    }
    return true;
}

static bool run_points_at_once(runner *r, gt_slots *slots, gt_error *error)
{
    size_t left, next = 0, run;
    int passed = 0; /* signals that were passed on */
    bool ok = choose_runs(r, &left, error);
    while (ok || gt_slots_are_busy(slots)) {
        if (ok) ok = give_runs(r, slots, &next, &left, error);
        if (!gt_slots_are_busy(slots)) break;
        gt_run_outcome outcome;
        if (gt_slots_wait(slots, &run, &outcome)) {
            r->outcomes[run] = outcome;
            r->outcomes[run].is_begun = true;
            r->done++;
            r->done_s += (double)outcome.duration_s;
            if (outcome.status != GT_RUN_PENDING && ok) ok = note_end(r, run, error);
        }
        for (; passed < caught_count; passed++) gt_slots_signal(slots, caught);
    }
    if (ok && !caught && next < r->runs) return gt_fail(error, "all slots were killed");
    return ok;
}

static bool run_in_slots(runner *r, gt_error *error)
{
    gt_arena arena = {0};
    const char **gpus = gt_alloc_zero(r->options->slots, sizeof *gpus);
    gt_slots *slots = NULL;
    bool ok = gt_slots_divide(r->options->slots, r->options->gpus, &arena, gpus, error);
    for (size_t i = 0; ok && i < r->options->slots; i++)
        log_line(r, "Slot %zu: GPUs %s", i + 1, *gpus[i] ? gpus[i] : "not chosen");
    if (ok) slots = gt_slots_start(r->options->slots, gpus, run_in_slot, r, error);
    ok = slots && run_points_at_once(r, slots, error);
    if (slots) gt_slots_end(slots);
    gt_free(gpus);
    gt_arena_free(&arena);
    return ok;
}

static bool run_all(runner *r, gt_error *error)
{
    bool ok = r->options->slots > 1 ? run_in_slots(r, error) : run_points(r, error);
    gt_run_session_end(&r->session);
    return ok && write_record(r, true, error);
}

static bool finish(runner *r, gt_error *error)
{
    if (caught) {
        put_line(r, RED, "=== Caught interrupt signal ===");
        log_line(
            r, "The command and its process group were stopped. Points that were not run are PENDING in %s.",
            r->record_path);
        return r->result->interrupted = true;
    }
    if (!r->options->no_summary && !write_summary(r, error)) return false;
    log_line(r, "All runs completed!");
    return true;
}

static bool open_log(runner *r, gt_error *error)
{
    if (!gt_path_make_folder(r->plan->root, error)) return false;
    r->log = fopen(r->log_path, "we");
    return r->log || gt_fail_writing(error, r->log_path, errno);
}

static bool close_log(runner *r, bool ok, gt_error *error)
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
    runner r = {.plan = plan, .options = options, .result = result, .started = time(NULL)};
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
    if (ok) r.session = gt_run_session_begin(plan);
    if (ok) log_beginning(&r);
    ok = ok && run_all(&r, error) && finish(&r, error);
    ok = close_log(&r, ok, error);
    restore_signals(old);
    gt_free(r.outcomes);
    gt_free(r.order);
    gt_sweep_record_free(r.earlier);
    gt_run_session_free(&r.session);
    gt_free(r.log_path);
    gt_free(r.summary_path);
    gt_free(r.record_path);
    return ok;
}

/* Prints "env -u NAME A=1 command word": the equivalent shell command of the point. */
static void add_shell_line(gt_buffer *line, const gt_run_plan *plan, const gt_run_point *point)
{
    gt_buffer_add_cstr(line, "env ");
    for (size_t i = 0; i < plan->unset_count; i++) {
        gt_buffer_add_cstr(line, "-u ");
        gt_shell_quote(line, plan->unset[i]);
        gt_buffer_add_cstr(line, " ");
    }
    gt_shell_join(line, point->variables.items, point->variables.count);
    gt_buffer_add_cstr(line, " ");
    gt_shell_join(line, point->argv.items, point->argv.count);
}

void gt_runner_print(const gt_run_plan *plan, const gt_runner_options *options)
{
    size_t *order = gt_run_order(plan), runs = gt_run_count(plan);
    gt_sweep_record *earlier = gt_sweep_record_read(plan->root);
    for (size_t i = 0; i < runs; i++) {
        gt_run_point point = gt_run_point_make(plan, order[i]);
        char *title = gt_run_point_title(plan, order[i]);
        gt_buffer line = {0};
        bool skipped = is_skipped(options, earlier, &point);
        add_shell_line(&line, plan, &point);
        printf("%s# %s%s\n", i ? "\n" : "", title, skipped ? ": skipped, folder exists" : "");
        if (!skipped) printf("%s\n", gt_buffer_str(&line).bytes);
        gt_buffer_free(&line);
        gt_free(title);
        gt_run_point_free(&point);
    }
    gt_sweep_record_free(earlier);
    gt_free(order);
}
