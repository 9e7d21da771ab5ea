/* Charts that compare runs, drawn with output/figure. */
#include "sweep/compare/charts.h"
#include "output/figure/figure.h"

enum { TEXT_MAX = 48, NUMBERED_BARS_MAX = 32, PANELS_PER_ROW = 4 };
static const double INCHES_PER_BAR = 0.09, INCHES_PER_LINE = 0.28, INCHES_MAX = 100, SCALE = 0.78,
                    PANEL_SCALE = 0.6, GROUP_WIDTH = 0.8, HEADROOM = 0.18, NUMBER_POINTS = 90;
static const uint32_t GOOD = 0x2ecc71, BAD = 0xe74c3c;

/* ---- texts ---- */

/* At most TEXT_MAX characters, without line breaks; the caller frees it. */
static char *short_text(const char *text)
{
    size_t end = 0, characters = 0;
    for (; text[end] && characters <= TEXT_MAX; end++)
        characters += ((unsigned char)text[end] & 0xc0) != 0x80;
    bool is_cut = characters > TEXT_MAX;
    if (is_cut) end--;
    char *copy = gt_format("%.*s%s", (int)end, text, is_cut ? "\xe2\x80\xa6" : "");
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
    return copy;
}

/* One tick per name, at 0, 1, 2 ... or at 0, -1, -2 ... so that the first one is at the top. */
static gt_x_tick *name_ticks(const char *const *names, size_t count, bool downwards)
{
    gt_x_tick *ticks = gt_alloc_zero(count + 1, sizeof *ticks);
    for (size_t i = 0; i < count; i++) {
        size_t place = downwards ? count - 1 - i : i; /* ticks ascend */
        ticks[place] = (gt_x_tick){downwards ? -(double)i : (double)i, short_text(names[i])};
    }
    return ticks;
}

static void free_ticks(gt_x_tick *ticks, size_t count)
{
    for (size_t i = 0; i < count; i++) gt_free((char *)(uintptr_t)ticks[i].label);
    gt_free(ticks);
}

/* ---- ranges ---- */

static void add_values(gt_axis_range *range, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) gt_axis_range_add(range, values[i]);
}

/* The range of values, or 0 .. 1 if there are none, or if it is too large to draw. */
static gt_axis_range usable(gt_axis_range range)
{
    return isfinite(range.high - range.low) ? range : (gt_axis_range){0, 1};
}

/* A range for bars, which begin at 0, with room for the legend at its end. */
static gt_axis_range bar_range(gt_axis_range range)
{
    gt_axis_range_add(&range, 0);
    range = usable(range);
    double size = range.high - range.low;
    if (!(size > 0)) return (gt_axis_range){0, 1};
    range.high += range.high > 0 ? size * HEADROOM : 0;
    range.low -= range.low < 0 ? size * HEADROOM : 0;
    return range;
}

/* A range for changes, with a share of it as room on both sides of the bars. */
static gt_axis_range change_range(const double *changes, size_t count, double room)
{
    gt_axis_range range = {0, 0};
    add_values(&range, changes, count);
    range = usable(range);
    double size = range.high - range.low;
    if (!(size > 0)) return (gt_axis_range){-1, 1};
    return (gt_axis_range){range.low - size * room, range.high + size * room};
}

static gt_axis_range category_range(size_t count)
{
    return (gt_axis_range){-0.6, (double)(count ? count : 1) - 0.4};
}

static double inches(double least, double more)
{
    return fmin(fmax(least, more), INCHES_MAX);
}

/* ---- figures ---- */

static gt_point whole(const gt_figure *figure)
{
    return (gt_point){gt_figure_width(figure), gt_figure_height(figure)};
}

/* Writes and frees the figure. */
static bool finish(gt_figure *figure, const char *path, gt_output *output, gt_error *error)
{
    bool written = gt_figure_write(figure, output, path, error);
    gt_figure_free(figure);
    return written;
}

/* ---- bars and lines of runs ---- */

typedef struct drawing {
    gt_figure *figure;
    gt_axes axes;
    gt_x_tick *ticks;
} drawing;

