/* Boxes, violins, lines and legends inside the frame of a plot. */
#include "output/figure/figure.h"

static const gt_stroke BOX_EDGE = {{0x262626, 1}, 1, false};
static const gt_stroke MEDIAN_STROKE = {{0xff7f0e, 1}, 1.5, false};
static const gt_stroke MEAN_STROKE = {{0x2ca02c, 1}, 1.5, true};
static const gt_stroke VIOLIN_STROKE = {{0x1f77b4, 1}, 1.5, false};
static const gt_stroke ZERO_STROKE = {{0x262626, 1}, 0.8, false};
static const gt_stroke NO_EDGE = {{0, 0}, 0, false};
static const gt_paint NO_FILL = {0, 0}, LEGEND_FILL = {0xffffff, 0.8};

/* Half widths, in units of the x axis. */
static const double BOX_HALF = 0.25, CAP_HALF = 0.125, VIOLIN_HALF = 0.25;
/* In points. */
static const double OUTLIER_RADIUS = 4, MARKER_RADIUS = 5, SERIES_WIDTH = 2;
static const double FULL_SIZE_ROOM =
    12; /* for half a box or violin; with less, lines and circles are smaller */
static const double LEGEND_PAD = 7, LEGEND_HANDLE = 28, LEGEND_GAP = 9, LEGEND_LINE = 1.35;
enum { LEGEND_ROWS = 12, LEGEND_MAX = 24, LEGEND_TEXT = 128, SAMPLES_PER_SEGMENT = 16 };

/* The stroke width or radius for a shape `half` units wide on either side; smaller if there is little room.
 */
static double scaled_size(const gt_axes *axes, double half, double usual, double least)
{
    double room = gt_axes_place(axes, half, axes->y.low).x - gt_axes_place(axes, 0, axes->y.low).x;
    return fmin(usual, fmax(least, room * usual / FULL_SIZE_ROOM));
}

static void draw_line(const gt_axes *axes, double x0, double y0, double x1, double y1, gt_stroke stroke)
{
    gt_point ends[] = {gt_axes_place(axes, x0, y0), gt_axes_place(axes, x1, y1)};
    gt_figure_line(axes->figure, ends, 2, stroke);
}

void gt_plot_box(const gt_axes *axes, double x, const gt_box *box, gt_paint fill)
{
    double low = box->whisker_low, high = box->whisker_high;
    draw_line(axes, x, box->first_quartile, x, low, BOX_EDGE);
    draw_line(axes, x, box->third_quartile, x, high, BOX_EDGE);
    draw_line(axes, x - CAP_HALF, low, x + CAP_HALF, low, BOX_EDGE);
    draw_line(axes, x - CAP_HALF, high, x + CAP_HALF, high, BOX_EDGE);
    gt_figure_rectangle(axes->figure, gt_axes_place(axes, x - BOX_HALF, box->third_quartile),
                        gt_axes_place(axes, x + BOX_HALF, box->first_quartile), fill, BOX_EDGE);
    double radius = scaled_size(axes, BOX_HALF, OUTLIER_RADIUS, 1.5);
    for (size_t i = 0; i < box->outlier_count; i++)
        gt_figure_circle(axes->figure, gt_axes_place(axes, x, box->outliers[i]), radius, NO_FILL, BOX_EDGE);
    draw_line(axes, x - BOX_HALF, box->median, x + BOX_HALF, box->median, MEDIAN_STROKE);
    draw_line(axes, x - BOX_HALF, box->mean, x + BOX_HALF, box->mean, MEAN_STROKE);
}

void gt_plot_violin(const gt_axes *axes, double x, const gt_density *density, gt_paint fill)
{
    enum { POINTS = GT_DENSITY_POINTS };
    gt_stroke stroke = VIOLIN_STROKE;
    stroke.width = scaled_size(axes, VIOLIN_HALF, stroke.width, 0.4);
    if (density->highest > 0) {
        gt_point outline[2 * POINTS];
        for (size_t i = 0; i < POINTS; i++) {
            double half = VIOLIN_HALF * density->density[i] / density->highest;
            outline[i] = gt_axes_place(axes, x - half, density->at[i]);
            outline[2 * POINTS - 1 - i] = gt_axes_place(axes, x + half, density->at[i]);
        }
        gt_figure_area(axes->figure, outline, 2 * POINTS, fill, NO_EDGE);
    } else {
        draw_line(axes, x - VIOLIN_HALF, density->min, x + VIOLIN_HALF, density->min, stroke);
    }
    double levels[] = {density->min, density->max, density->mean, density->median};
    for (size_t i = 0; i < GT_LENGTH(levels); i++)
        draw_line(axes, x - CAP_HALF, levels[i], x + CAP_HALF, levels[i], stroke);
    draw_line(axes, x, density->min, x, density->max, stroke);
}

/* ---- bars ---- */

