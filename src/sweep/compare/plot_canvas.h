/* What the plots of two runs (run_plots.c) and of all runs (all_plots.c) share: where they are drawn, how
 * sheets become numbers and names, and the charts of collectives. */
#pragma once

#include "output/text.h"
#include "sweep/compare/charts.h"

/* What is drawn where. */
typedef struct gt_canvas {
    const char *folder;
    gt_output *output;
    gt_name_set *drawn; /* names of files */
    gt_error *error;
} gt_canvas;

/* The path of a file in the folder, which is now one of those that are drawn. The caller frees it. */
char *gt_canvas_path(const gt_canvas *to, const char *name);
/* Draw a chart in one of its forms. */
typedef bool gt_run_chart_form(const gt_run_chart *chart, const char *path, gt_output *output,
                               gt_error *error);
typedef bool gt_change_chart_form(const gt_change_chart *chart, const char *path, gt_output *output,
                                  gt_error *error);
bool gt_canvas_draw(const gt_canvas *to, const char *name, const gt_run_chart *chart,
                    gt_run_chart_form *form);
bool gt_canvas_draw_change(const gt_canvas *to, const char *name, const gt_change_chart *chart,
                           gt_change_chart_form *form);

/* ---- columns; false, too, if there is no such column ---- */

bool gt_plot_is_number(const gt_table *table, size_t column);
bool gt_plot_is_string(const gt_table *table, size_t column);
/* The numbers of a column; the caller frees them. */
double *gt_plot_numbers(const gt_table *table, size_t column);
/* The string of a cell; "" if it has none. */
const char *gt_plot_string(const gt_table *table, size_t column, size_t row);
/* The strings of a column; the caller frees the array. */
const char **gt_plot_strings(const gt_table *table, size_t column);
/* Each of the numbers once, ascending; the caller frees them. */
int64_t *gt_distinct_ranks(const int64_t *numbers, size_t count, size_t *distinct_count);

/* ---- collectives ---- */

typedef struct gt_collective_chart {
    gt_col measure;
    const char *name, *y_label;
} gt_collective_chart;
extern const gt_collective_chart gt_collective_charts[];
extern const size_t gt_collective_chart_count;

typedef struct gt_collective_names {
    char **items;
    size_t count;
} gt_collective_names;

void gt_collective_names_free(gt_collective_names *names);
/* One of the charts, with one bar per run and collective. */
bool gt_canvas_draw_collectives(const gt_canvas *to, size_t index, const gt_collective_names *names,
                                const gt_chart_run *runs, size_t run_count);