static drawing begin_chart(const gt_run_chart *chart, gt_axis_range y, double width, gt_error *error)
{
    drawing d = {.figure = gt_figure_new(width, chart->height_inches, GT_CHART_DPI, error)};
    if (!d.figure) return d;
    d.ticks = name_ticks(chart->categories, chart->category_count, false);
    d.axes =
        gt_axes_draw(d.figure, (gt_point){0, 0}, whole(d.figure), category_range(chart->category_count), y,
                     &(gt_axes_text){.title = chart->title,
                                     .x_label = chart->x_label,
                                     .y_label = chart->y_label,
                                     .x_ticks = d.ticks,
                                     .x_tick_count = chart->category_count,
                                     .only_horizontal_grid = true,
                                     .scale = SCALE});
    return d;
}

static void end_chart(drawing *d, const gt_run_chart *chart, gt_series *series)
{
    gt_plot_legend(&d->axes, series, chart->run_count);
    for (size_t i = 0; i < chart->run_count; i++) {
        gt_free_all((char *)(uintptr_t)series[i].name, (gt_point *)(uintptr_t)series[i].points);
    }
    gt_free(series);
    free_ticks(d->ticks, chart->category_count);
}

/* The bars of one run; returns its series for the legend, whose points are the ends of the bars. */
static gt_series draw_bars_of(const drawing *d, const gt_run_chart *chart, size_t run)
{
    const gt_chart_run *shown = &chart->runs[run];
    double width = GROUP_WIDTH / (double)chart->run_count;
    gt_point *points = gt_alloc(3 * (chart->category_count + 1) * sizeof *points);
    size_t count = 0;
    for (size_t i = 0; i < chart->category_count; i++) {
        double left = (double)i - GROUP_WIDTH / 2 + width * (double)run, value = shown->values[i];
        if (!isfinite(value)) continue;
        gt_plot_bar(&d->axes, (gt_point){left + width * 0.04, 0}, (gt_point){left + width * 0.96, value},
                    (gt_paint){shown->colour, 1});
        points[count++] = (gt_point){left + width / 2, 0};
        points[count++] = (gt_point){left + width / 2, value};
        points[count++] = (gt_point){left + width / 2, NAN};
    }
    return (gt_series){short_text(shown->name), points, count, shown->colour, GT_MARKER_BAR};
}

bool gt_chart_bars(const gt_run_chart *chart, const char *path, gt_output *output, gt_error *error)
{
    gt_axis_range range = {INFINITY, -INFINITY};
    for (size_t i = 0; i < chart->run_count; i++)
        add_values(&range, chart->runs[i].values, chart->category_count);
    double width = inches(chart->width_inches,
                          (double)(chart->category_count * (chart->run_count + 1)) * INCHES_PER_BAR);
    drawing d = begin_chart(chart, bar_range(range), width, error);
    if (!d.figure) return false;
    gt_series *series = gt_alloc((chart->run_count + 1) * sizeof *series);
    for (size_t i = 0; i < chart->run_count; i++) series[i] = draw_bars_of(&d, chart, i);
    gt_plot_zero(&d.axes, false);
    end_chart(&d, chart, series);
    return finish(d.figure, path, output, error);
}

bool gt_chart_lines(const gt_run_chart *chart, const char *path, gt_output *output, gt_error *error)
{
    static const gt_marker markers[] = {GT_MARKER_CIRCLE, GT_MARKER_SQUARE, GT_MARKER_TRIANGLE,
                                        GT_MARKER_DIAMOND};
    gt_axis_range range = {INFINITY, -INFINITY};
    for (size_t i = 0; i < chart->run_count; i++)
        add_values(&range, chart->runs[i].values, chart->category_count);
    double width = inches(chart->width_inches, (double)chart->category_count * INCHES_PER_BAR);
    range = gt_axis_range_widened(usable(range));
    range.high += (range.high - range.low) * HEADROOM; /* for the legend */
    drawing d = begin_chart(chart, range, width, error);
    if (!d.figure) return false;
    gt_series *series = gt_alloc((chart->run_count + 1) * sizeof *series);
    for (size_t i = 0; i < chart->run_count; i++) {
        const gt_chart_run *run = &chart->runs[i];
        gt_point *points = gt_alloc((chart->category_count + 1) * sizeof *points);
        for (size_t k = 0; k < chart->category_count; k++)
            points[k] = (gt_point){(double)k, isfinite(run->values[k]) ? run->values[k] : NAN};
        series[i] = (gt_series){short_text(run->name), points, chart->category_count, run->colour,
                                markers[i % GT_LENGTH(markers)]};
        gt_plot_series(&d.axes, &series[i]);
    }
    end_chart(&d, chart, series);
    return finish(d.figure, path, output, error);
}

