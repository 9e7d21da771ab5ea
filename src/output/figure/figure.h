/* Figures: a picture with text, lines and areas, the frame of a plot, and what is plotted in it; written as
 * PNG, PDF or SVG.
 *
 * Positions are in points (1/72 inch) from the upper left corner, so that a picture looks the same at every
 * resolution. Drawing does not report failures: writing does. */
#pragma once

#include "output/output.h"
#include "table/stats.h"

/* ---- pictures ---- */

typedef struct gt_figure gt_figure;

enum { GT_FIGURE_DPI_MIN = 20, GT_FIGURE_DPI_MAX = 1200 };

typedef enum gt_figure_format {
    GT_FIGURE_PNG,
    GT_FIGURE_PDF,
    GT_FIGURE_SVG,
    GT_FIGURE_FORMATS
} gt_figure_format;
/* "png", "pdf", "svg": also the extension of the file. */
const char *gt_figure_format_name(gt_figure_format format);

/* A white picture. PDF and SVG have no resolution. NULL if it is too large or Cairo is not installed. */
gt_figure *gt_figure_new_as(gt_figure_format format, double width_inches, double height_inches,
                            int64_t dots_per_inch, gt_error *error);
/* The same as PNG. */
gt_figure *gt_figure_new(double width_inches, double height_inches, int64_t dots_per_inch, gt_error *error);
void gt_figure_free(gt_figure *figure); /* NULL does nothing */
double gt_figure_width(const gt_figure *figure);
double gt_figure_height(const gt_figure *figure);
/* Adds the file to the output; the output's commit gives it its final name. Nothing can be drawn afterwards.
 */
bool gt_figure_write(gt_figure *figure, gt_output *output, const char *path, gt_error *error);

typedef struct gt_paint {
    uint32_t colour; /* 0xRRGGBB */
    double alpha;    /* 1: opaque; 0: not painted */
} gt_paint;

typedef struct gt_stroke {
    gt_paint paint;
    double width;
    bool dashed;
} gt_stroke;

typedef struct gt_point {
    double x, y;
} gt_point;

void gt_figure_line(gt_figure *figure, const gt_point *places, size_t count, gt_stroke stroke);
void gt_figure_area(gt_figure *figure, const gt_point *places, size_t count, gt_paint fill, gt_stroke edge);
void gt_figure_rectangle(gt_figure *figure, gt_point corner, gt_point opposite, gt_paint fill,
                         gt_stroke edge);
void gt_figure_circle(gt_figure *figure, gt_point centre, double radius, gt_paint fill, gt_stroke edge);

typedef struct gt_font {
    double size; /* in points */
    bool bold;
    gt_paint paint;
} gt_font;

/* The point of a text that is placed, as a share of its width and, from the top, of its height. */
typedef struct gt_anchor {
    double x, y;  /* 0: start; 0.5: middle; 1: end */
    bool upwards; /* rotated to be read from below; x is still along the text */
} gt_anchor;

double gt_figure_text_width(gt_figure *figure, const char *text, gt_font font);
/* The height depends only on the font, so that adjacent texts have the same baseline. */
double gt_figure_text_height(gt_font font);
void gt_figure_text(gt_figure *figure, gt_point place, const char *text, gt_font font, gt_anchor anchor);

/* ---- ticks: round numbers (1, 2, 2.5 or 5 times a power of ten apart), as many as fit ---- */

typedef struct gt_ticks {
    double first, step;
    size_t count;
    int decimals; /* needed to distinguish two ticks */
} gt_ticks;

/* At most `most` ticks in low .. high; none if that is not a range. */
gt_ticks gt_ticks_of(double low, double high, size_t most);
double gt_tick_value(const gt_ticks *ticks, size_t index);
enum { GT_TICK_TEXT = 48 };
void gt_tick_text(const gt_ticks *ticks, size_t index, char text[GT_TICK_TEXT]);

