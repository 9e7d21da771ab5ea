/* The record of a sweep: the summary as text for people, and sweep.json for programs. Both list every point
 * with its status, also those that did not run. */
#include "sweep/run/run.h"
#include "base/memory.h"
#include "json/writer.h"
#include "os/clock.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool was_run(const gt_run_outcome *outcome)
{
    return outcome->status != GT_RUN_PENDING && outcome->status != GT_RUN_SKIPPED;
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

static void add_further_values(gt_buffer *text, const gt_sweep_grid *grid, size_t point)
{
    for (size_t i = 0; i + 2 < grid->axis_count; i++)
        add_format(text, "%-15s ", gt_sweep_grid_value(grid, point, i));
}

static void add_row(gt_buffer *text, const gt_run_plan *plan, size_t point, const gt_run_outcome *outcome)
{
    const gt_sweep_grid *grid = &plan->grid;
    char duration[32] = "N/A";
    if (was_run(outcome)) snprintf(duration, sizeof duration, "%" PRId64, outcome->duration_s);
    add_further_values(text, grid, point);
    add_format(text, "%-10s %-15s %-10s %-15s\n", gt_sweep_grid_value(grid, point, grid->axis_count - 2),
               gt_sweep_grid_value(grid, point, grid->axis_count - 1),
               outcome->status == GT_RUN_PENDING ? "UNKNOWN" : gt_run_status_names[outcome->status],
               duration);
}

static void add_folder(gt_buffer *text, const gt_run_plan *plan, size_t point, bool first_of_threads)
{
    const gt_sweep_grid *grid = &plan->grid;
    if (first_of_threads) {
        gt_buffer_add_cstr(text, "  ");
        for (size_t i = 0; i + 2 < grid->axis_count; i++) {
            add_upper(text, grid->axes[i].name, 0);
            add_format(text, "=%s, ", gt_sweep_grid_value(grid, point, i));
        }
        add_format(text, "THREADS=%s:\n", gt_sweep_grid_value(grid, point, grid->axis_count - 2));
    }
    char *folder = gt_sweep_grid_folder(grid, point, plan->root);
    add_format(text, "    - %s/\n", folder);
    gt_free(folder);
}

void gt_run_summary(const gt_run_plan *plan, const gt_run_outcome *outcomes, time_t now, gt_buffer *text)
{
    const gt_sweep_grid *grid = &plan->grid;
    size_t points = gt_sweep_grid_points(grid), channels = grid->axes[grid->axis_count - 1].value_count;
    char date[GT_CLOCK_TEXT];
    gt_clock_format(date, sizeof date, "%a %b %e %H:%M:%S %Z %Y", now);
    add_format(text, "NCCL Channel & Thread Sweep Summary\nGenerated: %s\n\n", date);
    for (size_t i = 0; i + 2 < grid->axis_count; i++) {
        add_upper(text, grid->axes[i].name, 15);
        gt_buffer_add_cstr(text, " ");
    }
    add_format(text, "%-10s %-15s %-10s %-15s\n", "THREADS", "CHANNELS", "STATUS", "DURATION(s)");
    gt_buffer_add_cstr(text, "----------------------------------------------------\n");
    for (size_t point = 0; point < points; point++) {
        add_row(text, plan, point, &outcomes[point]);
        if ((point + 1) % channels == 0) gt_buffer_add_cstr(text, "\n");
    }
    gt_buffer_add_cstr(text, "\nOutput directories:\n");
    for (size_t point = 0; point < points; point++) add_folder(text, plan, point, point % channels == 0);
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
    gt_json_key(w, "env");
    gt_json_open(w, '{');
    for (size_t i = 0; i < variables->count; i++) {
        const char *variable = variables->items[i], *equals = strchr(variable, '=');
        char *name = gt_format("%.*s", (int)(equals - variable), variable);
        gt_json_put_cstr(w, name, equals + 1);
        gt_free(name);
    }
    gt_json_close(w, '}');
}

static void put_values(gt_json_writer *w, const gt_sweep_grid *grid, size_t point)
{
    gt_json_key(w, "values");
    gt_json_open(w, '{');
    for (size_t i = 0; i < grid->axis_count; i++)
        gt_json_put_cstr(w, grid->axes[i].name, gt_sweep_grid_value(grid, point, i));
    gt_json_close(w, '}');
}

static void put_point(gt_json_writer *w, const gt_run_plan *plan, size_t index, const gt_run_outcome *outcome)
{
    gt_run_point point = gt_run_point_make(plan, index);
    gt_json_open(w, '{');
    put_values(w, &plan->grid, index);
    gt_json_put_cstr(w, "directory", point.folder);
    gt_json_put_cstr(w, "status", gt_run_status_names[outcome->status]);
    gt_json_key(w, "exit_code");
    if (was_run(outcome))
        gt_json_add_int(w, outcome->exit_code);
    else
        gt_json_add_cstr(w, NULL);
    put_time(w, "start", outcome->started, was_run(outcome));
    put_time(w, "end", outcome->ended, was_run(outcome));
    gt_json_put_cstrs(w, "argv", point.argv.items, point.argv.count);
    put_variables(w, &point.variables);
    gt_json_close(w, '}');
    gt_run_point_free(&point);
}

void gt_run_json(const gt_run_plan *plan, const gt_run_outcome *outcomes, time_t started, gt_buffer *text)
{
    gt_json_writer w = {0};
    gt_json_open(&w, '{');
    gt_json_put_cstr(&w, "program", "gputally " GT_VERSION);
    put_time(&w, "start", started, true);
    gt_json_put_cstr(&w, "sweep", plan->root);
    gt_json_put_cstrs(&w, "unset", plan->unset, plan->unset_count);
    gt_json_key(&w, "points");
    gt_json_open(&w, '[');
    size_t points = gt_sweep_grid_points(&plan->grid);
    for (size_t i = 0; i < points; i++) put_point(&w, plan, i, &outcomes[i]);
    gt_json_close(&w, ']');
    gt_json_close(&w, '}');
    gt_buffer_add(text, w.text.bytes, w.text.len);
    gt_buffer_add_cstr(text, "\n");
    gt_json_writer_free(&w);
}