/* ---- changes ---- */

static gt_paint change_paint(const gt_change_chart *chart, double change)
{
    bool is_good = chart->less_is_good ? change < 0 : change > 0;
    return (gt_paint){is_good ? GOOD : BAD, 1};
}

static double draw_title(gt_figure *figure, const char *title)
{
    static const double pad = 8;
    if (!title) return 0;
    gt_figure_text(figure, (gt_point){gt_figure_width(figure) / 2, pad}, title, GT_FIGURE_TITLE_FONT,
                   (gt_anchor){0.5, 0, false});
    return pad + gt_figure_text_height(GT_FIGURE_TITLE_FONT) + pad;
}

/* The number after the end of a bar that goes to the left or right. */
static void draw_number(const gt_axes *axes, double change, double y)
{
    char text[32];
    gt_point end = gt_axes_place(axes, change, y);
    snprintf(text, sizeof text, "%.2f", change == 0 ? 0 : change);
    end.x += change < 0 ? -3 : 3;
    gt_figure_text(axes->figure, end, text, gt_font_scaled(GT_LEGEND_FONT, axes->scale),
                   (gt_anchor){change < 0 ? 1 : 0, 0.45, false});
}

/* A panel from left to right; only the first one has names of categories. */
static void draw_changes(gt_figure *figure, const gt_change_chart *chart, size_t index, gt_x_tick *ticks,
                         gt_point corner, gt_point opposite)
{
    const gt_change_panel *panel = &chart->panels[index];
    bool has_numbers = chart->category_count <= NUMBERED_BARS_MAX;
    double room = has_numbers ? fmin(0.5, NUMBER_POINTS / (opposite.x - corner.x)) : 0.05;
    char *title = short_text(panel->title);
    gt_axis_range places = category_range(chart->category_count);
    gt_axes axes =
        gt_axes_draw(figure, corner, opposite, change_range(panel->changes, chart->category_count, room),
                     (gt_axis_range){-places.high, -places.low},
                     &(gt_axes_text){.title = title,
                                     .x_label = chart->x_label,
                                     .y_label = index ? "" : chart->y_label,
                                     .x_is_number = true,
                                     .y_ticks = ticks,
                                     .y_tick_count = chart->category_count,
                                     .scale = SCALE});
    for (size_t i = 0; i < chart->category_count; i++) {
        double change = panel->changes[i];
        if (!isfinite(change)) continue;
        gt_plot_bar(&axes, (gt_point){0, -(double)i - GROUP_WIDTH / 2},
                    (gt_point){change, -(double)i + GROUP_WIDTH / 2}, change_paint(chart, change));
        if (has_numbers) draw_number(&axes, change, -(double)i);
    }
    gt_plot_zero(&axes, true);
    gt_free(title);
}

static double widest_tick(gt_figure *figure, const gt_x_tick *ticks, size_t count)
{
    double widest = 0;
    for (size_t i = 0; i < count; i++)
        widest =
            fmax(widest, gt_figure_text_width(figure, ticks[i].label, gt_font_scaled(GT_TICK_FONT, SCALE)));
    return widest;
}