/* ---- the frame of a plot: a rectangle with ticks, grid, labels and title ----
 *
 * The room for texts is measured, so that none is cut off. Labels of the x axis that would touch become
 * smaller, then are turned upwards, then every other one is omitted. */

typedef struct gt_axis_range {
    double low, high;
} gt_axis_range; /* {INFINITY, -INFINITY} is empty */

void gt_axis_range_add(gt_axis_range *range, double value);
/* The range extended by 5 % on each side; a range without width gets some. */
gt_axis_range gt_axis_range_widened(gt_axis_range range);

typedef struct gt_x_tick {
    double at;
    const char *label;
} gt_x_tick;

typedef struct gt_axes_text {
    const char *title, *x_label, *y_label;
    const gt_x_tick *x_ticks; /* ascending */
    size_t x_tick_count;
    bool only_horizontal_grid;
    const gt_x_tick *y_ticks; /* ascending; NULL: at round numbers */
    size_t y_tick_count;
    bool x_is_number; /* the x axis has ticks at round numbers */
    double scale;     /* of fonts and distances, for small panels; 0: 1 */
    double right_pad; /* points that stay free to the right of the frame */
} gt_axes_text;

typedef struct gt_axes {
    gt_figure *figure;
    gt_point upper_left, lower_right; /* of the frame */
    gt_axis_range x, y;
    double scale; /* of fonts and distances */
} gt_axes;

gt_font gt_font_scaled(gt_font font, double scale);

/* The fonts and lines that all plots share. */
extern const gt_font GT_FIGURE_TITLE_FONT, GT_TITLE_FONT, GT_LABEL_FONT, GT_TICK_FONT, GT_LEGEND_FONT;
extern const gt_stroke GT_FRAME_STROKE;

/* Draws a frame with its texts in the rectangle between two corners. */
gt_axes gt_axes_draw(gt_figure *figure, gt_point upper_left, gt_point lower_right, gt_axis_range x,
                     gt_axis_range y, const gt_axes_text *text);
/* The position of a data point. */
gt_point gt_axes_place(const gt_axes *axes, double x, double y);

/* ---- inside the frame: boxes, violins, lines with markers, and the legend ---- */

/* A box half a unit wide at x, with whiskers, outliers as circles, the median as a line and the mean as a
 * dashed line. */
void gt_plot_box(const gt_axes *axes, double x, const gt_box *box, gt_paint fill);
/* A violin half a unit wide at x, with lines for minimum, maximum, mean and median. */
void gt_plot_violin(const gt_axes *axes, double x, const gt_density *density, gt_paint fill);

/* A rectangle from one data point to another. */
void gt_plot_bar(const gt_axes *axes, gt_point from, gt_point to, gt_paint fill);
/* A line across the frame at y = 0, or at x = 0, if that is in its range. */
void gt_plot_zero(const gt_axes *axes, bool of_x);

typedef enum gt_marker {
    GT_MARKER_CIRCLE,
    GT_MARKER_SQUARE,
    GT_MARKER_TRIANGLE,
    GT_MARKER_DIAMOND,
    GT_MARKER_BAR, /* of series that are drawn as bars: only the legend uses it */
} gt_marker;

typedef struct gt_series {
    const char *name;
    const gt_point *points; /* in units of the axes; a y of NaN interrupts the line */
    size_t count;
    uint32_t colour;
    gt_marker marker;
} gt_series;

void gt_plot_series(const gt_axes *axes, const gt_series *series);
/* Draws the legend in the corner of the frame where it hides the fewest points. Of very many series, it shows
 * the first ones. */
void gt_plot_legend(const gt_axes *axes, const gt_series *series, size_t count);

/* The n-th of ten colours that are easy to distinguish; after ten they repeat. */
uint32_t gt_series_colour(size_t index);
/* A colour scale from dark violet (0) over green to yellow (1). */
uint32_t gt_scale_colour(double share);
/* A colour scale with two ends: red (0), pale yellow (0.5), green (1). */
uint32_t gt_diverging_colour(double share);
