/* What stands in the frame of a plot: boxes, violins, lines with markers, and the legend. */
#ifndef GT_OUTPUT_FIGURE_PLOTS_H
#define GT_OUTPUT_FIGURE_PLOTS_H

#include "output/figure/axes.h"
#include "table/stats.h"

/* A box of half a unit's width at x, its whiskers, outliers as circles, the median as a line, the mean as a
 * dashed one. */
void gt_plot_box(const gt_axes *axes, double x, const gt_box *box, gt_paint fill);
/* A violin of half a unit's width at x, with lines for the ends, the mean and the median. */
void gt_plot_violin(const gt_axes *axes, double x, const gt_density *density, gt_paint fill);

typedef enum gt_marker { GT_MARKER_CIRCLE, GT_MARKER_SQUARE } gt_marker;

typedef struct gt_series {
    const char *name;
    const gt_place *points; /* x and y as numbers of the axes; a y of NaN interrupts the line */
    size_t count;
    uint32_t colour;
    gt_marker marker;
} gt_series;

void gt_plot_series(const gt_axes *axes, const gt_series *series);
/* In the corner of the frame where it hides the fewest points. Of very many series it names the first ones.
 */
void gt_plot_legend(const gt_axes *axes, const gt_series *series, size_t count);

/* Colours for series: the n-th of ten that are easy to tell apart, and around again. */
uint32_t gt_series_colour(size_t index);
/* From dark violet over green to yellow, at 0 .. 1. */
uint32_t gt_scale_colour(double share);

#endif
