/* The record of a sweep: the summary as text for people, and sweep.json for programs. Both list every point
 * with its status, also those that did not run. */
#include "sweep/run/run.h"
#include "os/clock.h"
#include "os/paths.h"
#include "run/execute/execute.h"
#include "run/plan/secrets.h"
#include "sweep/record.h"

static bool was_run(const gt_run_outcome *outcome)
{
    return !outcome->is_skipped && outcome->status != GT_RUN_PENDING;
}

/* ---- summary ---- */

static void add_format(gt_buffer *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_format(gt_buffer *text, const char *format, ...)
{
    char *piece;
    va_list arguments;
    va_start(arguments, format);
    int len = vasprintf(&piece, format, arguments);
    va_end(arguments);
    if (len < 0) return;
    gt_buffer_add(text, piece, (size_t)len);
    gt_free(piece);
}

static void add_upper(gt_buffer *text, const char *name, int width)
{
    char upper[64];
    size_t len = 0;
    for (; name[len] && len < sizeof upper - 1; len++) upper[len] = (char)toupper((unsigned char)name[len]);
    upper[len] = 0;
    add_format(text, "%-*s", width, upper);
}

/* How wide the column of an axis is in the reference script. */
static int width_of(const gt_sweep_axis *axis)
{
    return strcmp(axis->name, "threads") == 0 ? 10 : 15;
}

static void add_row(gt_buffer *text, const gt_run_plan *plan, size_t run, const gt_run_outcome *outcome)
{
    const gt_sweep_grid *grid = &plan->grid;
    char duration[32] = "N/A";
    const char *status = outcome->is_skipped                 ? gt_run_status_names[GT_RUN_SKIPPED]
                         : outcome->status == GT_RUN_PENDING ? gt_run_status_names[GT_RUN_UNKNOWN]
                                                             : gt_run_status_names[outcome->status];
    if (was_run(outcome)) snprintf(duration, sizeof duration, "%" PRId64, outcome->duration_s);
    if (plan->repeats > 1) add_format(text, "%-10zu ", gt_run_repeat(plan, run));
    for (size_t i = 0; i < grid->axis_count; i++)
        add_format(text, "%-*s ", width_of(&grid->axes[i]),
                   gt_sweep_grid_value(grid, gt_run_grid_point(plan, run), i));
    add_format(text, "%-10s %-15s\n", status, duration);
}

/* The folder of a run; before the first one of a group, the values of all axes but the last. */
static void add_folder(gt_buffer *text, const gt_run_plan *plan, size_t run, bool is_first)
{
    const gt_sweep_grid *grid = &plan->grid;
    size_t named = grid->axis_count - 1;
    if (is_first && named) {
        gt_buffer_add_cstr(text, "  ");
        for (size_t i = 0; i < named; i++) {
            add_upper(text, grid->axes[i].name, 0);
            add_format(text, "=%s%s", gt_sweep_grid_value(grid, gt_run_grid_point(plan, run), i),
                       i + 1 < named ? ", " : ":\n");
        }
    }
    gt_run_point point = gt_run_point_make(plan, run);
    add_format(text, "    - %s/\n", point.folder);
    gt_run_point_free(&point);
}

void gt_run_summary(const gt_run_plan *plan, const gt_run_outcome *outcomes, time_t now, gt_buffer *text)
{
    const gt_sweep_grid *grid = &plan->grid;
    size_t runs = gt_run_count(plan), group = plan->picked ? 1 : grid->axes[grid->axis_count - 1].value_count;
    char date[GT_CLOCK_TEXT];
    gt_clock_format(date, sizeof date, "%a %b %e %H:%M:%S %Z %Y", now);
    add_format(text, "NCCL Channel & Thread Sweep Summary\nGenerated: %s\n\n", date);
    if (plan->repeats > 1) add_format(text, "%-10s ", "REPEAT");
    for (size_t i = 0; i < grid->axis_count; i++) {
        add_upper(text, grid->axes[i].name, width_of(&grid->axes[i]));
        gt_buffer_add_cstr(text, " ");
    }
    add_format(text, "%-10s %-15s\n", "STATUS", "DURATION(s)");
    gt_buffer_add_cstr(text, "----------------------------------------------------\n");
    for (size_t run = 0; run < runs; run++) {
        add_row(text, plan, run, &outcomes[run]);
        if ((run + 1) % group == 0) gt_buffer_add_cstr(text, "\n");
    }
    gt_buffer_add_cstr(text, "\nOutput directories:\n");
    for (size_t run = 0; run < runs; run++) add_folder(text, plan, run, run % group == 0);
}

/* ---- sweep.json ---- */

static void put_time(gt_json_writer *w, const char *key, time_t at, bool known)
{
    char text[GT_CLOCK_TEXT];
    gt_clock_format(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", at);
    gt_json_put_cstr(w, key, known ? text : NULL);
}

static void put_variables(gt_json_writer *w, const gt_arg_list *variables)
{
    gt_json_put_open(w, "env", '{');
    for (size_t i = 0; i < variables->count; i++) {
        const char *variable = variables->items[i], *equals = strchr(variable, '=');
        char *name = gt_format("%.*s", (int)(equals - variable), variable);
        gt_json_put_cstr(w, name, equals + 1);
        gt_free(name);
    }
    gt_json_close(w, '}');
}

static void put_axes(gt_json_writer *w, const gt_sweep_grid *grid)
{
    gt_json_put_open(w, "axes", '[');
    for (size_t i = 0; i < grid->axis_count; i++) {
        const gt_sweep_axis *axis = &grid->axes[i];
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "name", axis->name);
        gt_json_put_cstrs(w, "values", axis->values, axis->value_count);
        gt_json_put_cstr(w, "variable", axis->variable);
        gt_json_put_cstr(w, "folder", axis->folder);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

static void put_values(gt_json_writer *w, const gt_sweep_grid *grid, size_t point)
{
    gt_json_put_open(w, "values", '{');
    for (size_t i = 0; i < grid->axis_count; i++)
        gt_json_put_cstr(w, grid->axes[i].name, gt_sweep_grid_value(grid, point, i));
    gt_json_close(w, '}');
}

/* Status, exit code and times of a run. */
static void put_outcome(gt_json_writer *w, const gt_run_outcome *outcome)
{
    gt_json_put_cstr(w, "status", gt_run_status_names[outcome->status]);
    gt_json_key(w, "exit_code");
    if (was_run(outcome))
        gt_json_add_int(w, outcome->exit_code);
    else
        gt_json_add_cstr(w, NULL);
    put_time(w, "start", outcome->started, was_run(outcome));
    put_time(w, "end", outcome->ended, was_run(outcome));
}

/* An attempt that a record without attempts has: the run itself. */
static void put_only_attempt(gt_json_writer *w, const gt_value *earlier)
{
    static const char *const keys[] = {"status", "exit_code", "start", "end"};
    const gt_value *started = gt_value_get(earlier, "start");
    if (started->type != GT_VALUE_STRING) return;
    gt_json_open(w, '{');
    for (size_t i = 0; i < GT_LENGTH(keys); i++)
        gt_json_put_value(w, keys[i], gt_value_get(earlier, keys[i]));
    gt_json_close(w, '}');
}

/* All attempts at a run, the earliest first. */
static void put_attempts(gt_json_writer *w, const gt_value *earlier, const gt_run_outcome *outcome)
{
    const gt_value *attempts = gt_value_get(earlier, "attempts");
    gt_json_put_open(w, "attempts", '[');
    for (size_t i = 0; gt_value_is_list(attempts) && i < attempts->count; i++)
        gt_json_add_value(w, &attempts->items[i]);
    if (!gt_value_is_list(attempts)) put_only_attempt(w, earlier);
    if (was_run(outcome)) {
        gt_json_open(w, '{');
        put_outcome(w, outcome);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

static void put_point(gt_json_writer *w, const gt_run_plan *plan, const char *line, size_t run,
                      gt_run_point *point, const gt_run_outcome *outcome, const gt_value *earlier)
{
    gt_arg_list argv = gt_secrets_hide_words(&point->arena, plan->secrets, &point->argv),
                variables = gt_secrets_hide_variables(&point->arena, plan->secrets, &point->variables);
    gt_json_open(w, '{');
    put_values(w, &plan->grid, gt_run_grid_point(plan, run));
    gt_json_put_int(w, "repeat", (int64_t)gt_run_repeat(plan, run));
    gt_json_put_cstr(w, "directory", point->folder);
    put_outcome(w, outcome);
    if (outcome->status == GT_RUN_SUCCESS) {
        gt_json_put_int(w, "output_files", (int64_t)outcome->files);
        gt_json_put_int(w, "output_bytes", (int64_t)outcome->bytes);
    }
    put_attempts(w, earlier, outcome);
    if (outcome->is_begun) gt_json_put_cstr(w, "command", line);
    gt_json_put_cstrs(w, "argv", argv.items, argv.count);
    put_variables(w, &variables);
    gt_json_close(w, '}');
}

/* A run that was not begun now, as it was recorded before; the sweep may have been given by another path
 * then. */
static void put_earlier(gt_json_writer *w, const char *folder, const gt_value *earlier)
{
    gt_json_open(w, '{');
    for (size_t i = 0; i + 1 < earlier->count; i += 2) {
        char *key = gt_format("%.*s", (int)earlier->items[i].text.len, earlier->items[i].text.bytes);
        if (strcmp(key, "directory") == 0)
            gt_json_put_cstr(w, key, folder);
        else
            gt_json_put_value(w, key, &earlier->items[i + 1]);
        gt_free(key);
    }
    gt_json_close(w, '}');
}

/* The runs of earlier sweeps in this folder that are not part of this one. */
static void put_others(gt_json_writer *w, const gt_run_history *history, const gt_interner *places)
{
    const gt_sweep_record *earlier = history->earlier;
    size_t len = strlen(history->plan->root);
    for (size_t i = 0; earlier && i < earlier->count; i++) {
        const gt_recorded_point *point = &earlier->points[i];
        if (gt_interner_find(places, point->place, strlen(point->place)) != GT_STR_NONE) continue;
        if (point->json->type != GT_VALUE_DICT) continue;
        char *folder = gt_format("%s%s%s", history->plan->root,
                                 len && history->plan->root[len - 1] != '/' ? "/" : "", point->place);
        put_earlier(w, folder, point->json);
        gt_free(folder);
    }
}

/* The machine of each call of `sweep run` so far; the times of attempts tell which one they belong to. */
static void put_sessions(gt_json_writer *w, const gt_run_history *history)
{
    const gt_value *earlier =
        history->earlier ? gt_value_get(history->earlier->json, "sessions") : &gt_value_missing;
    gt_json_put_open(w, "sessions", '[');
    for (size_t i = 0; gt_value_is_list(earlier) && i < earlier->count; i++)
        gt_json_add_value(w, &earlier->items[i]);
    if (history->machine) {
        gt_json_open(w, '{');
        put_time(w, "start", history->started, true);
        gt_machine_put(w, history->machine);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

/* The commands of all runs so far, the newest last: that of this call if it runs anything. */
static void put_commands(gt_json_writer *w, const gt_run_history *history, const char *line)
{
    const gt_value *earlier =
        history->earlier ? gt_value_get(history->earlier->json, "commands") : &gt_value_missing;
    bool is_used = false;
    for (size_t i = 0, runs = gt_run_count(history->plan); i < runs && !is_used; i++)
        is_used = history->outcomes[i].is_begun;
    gt_json_put_open(w, "commands", '[');
    for (size_t i = 0; gt_value_is_list(earlier) && i < earlier->count; i++)
        if (!is_used || !gt_value_equals_cstr(&earlier->items[i], line))
            gt_json_add_value(w, &earlier->items[i]);
    if (is_used) gt_json_add_cstr(w, line);
    gt_json_close(w, ']');
}

void gt_run_json(const gt_run_history *history, gt_buffer *text)
{
    const gt_run_plan *plan = history->plan;
    gt_interner *places = gt_interner_new();
    char *line = gt_run_plan_line(plan);
    gt_json_writer w = {0};
    gt_json_open(&w, '{');
    gt_json_put_cstr(&w, "program", "gputally " GT_VERSION);
    put_time(&w, "start", history->started, true);
    gt_json_put_cstr(&w, "sweep", plan->root);
    put_axes(&w, &plan->grid);
    gt_json_put_int(&w, "repeats", (int64_t)plan->repeats);
    gt_json_put_int(&w, "seed", (int64_t)plan->seed);
    gt_json_put_cstrs(&w, "unset", plan->unset, plan->unset_count);
    put_commands(&w, history, line);
    put_sessions(&w, history);
    gt_json_put_open(&w, "points", '[');
    for (size_t i = 0, runs = gt_run_count(plan); i < runs; i++) {
        gt_run_point point = gt_run_point_make(plan, i);
        const gt_value *earlier = gt_sweep_record_point(history->earlier, point.place);
        gt_interner_add_cstr(places, point.place);
        if (earlier->type == GT_VALUE_DICT && !history->outcomes[i].is_begun)
            put_earlier(&w, point.folder, earlier);
        else
            put_point(&w, plan, line, i, &point, &history->outcomes[i], earlier);
        gt_run_point_free(&point);
    }
    put_others(&w, history, places);
    gt_json_close(&w, ']');
    gt_json_close(&w, '}');
    gt_buffer_add(text, w.text.bytes, w.text.len);
    gt_buffer_add_cstr(text, "\n");
    gt_json_writer_free(&w);
    gt_interner_free(places);
    gt_free(line);
}

/* ---- outputs ---- */

enum { DEPTH_MAX = 16 };

/* Without analyses and outputs of earlier runs, which may be deleted. */
static bool is_own_output(const char *name, unsigned depth)
{
    return strcmp(name, GT_SWEEP_ANALYSIS) != 0 && (depth < DEPTH_MAX || strcmp(name, GT_SWEEP_EARLIER) != 0);
}

static void count_outputs(const char *folder, unsigned depth, size_t *files, uint64_t *bytes)
{
    gt_folder_list names = gt_list_folder(folder);
    for (size_t i = 0; i < names.count; i++) {
        char *path = gt_format("%s/%s", folder, names.items[i]);
        struct stat status;
        bool known = lstat(path, &status) == 0;
        if (known && S_ISDIR(status.st_mode) && depth && is_own_output(names.items[i], depth))
            count_outputs(path, depth - 1, files, bytes);
        if (known && S_ISREG(status.st_mode)) {
            ++*files;
            *bytes += (uint64_t)status.st_size;
        }
        gt_free(path);
    }
    gt_folder_list_free(&names);
}

void gt_run_outputs(const char *folder, size_t *files, uint64_t *bytes)
{
    *files = 0;
    *bytes = 0;
    count_outputs(folder, DEPTH_MAX, files, bytes);
}

bool gt_run_is_whole(const gt_sweep_record *record, const gt_run_point *point)
{
    const gt_value *earlier = gt_sweep_record_point(record, point->place);
    const gt_value *files = gt_value_get(earlier, "output_files"),
                   *bytes = gt_value_get(earlier, "output_bytes");
    size_t found;
    uint64_t found_bytes;
    if (!gt_value_equals_cstr(gt_value_get(earlier, "status"), gt_run_status_names[GT_RUN_SUCCESS]))
        return false;
    if (!gt_path_is_folder(point->folder)) return false;
    gt_run_outputs(point->folder, &found, &found_bytes);
    return (files->type != GT_VALUE_INT || (int64_t)found >= files->integer) &&
           (bytes->type != GT_VALUE_INT || (int64_t)found_bytes >= bytes->integer);
}