void gt_plot_bar(const gt_axes *axes, gt_point from, gt_point to, gt_paint fill)
{
    gt_figure_rectangle(axes->figure, gt_axes_place(axes, from.x, from.y), gt_axes_place(axes, to.x, to.y),
                        fill, NO_EDGE);
}

void gt_plot_zero(const gt_axes *axes, bool of_x)
{
    gt_axis_range range = of_x ? axes->x : axes->y;
    if (!(range.low <= 0 && range.high >= 0)) return;
    if (of_x)
        draw_line(axes, 0, axes->y.low, 0, axes->y.high, ZERO_STROKE);
    else
        draw_line(axes, axes->x.low, 0, axes->x.high, 0, ZERO_STROKE);
}

/* ---- lines ---- */

static void draw_marker(gt_figure *figure, gt_point at, const gt_series *series)
{
    gt_paint fill = {series->colour, 1};
    double r = MARKER_RADIUS;
    gt_point corner = {at.x - r, at.y - r}, opposite = {at.x + r, at.y + r};
    gt_point triangle[] = {{at.x, at.y - r}, {at.x + r, at.y + r}, {at.x - r, at.y + r}};
    gt_point diamond[] = {{at.x, at.y - 1.3 * r}, {at.x + r, at.y}, {at.x, at.y + 1.3 * r}, {at.x - r, at.y}};
    switch (series->marker) {
    case GT_MARKER_CIRCLE:
        gt_figure_circle(figure, at, r, fill, NO_EDGE);
        break;
    case GT_MARKER_SQUARE:
        gt_figure_rectangle(figure, corner, opposite, fill, NO_EDGE);
        break;
    case GT_MARKER_TRIANGLE:
        gt_figure_area(figure, triangle, GT_LENGTH(triangle), fill, NO_EDGE);
        break;
    case GT_MARKER_DIAMOND:
        gt_figure_area(figure, diamond, GT_LENGTH(diamond), fill, NO_EDGE);
        break;
    case GT_MARKER_BAR:
        break;
    }
}

void gt_plot_series(const gt_axes *axes, const gt_series *series)
{
    gt_stroke stroke = {{series->colour, 1}, SERIES_WIDTH, false};
    gt_point *places = gt_alloc(series->count * sizeof *places);
    size_t run = 0;
    for (size_t i = 0; i <= series->count; i++) {
        if (i < series->count && !isnan(series->points[i].y)) {
            places[run++] = gt_axes_place(axes, series->points[i].x, series->points[i].y);
            continue;
        }
        if (run > 1) gt_figure_line(axes->figure, places, run, stroke);
        for (size_t k = 0; k < run; k++) draw_marker(axes->figure, places[k], series);
        run = 0;
    }
    gt_free(places);
}

/* ---- legend ---- */

typedef struct legend {
    gt_font font;
    double handle, gap, pad;
    gt_point size;
    double column_width, line;
    size_t rows, shown;
    char more[LEGEND_TEXT]; /* the last entry if not all series are shown */
} legend;

static const char *entry_text(const legend *l, const gt_series *series, size_t index)
{
    return index < l->shown ? series[index].name : l->more;
}

static legend measure_legend(const gt_axes *axes, const gt_series *series, size_t count)
{
    legend l = {.font = gt_font_scaled(GT_LEGEND_FONT, axes->scale),
                .handle = LEGEND_HANDLE * axes->scale,
                .gap = LEGEND_GAP * axes->scale,
                .pad = LEGEND_PAD * axes->scale,
                .shown = count > LEGEND_MAX ? LEGEND_MAX - 1 : count};
    if (l.shown < count) snprintf(l.more, sizeof l.more, "and %zu more", count - l.shown);
    size_t entries = l.shown + (l.shown < count);
    double widest = 0;
    for (size_t i = 0; i < entries; i++)
        widest = fmax(widest, gt_figure_text_width(axes->figure, entry_text(&l, series, i), l.font));
    l.rows = entries < LEGEND_ROWS ? entries : LEGEND_ROWS;
    l.line = gt_figure_text_height(l.font) * LEGEND_LINE;
    l.column_width = l.handle + l.gap + widest + 2 * l.gap;
    size_t columns = (entries + l.rows - 1) / l.rows;
    l.size = (gt_point){l.column_width * (double)columns + 2 * l.pad - 2 * l.gap,
                        l.line * (double)l.rows + 2 * l.pad};
    return l;
}

static bool inside(gt_point at, gt_point corner, gt_point size)
{
    double margin = MARKER_RADIUS;
    return at.x > corner.x - margin && at.x < corner.x + size.x + margin && at.y > corner.y - margin &&
           at.y < corner.y + size.y + margin;
}