static void draw_change_row(gt_figure *figure, const gt_change_chart *chart, double top)
{
    size_t count = chart->category_count;
    gt_x_tick *ticks = name_ticks(chart->categories, count, true);
    gt_x_tick *nameless = gt_alloc((count + 1) * sizeof *nameless);
    for (size_t i = 0; i < count; i++) nameless[i] = (gt_x_tick){ticks[i].at, ""};
    double names = chart->panel_count > 1 ? widest_tick(figure, ticks, count) : 0;
    double width = (gt_figure_width(figure) - names) / (double)chart->panel_count;
    for (size_t i = 0; i < chart->panel_count; i++) {
        gt_point corner = {i ? names + width * (double)i : 0, top};
        draw_changes(figure, chart, i, i ? nameless : ticks, corner,
                     (gt_point){names + width * (double)(i + 1), gt_figure_height(figure)});
    }
    gt_free(nameless);
    free_ticks(ticks, count);
}

bool gt_chart_changes(const gt_change_chart *chart, const char *path, gt_output *output, gt_error *error)
{
    double height = inches(chart->height_inches, (double)chart->category_count * INCHES_PER_LINE);
    gt_figure *figure = gt_figure_new(inches(chart->width_inches, 0), height, GT_CHART_DPI, error);
    if (!figure) return false;
    double top = draw_title(figure, chart->title);
    draw_change_row(figure, chart, top);
    return finish(figure, path, output, error);
}

static void draw_panel(gt_figure *figure, const gt_change_chart *chart, const gt_change_panel *panel,
                       gt_point corner, gt_point opposite, const gt_x_tick *ticks)
{
    gt_axes axes = gt_axes_draw(figure, corner, opposite, category_range(chart->category_count),
                                change_range(panel->changes, chart->category_count, 0.05),
                                &(gt_axes_text){.title = panel->title,
                                                .x_label = chart->x_label,
                                                .y_label = chart->y_label,
                                                .x_ticks = ticks,
                                                .x_tick_count = chart->category_count,
                                                .only_horizontal_grid = true,
                                                .scale = PANEL_SCALE});
    for (size_t i = 0; i < chart->category_count; i++) {
        double change = panel->changes[i];
        if (isfinite(change))
            gt_plot_bar(&axes, (gt_point){(double)i - GROUP_WIDTH / 2, 0},
                        (gt_point){(double)i + GROUP_WIDTH / 2, change}, change_paint(chart, change));
    }
    gt_plot_zero(&axes, false);
}

bool gt_chart_change_panels(const gt_change_chart *chart, const char *path, gt_output *output,
                            gt_error *error)
{
    size_t lines = (chart->panel_count + PANELS_PER_ROW - 1) / PANELS_PER_ROW;
    gt_figure *figure = gt_figure_new(chart->width_inches, chart->height_inches, GT_CHART_DPI, error);
    if (!figure) return false;
    gt_x_tick *ticks = name_ticks(chart->categories, chart->category_count, false);
    double top = draw_title(figure, chart->title), width = gt_figure_width(figure) / PANELS_PER_ROW,
           height = (gt_figure_height(figure) - top) / (double)lines;
    for (size_t i = 0; i < chart->panel_count; i++) {
        gt_point corner = {width * (double)(i % PANELS_PER_ROW), top + height * (double)(i / PANELS_PER_ROW)};
        draw_panel(figure, chart, &chart->panels[i], corner, (gt_point){corner.x + width, corner.y + height},
                   ticks);
    }
    free_ticks(ticks, chart->category_count);
    return finish(figure, path, output, error);
}

/* ---- map ---- */

static const double BAR_WIDTH = 16, BAR_GAP = 18, BAR_TEXT = 60;

/* A dark text on pale cells, a white one on dark cells. */
static gt_paint text_on(uint32_t colour)
{
    double light = 0.299 * (colour >> 16 & 255) + 0.587 * (colour >> 8 & 255) + 0.114 * (colour & 255);
    return (gt_paint){light > 130 ? 0x262626 : 0xffffff, 1};
}

