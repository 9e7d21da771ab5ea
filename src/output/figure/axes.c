/* The frame of a plot: finds the ticks, then the layout, then draws. The margins depend on the ticks, and the
 * ticks depend on the room that the margins leave, so the layout is done twice, the second time with the
 * margins of the first. */
#include "output/figure/figure.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>

/* ---- ticks at round numbers: tries steps from small to large until the ticks are few enough ---- */

static const double ROUND_STEPS[] = {1, 2, 2.5, 5, 10};
static const double PLAIN_MAX = 1e9; /* larger numbers are printed with an exponent */
enum { DECIMALS_MAX = 9 };

/* Multiples of the step in low .. high; one slightly outside an end counts as on it. */
static gt_ticks ticks_with_step(double low, double high, double step)
{
    double tolerance = 1e-9, first = ceil(low / step - tolerance), last = floor(high / step + tolerance);
    return (gt_ticks){
        .first = first * step, .step = step, .count = last < first ? 0 : (size_t)(last - first) + 1};
}

gt_ticks gt_ticks_of(double low, double high, size_t most)
{
    double range = high - low;
    if (!(range > 0) || !isfinite(range) || most == 0) return (gt_ticks){0};
    double exponent = floor(log10(range / (double)most));
    gt_ticks ticks = {0};
    for (size_t i = 0; i < 2 * GT_LENGTH(ROUND_STEPS); i++) {
        size_t round = i % GT_LENGTH(ROUND_STEPS);
        double power = exponent + (round == i ? 0 : 1);
        double step = power < 0 ? ROUND_STEPS[round] / pow(10, -power) : ROUND_STEPS[round] * pow(10, power);
        if (!(step > 0) || !(fabs(low) / step < 1e15) || !(fabs(high) / step < 1e15)) continue;
        ticks = ticks_with_step(low, high, step);
        double decimals = -power + (ROUND_STEPS[round] == 2.5) - (ROUND_STEPS[round] == 10);
        ticks.decimals = decimals > 0 ? (int)decimals : 0;
        if (ticks.count <= most) return ticks;
    }
    return (gt_ticks){0};
}

double gt_tick_value(const gt_ticks *ticks, size_t index)
{
    double value = ticks->first + (double)index * ticks->step;
    return fabs(value) < ticks->step / 1e6 ? 0 : value; /* not -0 or 1e-17 */
}

void gt_tick_text(const gt_ticks *ticks, size_t index, char text[GT_TICK_TEXT])
{
    double value = gt_tick_value(ticks, index);
    if (fabs(value) < PLAIN_MAX && ticks->decimals <= DECIMALS_MAX)
        snprintf(text, GT_TICK_TEXT, "%.*f", ticks->decimals, value);
    else
        snprintf(text, GT_TICK_TEXT, "%.6g", value);
}

#define TEXT_COLOUR 0x262626
#define LINE_COLOUR 0xcccccc

const gt_font GT_FIGURE_TITLE_FONT = {18, true, {TEXT_COLOUR, 1}};
const gt_font GT_TITLE_FONT = {16, true, {TEXT_COLOUR, 1}};
const gt_font GT_LABEL_FONT = {14, true, {TEXT_COLOUR, 1}};
const gt_font GT_TICK_FONT = {16.5, false, {TEXT_COLOUR, 1}};
const gt_font GT_LEGEND_FONT = {12, false, {TEXT_COLOUR, 1}};
const gt_stroke GT_FRAME_STROKE = {{LINE_COLOUR, 1}, 1.25, false};
static const gt_stroke GRID_STROKE = {{LINE_COLOUR, 0.3}, 1, false};

/* Distances in points. */
static const double PAD = 8, TITLE_PAD = 16, OUTER_PAD = 7;
static const double SMALLEST_TICK_FONT = 11;
static const double LINES_PER_TICK = 2.4; /* of the y axis: minimum distance of two ticks, in lines of text */