/* How much of the lines a rectangle would hide: number of samples along them. */
static size_t hidden_by(const gt_axes *axes, const gt_series *series, size_t count, gt_point corner,
                        gt_point size)
{
    size_t hidden = 0;
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < series[s].count; i++) {
            const gt_point *point = &series[s].points[i];
            if (isnan(point->y)) continue;
            const gt_point *before = i && !isnan(point[-1].y) ? point - 1 : point;
            gt_point to = gt_axes_place(axes, point->x, point->y);
            gt_point from = gt_axes_place(axes, before->x, before->y);
            for (int k = 1; k <= SAMPLES_PER_SEGMENT; k++) {
                double share = (double)k / SAMPLES_PER_SEGMENT;
                gt_point at = {from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share};
                hidden += inside(at, corner, size);
            }
        }
    return hidden;
}

static gt_point choose_corner(const gt_axes *axes, const gt_series *series, size_t count, gt_point size)
{
    double left = axes->upper_left.x + LEGEND_PAD, right = axes->lower_right.x - LEGEND_PAD - size.x;
    double top = axes->upper_left.y + LEGEND_PAD, bottom = axes->lower_right.y - LEGEND_PAD - size.y;
    gt_point corners[] = {{right, top}, {left, top}, {left, bottom}, {right, bottom}}, best = corners[0];
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < GT_LENGTH(corners); i++) {
        size_t hidden = hidden_by(axes, series, count, corners[i], size);
        if (hidden >= least) continue;
        least = hidden;
        best = corners[i];
    }
    return best;
}

static void draw_handle(const gt_axes *axes, const legend *l, gt_point at, const gt_series *series)
{
    gt_point ends[] = {at, {at.x + l->handle, at.y}};
    double half = gt_figure_text_height(l->font) * 0.35;
    if (series->marker == GT_MARKER_BAR) {
        gt_figure_rectangle(axes->figure, (gt_point){at.x, at.y - half},
                            (gt_point){at.x + l->handle, at.y + half}, (gt_paint){series->colour, 1},
                            NO_EDGE);
        return;
    }
    gt_figure_line(axes->figure, ends, 2, (gt_stroke){{series->colour, 1}, SERIES_WIDTH, false});
    draw_marker(axes->figure, (gt_point){at.x + l->handle / 2, at.y}, series);
}

static void draw_entry(const gt_axes *axes, const legend *l, gt_point corner, const gt_series *series,
                       size_t index)
{
    gt_point at = {corner.x + l->pad + l->column_width * (double)(index / l->rows),
                   corner.y + l->pad + l->line * ((double)(index % l->rows) + 0.5)};
    if (index < l->shown) draw_handle(axes, l, at, &series[index]);
    gt_figure_text(axes->figure, (gt_point){at.x + l->handle + l->gap, at.y}, entry_text(l, series, index),
                   l->font, (gt_anchor){0, 0.45, false});
}

void gt_plot_legend(const gt_axes *axes, const gt_series *series, size_t count)
{
    if (!count) return;
    legend l = measure_legend(axes, series, count);
    gt_point corner = choose_corner(axes, series, count, l.size);
    gt_figure_rectangle(axes->figure, corner, (gt_point){corner.x + l.size.x, corner.y + l.size.y},
                        LEGEND_FILL, GT_FRAME_STROKE);
    for (size_t i = 0; i < l.shown + (l.shown < count); i++) draw_entry(axes, &l, corner, series, i);
}

/* ---- colours ---- */

uint32_t gt_series_colour(size_t index)
{
    static const uint32_t colours[] = {0x1f77b4, 0xff7f0e, 0x2ca02c, 0xd62728, 0x9467bd,
                                       0x8c564b, 0xe377c2, 0x7f7f7f, 0xbcbd22, 0x17becf};
    return colours[index % GT_LENGTH(colours)];
}

static uint32_t mixed(uint32_t from, uint32_t to, double share)
{
    uint32_t colour = 0;
    for (int shift = 0; shift <= 16; shift += 8) {
        double a = from >> shift & 255, b = to >> shift & 255;
        colour |= (uint32_t)lround(a + (b - a) * share) << shift;
    }
    return colour;
}

static uint32_t colour_between(const uint32_t *anchors, size_t count, double share)
{
    size_t last = count - 1;
    double place = fmin(fmax(share, 0), 1) * (double)last;
    size_t index = place >= (double)last ? last - 1 : (size_t)place;
    return mixed(anchors[index], anchors[index + 1], place - (double)index);
}

uint32_t gt_scale_colour(double share)
{
    static const uint32_t anchors[] = {0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c,
                                       0x28ae80, 0x5ec962, 0xaddc30, 0xfde725};
    return colour_between(anchors, GT_LENGTH(anchors), share);
}

uint32_t gt_diverging_colour(double share)
{
    static const uint32_t anchors[] = {0xa50026, 0xd73027, 0xf46d43, 0xfdae61, 0xfee08b, 0xffffbf,
                                       0xd9ef8b, 0xa6d96a, 0x66bd63, 0x1a9850, 0x006837};
    return colour_between(anchors, GT_LENGTH(anchors), share);
}
