/* The frame of a plot: finds the ticks, then the layout, then draws. The margins depend on the ticks, and the
 * ticks depend on the room that the margins leave, so the layout is done twice, the second time with the
 * margins of the first. */
#include "output/figure/figure.h"

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
static const double X_TICK_WIDTH = 8;     /* of an x axis of numbers: minimum distance, in font sizes */
enum { NUMBER_TICKS = 32 };

gt_font gt_font_scaled(gt_font font, double scale)
{
    font.size *= scale;
    return font;
}

static gt_font tick_font(const gt_axes *axes)
{
    return gt_font_scaled(GT_TICK_FONT, axes->scale);
}

static double label_height(const gt_axes *axes)
{
    return gt_figure_text_height(GT_LABEL_FONT) * axes->scale;
}

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

/* The labels of an axis: those that are given, or round numbers. */
typedef struct axis_ticks {
    gt_x_tick numbers[NUMBER_TICKS];
    char texts[NUMBER_TICKS][GT_TICK_TEXT];
    const gt_x_tick *items;
    size_t count;
} axis_ticks;

static void use_numbers(axis_ticks *ticks, gt_axis_range range, double room)
{
    size_t most = room > 2 ? (room < NUMBER_TICKS ? (size_t)room : NUMBER_TICKS) : 2;
    gt_ticks round = gt_ticks_of(range.low, range.high, most);
    ticks->items = ticks->numbers;
    ticks->count = round.count;
    for (size_t i = 0; i < round.count; i++) {
        gt_tick_text(&round, i, ticks->texts[i]);
        ticks->numbers[i] = (gt_x_tick){gt_tick_value(&round, i), ticks->texts[i]};
    }
}

static void find_y_ticks(const gt_axes *axes, const gt_axes_text *text, axis_ticks *ticks)
{
    ticks->items = text->y_ticks;
    ticks->count = text->y_tick_count;
    double line = gt_figure_text_height(tick_font(axes)) * LINES_PER_TICK;
    if (!text->y_ticks) use_numbers(ticks, axes->y, (axes->lower_right.y - axes->upper_left.y) / line);
}

static void find_x_ticks(const gt_axes *axes, const gt_axes_text *text, axis_ticks *ticks)
{
    ticks->items = text->x_ticks;
    ticks->count = text->x_tick_count;
    if (text->x_is_number)
        use_numbers(ticks, axes->x,
                    (axes->lower_right.x - axes->upper_left.x) / (tick_font(axes).size * X_TICK_WIDTH / 2));
}

typedef struct x_labels {
    gt_font font;
    bool upwards;
    double widest;
} x_labels;

static double widest_label(const gt_axes *axes, const axis_ticks *ticks, gt_font font)
{
    double widest = 0;
    for (size_t i = 0; i < ticks->count; i++)
        widest = fmax(widest, gt_figure_text_width(axes->figure, ticks->items[i].label, font));
    return widest;
}

/* The x labels in the largest font in which no two touch; turned upwards if that font would be too small. */
static x_labels fit_x_labels(const gt_axes *axes, const axis_ticks *ticks)
{
    x_labels labels = {.font = tick_font(axes)};
    double closest = INFINITY, smallest = SMALLEST_TICK_FONT * axes->scale;
    for (size_t i = 1; i < ticks->count; i++)
        closest = fmin(closest, gt_axes_place(axes, ticks->items[i].at, axes->y.low).x -
                                    gt_axes_place(axes, ticks->items[i - 1].at, axes->y.low).x);
    labels.widest = widest_label(axes, ticks, labels.font);
    double fitting = labels.font.size * closest / (labels.widest + labels.font.size * 0.6);
    if (fitting >= labels.font.size) return labels;
    labels.upwards = fitting < smallest;
    labels.font.size = labels.upwards ? smallest : fitting;
    labels.widest = widest_label(axes, ticks, labels.font);
    return labels;
}

static void draw_x_ticks(const gt_axes *axes, const axis_ticks *ticks, bool has_grid, const x_labels *labels)
{
    double free_from = -INFINITY; /* the next label may start here */
    for (size_t i = 0; i < ticks->count; i++) {
        gt_point foot = gt_axes_place(axes, ticks->items[i].at, axes->y.low);
        if (has_grid)
            gt_figure_line(axes->figure, (gt_point[]){foot, {foot.x, axes->upper_left.y}}, 2, GRID_STROKE);
        double half =
            (labels->upwards ? gt_figure_text_height(labels->font)
                             : gt_figure_text_width(axes->figure, ticks->items[i].label, labels->font)) /
            2;
        if (foot.x - half < free_from) continue;
        free_from = foot.x + half;
        gt_anchor anchor = labels->upwards ? (gt_anchor){1, 0.5, true} : (gt_anchor){0.5, 0, false};
        gt_figure_text(axes->figure, (gt_point){foot.x, foot.y + PAD * axes->scale}, ticks->items[i].label,
                       labels->font, anchor);
    }
}

