/* A picture with text, lines and areas, written as PNG: what plots are drawn on.
 *
 * Places are in points (1/72 inch) from the upper left corner, so that a picture looks the same at every
 * resolution. Drawing does not report failure: writing tells. */
#ifndef GT_OUTPUT_FIGURE_FIGURE_H
#define GT_OUTPUT_FIGURE_FIGURE_H

#include "output/output.h"

typedef struct gt_figure gt_figure;

enum { GT_FIGURE_DPI_MIN = 20, GT_FIGURE_DPI_MAX = 1200 };

/* A white picture. NULL where it is too large or this machine cannot draw. */
gt_figure *gt_figure_new(double width_inches, double height_inches, int64_t dots_per_inch, gt_error *error);
void gt_figure_free(gt_figure *figure); /* NULL is fine */
double gt_figure_width(const gt_figure *figure);
double gt_figure_height(const gt_figure *figure);
/* Adds the file to the output, whose commit gives it its name. */
bool gt_figure_write_png(gt_figure *figure, gt_output *output, const char *path, gt_error *error);

typedef struct gt_paint {
    uint32_t colour; /* 0xRRGGBB */
    double alpha;    /* 1: nothing shines through; 0: not painted */
} gt_paint;

typedef struct gt_stroke {
    gt_paint paint;
    double width;
    bool dashed;
} gt_stroke;

typedef struct gt_place {
    double x, y;
} gt_place;

void gt_figure_line(gt_figure *figure, const gt_place *places, size_t count, gt_stroke stroke);
void gt_figure_area(gt_figure *figure, const gt_place *places, size_t count, gt_paint fill, gt_stroke edge);
void gt_figure_rectangle(gt_figure *figure, gt_place corner, gt_place opposite, gt_paint fill,
                         gt_stroke edge);
void gt_figure_circle(gt_figure *figure, gt_place centre, double radius, gt_paint fill, gt_stroke edge);

typedef struct gt_font {
    double size; /* in points */
    bool bold;
    gt_paint paint;
} gt_font;

/* Where a text stands: the share of its width, and of its height from the top, that lies before the place. */
typedef struct gt_anchor {
    double x, y;  /* 0: begins there; 0.5: in the middle; 1: ends there */
    bool upwards; /* turned to be read from below; x is still along the text */
} gt_anchor;

double gt_figure_text_width(gt_figure *figure, const char *text, gt_font font);
/* A line's height depends on the font only, so that texts beside each other stand on one line. */
double gt_figure_text_height(gt_font font);
void gt_figure_text(gt_figure *figure, gt_place place, const char *text, gt_font font, gt_anchor anchor);

#endif