void gt_axis_range_add(gt_axis_range *range, double value)
{
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

gt_axis_range gt_axis_range_widened(gt_axis_range range)
{
    double more = (range.high - range.low) * 0.05;
    if (!(more > 0)) more = range.low == 0 ? 1 : fabs(range.low) * 0.05;
    return (gt_axis_range){range.low - more, range.high + more};
}

gt_point gt_axes_place(const gt_axes *axes, double x, double y)
{
    double right = (x - axes->x.low) / (axes->x.high - axes->x.low);
    double up = (y - axes->y.low) / (axes->y.high - axes->y.low);
    return (gt_point){axes->upper_left.x + right * (axes->lower_right.x - axes->upper_left.x),
                      axes->lower_right.y - up * (axes->lower_right.y - axes->upper_left.y)};
}

/* ---- labels of the axes ---- */

static gt_ticks y_ticks(const gt_axes *axes)
{
    double room =
        (axes->lower_right.y - axes->upper_left.y) / (gt_figure_text_height(GT_TICK_FONT) * LINES_PER_TICK);
    return gt_ticks_of(axes->y.low, axes->y.high, room > 2 ? (size_t)room : 2);
}

typedef struct x_labels {
    gt_font font;
    bool upwards;
    double widest;
} x_labels;

static double widest_label(const gt_axes *axes, const gt_axes_text *text, gt_font font)
{
    double widest = 0;
    for (size_t i = 0; i < text->x_tick_count; i++)
        widest = fmax(widest, gt_figure_text_width(axes->figure, text->x_ticks[i].label, font));
    return widest;
}

/* The x labels in the largest font in which no two touch; turned upwards if that font would be too small. */
static x_labels fit_x_labels(const gt_axes *axes, const gt_axes_text *text)
{
    x_labels labels = {.font = GT_TICK_FONT};
    double closest = INFINITY;
    for (size_t i = 1; i < text->x_tick_count; i++)
        closest = fmin(closest, gt_axes_place(axes, text->x_ticks[i].at, axes->y.low).x -
                                    gt_axes_place(axes, text->x_ticks[i - 1].at, axes->y.low).x);
    labels.widest = widest_label(axes, text, labels.font);
    double fitting = labels.font.size * closest / (labels.widest + labels.font.size * 0.6);
    if (fitting >= labels.font.size) return labels;
    labels.upwards = fitting < SMALLEST_TICK_FONT;
    labels.font.size = labels.upwards ? SMALLEST_TICK_FONT : fitting;
    labels.widest = widest_label(axes, text, labels.font);
    return labels;
}

static void draw_x_ticks(const gt_axes *axes, const gt_axes_text *text, const x_labels *labels)
{
    double free_from = -INFINITY; /* the next label may start here */
    for (size_t i = 0; i < text->x_tick_count; i++) {
        gt_point foot = gt_axes_place(axes, text->x_ticks[i].at, axes->y.low);
        if (!text->only_horizontal_grid)
            gt_figure_line(axes->figure, (gt_point[]){foot, {foot.x, axes->upper_left.y}}, 2, GRID_STROKE);
        double half =
            (labels->upwards ? gt_figure_text_height(labels->font)
                             : gt_figure_text_width(axes->figure, text->x_ticks[i].label, labels->font)) /
            2;
        if (foot.x - half < free_from) continue;
        free_from = foot.x + half;
        gt_anchor anchor = labels->upwards ? (gt_anchor){1, 0.5, true} : (gt_anchor){0.5, 0, false};
        gt_figure_text(axes->figure, (gt_point){foot.x, foot.y + PAD}, text->x_ticks[i].label, labels->font,
                       anchor);
    }
}

static void draw_y_ticks(const gt_axes *axes, const gt_ticks *ticks)
{
    for (size_t i = 0; i < ticks->count; i++) {
        char label[GT_TICK_TEXT];
        gt_tick_text(ticks, i, label);
        gt_point foot = gt_axes_place(axes, axes->x.low, gt_tick_value(ticks, i));
        gt_figure_line(axes->figure, (gt_point[]){foot, {axes->lower_right.x, foot.y}}, 2, GRID_STROKE);
        gt_figure_text(axes->figure, (gt_point){foot.x - PAD, foot.y}, label, GT_TICK_FONT,
                       (gt_anchor){1, 0.45, false});
    }
}

/* ---- layout ---- */

static double widest_y_tick(const gt_axes *axes)
{
    gt_ticks ticks = y_ticks(axes);
    double widest = 0;
    for (size_t i = 0; i < ticks.count; i++) {
        char label[GT_TICK_TEXT];
        gt_tick_text(&ticks, i, label);
        widest = fmax(widest, gt_figure_text_width(axes->figure, label, GT_TICK_FONT));
    }
    return widest;
}

/* Moves the frame inwards from the corners of the panel to make room for the texts. */
static void find_layout(gt_axes *axes, gt_point upper_left, gt_point lower_right, const gt_axes_text *text)
{
    axes->upper_left = upper_left;
    axes->lower_right = lower_right;
    for (int pass = 0; pass < 2; pass++) {
        x_labels labels = fit_x_labels(axes, text);
        double left = OUTER_PAD + gt_figure_text_height(GT_LABEL_FONT) + PAD + widest_y_tick(axes) + PAD;
        double top = OUTER_PAD + gt_figure_text_height(GT_TITLE_FONT) + TITLE_PAD;
        double tick_height = labels.upwards ? labels.widest : gt_figure_text_height(labels.font);
        double bottom = PAD + tick_height + PAD + gt_figure_text_height(GT_LABEL_FONT) + OUTER_PAD;
        double right = OUTER_PAD + PAD;
        if (text->x_tick_count && !labels.upwards) { /* the last label may extend beyond the frame */
            gt_point last = gt_axes_place(axes, text->x_ticks[text->x_tick_count - 1].at, axes->y.low);
            right = fmax(right, OUTER_PAD + labels.widest / 2 - (axes->lower_right.x - last.x));
        }
        axes->upper_left = (gt_point){upper_left.x + left, upper_left.y + top};
        axes->lower_right = (gt_point){lower_right.x - right, lower_right.y - bottom};
    }
}

gt_axes gt_axes_draw(gt_figure *figure, gt_point upper_left, gt_point lower_right, gt_axis_range x,
                     gt_axis_range y, const gt_axes_text *text)
{
    gt_axes axes = {.figure = figure, .x = x, .y = y};
    find_layout(&axes, upper_left, lower_right, text);
    gt_ticks ticks = y_ticks(&axes);
    x_labels labels = fit_x_labels(&axes, text);
    draw_x_ticks(&axes, text, &labels);
    draw_y_ticks(&axes, &ticks);
    gt_figure_rectangle(figure, axes.upper_left, axes.lower_right, (gt_paint){0}, GT_FRAME_STROKE);

    double middle_x = (axes.upper_left.x + axes.lower_right.x) / 2,
           middle_y = (axes.upper_left.y + axes.lower_right.y) / 2;
    gt_figure_text(figure, (gt_point){middle_x, axes.upper_left.y - TITLE_PAD}, text->title, GT_TITLE_FONT,
                   (gt_anchor){0.5, 1, false});
    gt_figure_text(figure, (gt_point){middle_x, lower_right.y - OUTER_PAD}, text->x_label, GT_LABEL_FONT,
                   (gt_anchor){0.5, 1, false});
    gt_figure_text(figure, (gt_point){upper_left.x + OUTER_PAD, middle_y}, text->y_label, GT_LABEL_FONT,
                   (gt_anchor){0.5, 0, true});
    return axes;
}