/* From below; a label that would touch the one before is omitted. */
static void draw_y_ticks(const gt_axes *axes, const axis_ticks *ticks)
{
    gt_font font = tick_font(axes);
    double free_below = INFINITY;
    for (size_t i = 0; i < ticks->count; i++) {
        gt_point foot = gt_axes_place(axes, axes->x.low, ticks->items[i].at);
        gt_figure_line(axes->figure, (gt_point[]){foot, {axes->lower_right.x, foot.y}}, 2, GRID_STROKE);
        if (foot.y + gt_figure_text_height(font) / 2 > free_below) continue;
        free_below = foot.y - gt_figure_text_height(font) / 2;
        gt_figure_text(axes->figure, (gt_point){foot.x - PAD * axes->scale, foot.y}, ticks->items[i].label,
                       font, (gt_anchor){1, 0.45, false});
    }
}

/* ---- layout ---- */

/* Moves the frame inwards from the corners of the panel to make room for the texts. */
static void find_layout(gt_axes *axes, gt_point upper_left, gt_point lower_right, const gt_axes_text *text)
{
    double pad = PAD * axes->scale, outer = OUTER_PAD * axes->scale;
    axes->upper_left = upper_left;
    axes->lower_right = lower_right;
    for (int pass = 0; pass < 2; pass++) {
        axis_ticks x_ticks, y_ticks;
        find_x_ticks(axes, text, &x_ticks);
        find_y_ticks(axes, text, &y_ticks);
        x_labels labels = fit_x_labels(axes, &x_ticks);
        double left = outer + label_height(axes) + pad + widest_label(axes, &y_ticks, tick_font(axes)) + pad;
        double top = outer + (gt_figure_text_height(GT_TITLE_FONT) + TITLE_PAD) * axes->scale;
        double tick_height = labels.upwards ? labels.widest : gt_figure_text_height(labels.font);
        double bottom = pad + tick_height + pad + label_height(axes) + outer;
        double right = outer + pad;
        if (x_ticks.count && !labels.upwards) { /* the last label may extend beyond the frame */
            gt_point last = gt_axes_place(axes, x_ticks.items[x_ticks.count - 1].at, axes->y.low);
            right = fmax(right, outer + labels.widest / 2 - (axes->lower_right.x - last.x));
        }
        axes->upper_left = (gt_point){upper_left.x + left, upper_left.y + top};
        axes->lower_right = (gt_point){lower_right.x - right - text->right_pad, lower_right.y - bottom};
    }
}

static void draw_ticks(const gt_axes *axes, const gt_axes_text *text)
{
    axis_ticks x_ticks, y_ticks;
    find_x_ticks(axes, text, &x_ticks);
    find_y_ticks(axes, text, &y_ticks);
    x_labels labels = fit_x_labels(axes, &x_ticks);
    draw_x_ticks(axes, &x_ticks, !text->only_horizontal_grid, &labels);
    draw_y_ticks(axes, &y_ticks);
}

gt_axes gt_axes_draw(gt_figure *figure, gt_point upper_left, gt_point lower_right, gt_axis_range x,
                     gt_axis_range y, const gt_axes_text *text)
{
    gt_axes axes = {.figure = figure, .x = x, .y = y, .scale = text->scale > 0 ? text->scale : 1};
    find_layout(&axes, upper_left, lower_right, text);
    draw_ticks(&axes, text);
    gt_figure_rectangle(figure, axes.upper_left, axes.lower_right, (gt_paint){0}, GT_FRAME_STROKE);

    gt_font title = gt_font_scaled(GT_TITLE_FONT, axes.scale),
            label = gt_font_scaled(GT_LABEL_FONT, axes.scale);
    double middle_x = (axes.upper_left.x + axes.lower_right.x) / 2,
           middle_y = (axes.upper_left.y + axes.lower_right.y) / 2, outer = OUTER_PAD * axes.scale;
    gt_figure_text(figure, (gt_point){middle_x, axes.upper_left.y - TITLE_PAD * axes.scale}, text->title,
                   title, (gt_anchor){0.5, 1, false});
    gt_figure_text(figure, (gt_point){middle_x, lower_right.y - outer}, text->x_label, label,
                   (gt_anchor){0.5, 1, false});
    gt_figure_text(figure, (gt_point){upper_left.x + outer, middle_y}, text->y_label, label,
                   (gt_anchor){0.5, 0, true});
    return axes;
}