static void draw_map_cell(const gt_axes *axes, const gt_change_map *map, size_t row, size_t column,
                          double most)
{
    double change = map->changes[row * map->column_count + column];
    if (!isfinite(change)) return;
    gt_point from = {(double)column - 0.5, -(double)row - 0.5}, to = {from.x + 1, from.y + 1};
    uint32_t colour = gt_diverging_colour(most > 0 ? 0.5 + change / most / 2 : 0.5);
    gt_figure_rectangle(axes->figure, gt_axes_place(axes, from.x, from.y), gt_axes_place(axes, to.x, to.y),
                        (gt_paint){colour, 1}, (gt_stroke){{0xffffff, 1}, 0.8, false});
    char text[32];
    gt_font font = gt_font_scaled(GT_LEGEND_FONT, axes->scale);
    font.paint = text_on(colour);
    snprintf(text, sizeof text, "%.1f", fabs(change) < 0.05 ? 0 : change);
    gt_point corner = gt_axes_place(axes, from.x, to.y), opposite = gt_axes_place(axes, to.x, from.y);
    bool fits = gt_figure_text_width(axes->figure, text, font) < opposite.x - corner.x &&
                gt_figure_text_height(font) < opposite.y - corner.y;
    if (fits)
        gt_figure_text(axes->figure, (gt_point){(corner.x + opposite.x) / 2, (corner.y + opposite.y) / 2},
                       text, font, (gt_anchor){0.5, 0.45, false});
}

/* The colours and their numbers, to the right of the map. */
static void draw_colour_bar(const gt_axes *axes, double most)
{
    enum { STEPS = 100 };
    double left = axes->lower_right.x + BAR_GAP, height = axes->lower_right.y - axes->upper_left.y;
    gt_font font = gt_font_scaled(GT_LEGEND_FONT, axes->scale);
    for (int i = 0; i < STEPS; i++) {
        double upper = axes->upper_left.y + height * i / STEPS;
        gt_figure_rectangle(axes->figure, (gt_point){left, upper},
                            (gt_point){left + BAR_WIDTH, upper + height / STEPS + 0.3},
                            (gt_paint){gt_diverging_colour(1 - (i + 0.5) / STEPS), 1}, (gt_stroke){0});
    }
    gt_ticks ticks = gt_ticks_of(-most, most, 7);
    for (size_t i = 0; i < ticks.count; i++) {
        char text[GT_TICK_TEXT];
        double share = (gt_tick_value(&ticks, i) + most) / (2 * most);
        gt_tick_text(&ticks, i, text);
        gt_figure_text(axes->figure, (gt_point){left + BAR_WIDTH + 5, axes->lower_right.y - share * height},
                       text, font, (gt_anchor){0, 0.45, false});
    }
}

bool gt_chart_map(const gt_change_map *map, const char *path, gt_output *output, gt_error *error)
{
    gt_figure *figure =
        gt_figure_new(inches(12, (double)map->column_count * INCHES_PER_BAR),
                      inches(8, (double)map->row_count * INCHES_PER_LINE), GT_CHART_DPI, error);
    if (!figure) return false;
    double most = 0;
    for (size_t i = 0; i < map->row_count * map->column_count; i++)
        if (isfinite(map->changes[i])) most = fmax(most, fabs(map->changes[i]));
    gt_x_tick *columns = name_ticks(map->columns, map->column_count, false);
    gt_x_tick *rows = name_ticks(map->rows, map->row_count, true);
    double last_column = (double)(map->column_count ? map->column_count : 1) - 0.5,
           last_row = 0.5 - (double)(map->row_count ? map->row_count : 1);
    gt_axes axes = gt_axes_draw(figure, (gt_point){0, 0}, whole(figure), (gt_axis_range){-0.5, last_column},
                                (gt_axis_range){last_row, 0.5},
                                &(gt_axes_text){.title = map->title,
                                                .x_label = map->x_label,
                                                .y_label = map->y_label,
                                                .x_ticks = columns,
                                                .x_tick_count = map->column_count,
                                                .y_ticks = rows,
                                                .y_tick_count = map->row_count,
                                                .scale = SCALE,
                                                .right_pad = BAR_GAP + BAR_WIDTH + BAR_TEXT});
    for (size_t row = 0; row < map->row_count; row++)
        for (size_t column = 0; column < map->column_count; column++)
            draw_map_cell(&axes, map, row, column, most);
    draw_colour_bar(&axes, most > 0 ? most : 1);
    free_ticks(columns, map->column_count);
    free_ticks(rows, map->row_count);
    return finish(figure, path, output, error);
}
