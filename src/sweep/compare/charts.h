/* The kinds of charts in which runs are compared, as PNG files: groups of bars, bars to the left and right of
 * zero, lines over ranks, and a map of types and ranks. What they show is up to the callers (run_plots.c).
 *
 * Values that are not finite are not drawn. Texts may be any bytes; long ones are cut. */
#pragma once

#include "output/output.h"

enum { GT_CHART_DPI = 150 };

/* A category on the x axis, or a line, or a run. */
typedef struct gt_chart_run {
    const char *name;
    const double *values; /* one per category */
    uint32_t colour;
} gt_chart_run;

typedef struct gt_run_chart {
    const char *title, *x_label, *y_label;
    const char *const *categories;
    size_t category_count;
    const gt_chart_run *runs;
    size_t run_count;
    double width_inches, height_inches; /* at least; more if there are many categories */
} gt_run_chart;

/* A group of bars per category, one bar per run. */
bool gt_chart_bars(const gt_run_chart *chart, const char *path, gt_output *output, gt_error *error);
/* A line per run over the categories. */
bool gt_chart_lines(const gt_run_chart *chart, const char *path, gt_output *output, gt_error *error);

/* Changes in percent. */
typedef struct gt_change_panel {
    const char *title;
    const double *changes; /* one per category */
} gt_change_panel;

typedef struct gt_change_chart {
    const char *title; /* above all panels; NULL: none */
    const char *x_label, *y_label;
    const char *const *categories;
    size_t category_count;
    const gt_change_panel *panels;
    size_t panel_count;
    bool less_is_good;                  /* negative changes are green instead of positive ones */
    double width_inches, height_inches; /* at least; more if there are many categories */
} gt_change_chart;

/* Panels side by side, in which bars go to the left and right, the first category at the top. */
bool gt_chart_changes(const gt_change_chart *chart, const char *path, gt_output *output, gt_error *error);
/* Panels in rows of four, in which bars go up and down. */
bool gt_chart_change_panels(const gt_change_chart *chart, const char *path, gt_output *output,
                            gt_error *error);

/* Rows and columns of changes in percent, red below 0 and green above. */
typedef struct gt_change_map {
    const char *title, *x_label, *y_label;
    const char *const *rows;
    const char *const *columns;
    size_t row_count, column_count;
    const double *changes; /* row by row; NaN: none */
} gt_change_map;
bool gt_chart_map(const gt_change_map *map, const char *path, gt_output *output, gt_error *error);
