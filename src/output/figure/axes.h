/* The frame of a plot: a rectangle with ticks, grid, labels and title, and where numbers lie in it.
 *
 * Room for the texts is measured, so that none is cut off. Labels of the x axis that would touch become
 * smaller, then stand upwards, then every other one is left out. */
#ifndef GT_OUTPUT_FIGURE_AXES_H
#define GT_OUTPUT_FIGURE_AXES_H

#include "output/figure/figure.h"

typedef struct gt_axis_range {
    double low, high;
} gt_axis_range; /* {INFINITY, -INFINITY} holds nothing */

void gt_axis_range_add(gt_axis_range *range, double value);
/* The range with 5% more on each side; one without width gets some. */
gt_axis_range gt_axis_range_widened(gt_axis_range range);

typedef struct gt_x_tick {
    double at;
    const char *label;
} gt_x_tick;

typedef struct gt_axes_text {
    const char *title, *x_label, *y_label;
    const gt_x_tick *x_ticks; /* ascending; those of y are at round numbers */
    size_t x_tick_count;
    bool only_horizontal_grid;
} gt_axes_text;

typedef struct gt_axes {
    gt_figure *figure;
    gt_place upper_left, lower_right; /* of the frame */
    gt_axis_range x, y;
} gt_axes;

/* The look that all plots share. */
extern const gt_font GT_FIGURE_TITLE_FONT, GT_TITLE_FONT, GT_LABEL_FONT, GT_TICK_FONT, GT_LEGEND_FONT;
extern const gt_stroke GT_FRAME_STROKE;

/* Draws a frame with all its texts into the rectangle between two corners. */
gt_axes gt_axes_draw(gt_figure *figure, gt_place upper_left, gt_place lower_right, gt_axis_range x,
                     gt_axis_range y, const gt_axes_text *text);
gt_place gt_axes_place(const gt_axes *axes, double x, double y);

#endif
