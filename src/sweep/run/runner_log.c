/* What a sweep prints and writes to its log. Lines that scripts look for are those of the reference script.
 */
#include "base/printing.h"
#include "os/clock.h"
#include "sweep/run/steps.h"

static const char *const TONES[] = {"", "\033[0;32m", "\033[1;33m", "\033[0;31m"};
static const char RESET[] = "\033[0m";

/* Prints a line on the terminal, in colour, and in the log. */
void gt_runner_put(gt_runner *r, gt_tone t, const char *text)
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

void gt_runner_log(gt_runner *r, const char *format, ...)
{
    char *text, stamp[GT_CLOCK_TEXT];
    va_list arguments;
    va_start(arguments, format);
    int len = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (len < 0) return;
    gt_clock_format(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", time(NULL));
    char *line = gt_format("[%s] %s", stamp, text);
    gt_runner_put(r, GT_TONE_PLAIN, line);
    gt_free_all(line, text);
}

static void log_values(gt_runner *r, const char *what, const gt_sweep_axis *axis)
{
    gt_buffer list = {0};
    for (size_t i = 0; i < axis->value_count; i++) {
        if (i) gt_buffer_add_cstr(&list, " ");
        gt_buffer_add_cstr(&list, axis->values[i]);
    }
    gt_runner_log(r, "Testing %s: %s", what, gt_buffer_str(&list).bytes);
    gt_buffer_free(&list);
}

void gt_runner_log_plan(gt_runner *r)
{
    const gt_sweep_grid *grid = &r->plan->grid;
    gt_runner_put(r, GT_TONE_GREEN, "=== NCCL Channel & Thread Sweep ===");
    if (!r->plan->command_count) {
        gt_runner_log(r, "Config file: %s", r->plan->config);
        gt_runner_log(r, "Processes per node: %" PRId64, r->plan->nproc);
    }
    for (size_t i = 0; i < grid->axis_count; i++)
        log_values(r, strcmp(grid->axes[i].name, "threads") == 0 ? "threads per block" : grid->axes[i].name,
                   &grid->axes[i]);
    if (r->plan->picked)
        gt_runner_log(r, "%zu more runs, in random order (seed %" PRIu64 ")", r->runs, r->plan->seed);
    else if (r->plan->repeats > 1)
        gt_runner_log(r, "Each setting %zu times, in random order (seed %" PRIu64 ")", r->plan->repeats,
                      r->plan->seed);
    gt_runner_log(r, "Skip existing: %s", r->options->skip_existing ? "true" : "false");
    gt_runner_log(r, "Results directory: %s", r->plan->root);
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
    return gt_buffer_take(&text);
}

void gt_runner_log_end(gt_runner *r, size_t index, const gt_run_outcome *outcome)
{
    char *title = gt_run_point_title(r->plan, index);
    if (outcome->ended_rest)
        gt_runner_log(r,
                      "[WARNING] The run with %s left %d process%s behind, which would disturb the next run "
                      "and %s ended",
                      title, outcome->ended_rest, outcome->ended_rest == 1 ? "" : "es",
                      outcome->ended_rest == 1 ? "was" : "were");
    if (outcome->status == GT_RUN_SUCCESS)
        gt_runner_log(r, "[OK] Completed run with %s (duration: %" PRId64 "s)", title, outcome->duration_s);
    else if (outcome->status == GT_RUN_TIMEOUT)
        gt_runner_log(r, "[ERROR] Timed out run with %s (exit code: %d, duration: %" PRId64 "s)", title,
                      outcome->exit_code, outcome->duration_s);
    else
        gt_runner_log(r, "[ERROR] Failed run with %s (exit code: %d, duration: %" PRId64 "s)", title,
                      outcome->exit_code, outcome->duration_s);
    gt_free(title);
}

char *gt_runner_time_left(double seconds)
{
    if (!(seconds > 0)) return gt_strdup("");
    if (seconds < 90) return gt_format(", about %.0f s left", ceil(seconds));
    if (seconds < 90 * 60) return gt_format(", about %.0f min left", seconds / 60);
    return gt_format(", about %.1f h left", seconds / 3600);
}

/* "3 of 16", and from the second run on how long the rest will take if it is like what was done. */
static void log_progress(gt_runner *r, size_t left)
{
    double slots = r->options->slots > 1 ? (double)r->options->slots : 1;
    double seconds = r->done ? ((double)left * (r->done_s / (double)r->done) +
                                (double)(left - 1) * (double)r->options->delay_s) /
                                   slots
                             : 0;
    char *rest = gt_runner_time_left(seconds);
    gt_runner_log(r, "Run %zu of %zu%s", r->begun + 1, r->begun + left, rest);
    gt_free(rest);
}

void gt_runner_log_begin(gt_runner *r, size_t index, const gt_run_point *point, size_t left)
{
    static const char rule[] = "========================================";
    char *variables = describe_variables(r->plan, index);
    gt_runner_put(r, GT_TONE_YELLOW, rule);
    log_progress(r, left);
    gt_runner_log(r, "Running with %s", variables);
    gt_runner_log(r, "Output directory: %s", point->folder);
    gt_runner_put(r, GT_TONE_YELLOW, rule);
    gt_free(variables);
    r->begun++;
}
