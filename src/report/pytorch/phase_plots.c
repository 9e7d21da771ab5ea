/* Drawing the plots of phases. Most are lists of horizontal bars, one panel per phase, because names of ops
 * are long and have room only next to their bars. */
#include "report/pytorch/phase_plots.h"

#include "analysis/phases/phases.h"

enum { PREFILL, DECODE, PHASES };

static const struct {
    const char *title;
    gt_sheet ops, kernels;
    uint32_t colour;
} phases[PHASES] = {
    {"Prefill", GT_SHEET_OPS_SUMMARY_PREFILL, GT_SHEET_KERNEL_SUMMARY_PREFILL, 0x2e86ab},
    {"Decode", GT_SHEET_OPS_SUMMARY_DECODE, GT_SHEET_KERNEL_SUMMARY_DECODE, 0xe07a3f},
};

/* Phases of steps, as in the sheet inference_phases. */
static const struct {
    const char *title, *name;
    uint32_t colour;
} step_phases[] = {
    {"Prefill", "prefill", 0x2e86ab},
    {"Decode", "decode", 0xe07a3f},
    {"Mixed", "mixed", 0x8e5ea2},
    {"Unknown", "", 0x9a9a9a},
};
enum { STEP_PHASES = GT_LENGTH(step_phases), STEP_UNKNOWN = STEP_PHASES - 1 };

static const uint32_t REST_COLOUR = 0x9a9a9a;

enum { BARS_MAX = 10 };

/* In inches and points. */
static const double FIGURE_WIDTH = 14, FIGURE_HEIGHT = 6, OVERVIEW_HEIGHT = 2.4;
static const double MARGIN = 18, HEADING = 44, VALUE_ROOM = 120;
static const double BARS_SHARE_MIN = 0.25;   /* of the room for names and bars */
static const double EMPTY_PANEL_SHARE = 0.2; /* of the width, if the other phase has ops */
static const double BAR_HEIGHT_MAX = 26, BAR_SHARE = 0.7;

typedef struct plots {
    const gt_table *ops[PHASES];     /* NULL: the phase has no ops */
    const gt_table *kernels[PHASES]; /* NULL: none */
    const gt_table *all_ops;         /* of all phases and of none; NULL: none */
    const gt_table *steps;           /* NULL: none */
    const char *folder;
    gt_figure_format format;
    int64_t dots_per_inch;
    gt_output *output;
} plots;

typedef struct bar {
    char *name; /* owned */
    double value;
    char *text; /* owned: the value as displayed */
    uint32_t colour;
} bar;

typedef struct bars {
    bar *items;
    size_t count, capacity;
} bars;

static void bars_free(bars *b)
{
    for (size_t i = 0; i < b->count; i++) {
        gt_free_all(b->items[i].name, b->items[i].text);
    }
    gt_free(b->items);
}

static void add_bar(bars *b, gt_str name, double value, char *text)
{
    bar one = {.name = gt_format("%.*s", (int)(name.len < 1000 ? name.len : 1000), name.bytes),
               .value = value,
               .text = text};
    GT_PUSH(b->items, b->count, b->capacity, one);
}

/* ---- panels ---- */

/* Cuts a name to the room that it has, at a character. */
static void fit_name(gt_figure *figure, char *name, gt_font font, double room)
{
    size_t len = strlen(name);
    if (gt_figure_text_width(figure, name, font) <= room) return;
    while (len > 3 && gt_figure_text_width(figure, name, font) > room) {
        len--;
        while (len > 3 && ((unsigned char)name[len] & 0xC0) == 0x80) len--; /* inside a character */
        if (len < 3) break;
        name[len] = 0;
        memcpy(name + len - 3, "...", 3);
    }
}

/* Room for the names: as much as they need, if the bars keep their share. */
static double room_for_names(gt_figure *figure, const bars *b, gt_font font, double room)
{
    double widest = 0;
    for (size_t i = 0; i < b->count; i++)
        widest = fmax(widest, gt_figure_text_width(figure, b->items[i].name, font));
    return fmin(widest + 8, room * (1 - BARS_SHARE_MIN));
}

static void draw_bars(gt_figure *figure, gt_point corner, gt_point opposite, const char *title, bars *b)
{
    static const gt_font font = {11, false, {0x262626, 1}};
    double width = opposite.x - corner.x - 2 * MARGIN, most = 0;
    double names = room_for_names(figure, b, font, width - VALUE_ROOM);
    double left = corner.x + MARGIN + names, room = width - names - VALUE_ROOM;
    gt_figure_text(figure, (gt_point){(corner.x + opposite.x) / 2, corner.y + MARGIN}, title, GT_TITLE_FONT,
                   (gt_anchor){0.5, 0, false});
    if (!b->count)
        gt_figure_text(figure, (gt_point){(corner.x + opposite.x) / 2, (corner.y + opposite.y) / 2}, "none",
                       font, (gt_anchor){0.5, 0.5, false});
    for (size_t i = 0; i < b->count; i++) most = fmax(most, b->items[i].value);
    double height = opposite.y - corner.y - HEADING - MARGIN;
    double pitch = fmin(BAR_HEIGHT_MAX / BAR_SHARE, height / (double)(b->count ? b->count : 1));
    for (size_t i = 0; i < b->count; i++) {
        double top = corner.y + HEADING + MARGIN / 2 + pitch * (double)i,
               middle = top + pitch * BAR_SHARE / 2;
        double length = most > 0 ? room * b->items[i].value / most : 0;
        fit_name(figure, b->items[i].name, font, names - 8);
        gt_figure_text(figure, (gt_point){left - 6, middle}, b->items[i].name, font,
                       (gt_anchor){1, 0.45, false});
        gt_figure_rectangle(figure, (gt_point){left, top},
                            (gt_point){left + fmax(length, 0.5), top + pitch * BAR_SHARE},
                            (gt_paint){b->items[i].colour, 0.85}, (gt_stroke){0});
        gt_figure_text(figure, (gt_point){left + length + 6, middle}, b->items[i].text, font,
                       (gt_anchor){0, 0.45, false});
    }
}

static gt_figure *new_figure(const plots *p, double height, const char *title, gt_error *error)
{
    gt_figure *figure = gt_figure_new_as(p->format, FIGURE_WIDTH, height, p->dots_per_inch, error);
    if (figure)
        gt_figure_text(figure, (gt_point){gt_figure_width(figure) / 2, MARGIN / 2}, title,
                       GT_FIGURE_TITLE_FONT, (gt_anchor){0.5, 0, false});
    return figure;
}

static bool write(const plots *p, gt_figure *figure, const char *name, gt_error *error)
{
    char *path = gt_format("%s/%s.%s", p->folder, name, gt_figure_format_name(p->format));
    bool written = gt_figure_write(figure, p->output, path, error);
    gt_figure_free(figure);
    gt_free(path);
    return written;
}

/* ---- values ---- */

static double value_at(const gt_table *table, gt_col column, size_t row)
{
    return gt_column_number(gt_table_column(table, column), row);
}

static double sum_of(const gt_table *table, gt_col column)
{
    double sum = 0;
    for (size_t row = 0; table && row < table->row_count; row++) sum += value_at(table, column, row);
    return sum;
}

static gt_str text_at(const gt_table *table, gt_col column, size_t row)
{
    return gt_interner_get(table->strings, gt_table_column_of(table, column, GT_TYPE_STRING)->texts[row]);
}

GT_ORDER_BY(by_value, bar, GT_DOWN(value) GT_UP_TEXT(name))

/* Keeps the largest. */
static void keep_largest(bars *b)
{
    if (b->count) qsort(b->items, b->count, sizeof *b->items, by_value);
    while (b->count > BARS_MAX) {
        gt_free_all(b->items[--b->count].name, b->items[b->count].text);
    }
}

typedef bars collector(const plots *p, size_t phase);

static bars by_time(const plots *p, size_t phase)
{
    bars b = {0};
    const gt_table *ops = p->ops[phase];
    for (size_t row = 0; row < ops->row_count; row++) {
        double ms = value_at(ops, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS, row);
        add_bar(&b, text_at(ops, GT_COL_NAME, row), ms,
                gt_format("%.3g ms (%.1f %%)", ms, value_at(ops, GT_COL_PERCENTAGE_PCT, row)));
    }
    return b;
}

static bars by_count(const plots *p, size_t phase)
{
    bars b = {0};
    const gt_table *ops = p->ops[phase];
    for (size_t row = 0; row < ops->row_count; row++) {
        double count = value_at(ops, GT_COL_COUNT_TITLE, row);
        add_bar(&b, text_at(ops, GT_COL_NAME, row), count, gt_format("%.0f", count));
    }
    return b;
}

/* Sums of times by category. */
typedef struct category_sums {
    bars found;
    gt_interner *names;
    double all_ms;
} category_sums;

static void add_category(category_sums *sums, gt_str name, double ms)
{
    if (!name.len) name = (gt_str){"(none)", strlen("(none)")};
    uint32_t id = gt_interner_add(sums->names, name.bytes, name.len) - (GT_STR_EMPTY + 1);
    if (id == sums->found.count) add_bar(&sums->found, name, 0, NULL);
    sums->found.items[id].value += ms;
    sums->all_ms += ms;
}

static void add_categories_of_kernels(category_sums *sums, const gt_table *kernels)
{
    gt_inference_categories *categories = gt_inference_categories_new();
    for (size_t row = 0; row < kernels->row_count; row++) {
        const char *name = gt_inference_category(categories, text_at(kernels, GT_COL_KERNEL_NAME, row));
        add_category(sums, (gt_str){name, strlen(name)},
                     value_at(kernels, GT_COL_KERNEL_DURATION_US_SUM, row) / 1000);
    }
    gt_inference_categories_free(categories);
}

/* Of each kernel if the report has kernel sheets. The sheets of ops have only the categories of all kernels
 * of an op together. */
static bars by_category(const plots *p, size_t phase)
{
    category_sums sums = {.names = gt_interner_new()};
    const gt_table *ops = p->ops[phase];
    if (p->kernels[phase])
        add_categories_of_kernels(&sums, p->kernels[phase]);
    else
        for (size_t row = 0; row < ops->row_count; row++)
            add_category(&sums, text_at(ops, GT_COL_KERNEL_CATEGORIES, row),
                         value_at(ops, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS, row));
    for (size_t i = 0; i < sums.found.count; i++) {
        bar *one = &sums.found.items[i];
        one->text = gt_format("%.3g ms (%.1f %%)", one->value,
                              sums.all_ms > 0 ? 100 * one->value / sums.all_ms : 0.0);
    }
    gt_interner_free(sums.names);
    return sums.found;
}

/* ---- the plots ---- */

static bool draw_panels(const plots *p, const char *name, const char *title, const char *what,
                        collector *collect, gt_error *error)
{
    gt_figure *figure = new_figure(p, FIGURE_HEIGHT, title, error);
    if (!figure) return false;
    double width = gt_figure_width(figure), height = gt_figure_height(figure);
    double left = 0;
    for (size_t i = 0; i < PHASES; i++) {
        bars b = p->ops[i] ? collect(p, i) : (bars){0};
        double share = !p->ops[i]                ? EMPTY_PANEL_SHARE
                       : !p->ops[PHASES - 1 - i] ? 1 - EMPTY_PANEL_SHARE
                                                 : 1.0 / PHASES;
        char *heading = gt_format("%s: %s", phases[i].title, what);
        keep_largest(&b);
        for (size_t k = 0; k < b.count; k++) b.items[k].colour = phases[i].colour;
        draw_bars(figure, (gt_point){left, MARGIN}, (gt_point){left + width * share, height}, heading, &b);
        left += width * share;
        gt_free(heading);
        bars_free(&b);
    }
    return write(p, figure, name, error);
}

enum { TIME, LAUNCHES, NAMES, TOTALS };

typedef struct totals {
    double values[TOTALS];
} totals;

static totals totals_of(const gt_table *ops)
{
    return (totals){{sum_of(ops, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS), sum_of(ops, GT_COL_COUNT_TITLE),
                     ops ? (double)ops->row_count : 0}};
}

static void add_launches(gt_map *launches, const gt_table *ops, int64_t sign)
{
    const gt_column *names = ops ? gt_table_column_of(ops, GT_COL_NAME, GT_TYPE_STRING) : NULL;
    for (size_t row = 0; ops && row < ops->row_count; row++) {
        uint32_t *count = gt_map_put(launches, names->texts[row], 0);
        if (*count == GT_MAP_NONE) *count = 0;
        *count += (uint32_t)(sign * (int64_t)value_at(ops, GT_COL_COUNT_TITLE, row));
    }
}

/* What the ops without a phase have; all 0 if that is unknown. */
static totals totals_of_rest(const plots *p)
{
    totals rest = {0};
    if (!p->all_ops) return rest;
    gt_map launches = {0}; /* by op name: those without a phase */
    add_launches(&launches, p->all_ops, 1);
    for (size_t i = 0; i < PHASES; i++) add_launches(&launches, p->ops[i], -1);
    const gt_column *names = gt_table_column_of(p->all_ops, GT_COL_NAME, GT_TYPE_STRING);
    for (size_t row = 0; row < p->all_ops->row_count; row++) {
        uint32_t *count = gt_map_put(&launches, names->texts[row], 0);
        rest.values[LAUNCHES] += *count;
        rest.values[NAMES] += *count > 0;
        *count = 0; /* a name may have several rows */
    }
    gt_map_free(&launches);
    if (rest.values[LAUNCHES] > 0)
        rest.values[TIME] = fmax(0, sum_of(p->all_ops, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS) -
                                        sum_of(p->ops[PREFILL], GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS) -
                                        sum_of(p->ops[DECODE], GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS));
    return rest;
}

static bool draw_overview(const plots *p, gt_error *error)
{
    gt_figure *figure = new_figure(p, OVERVIEW_HEIGHT, "Phases of inference", error);
    if (!figure) return false;
    static const char *const titles[TOTALS] = {"Kernel time", "Launches", "Op names"};
    double width = gt_figure_width(figure), height = gt_figure_height(figure), all_ms = 0;
    totals of[PHASES + 1];
    for (size_t i = 0; i < PHASES; i++) of[i] = totals_of(p->ops[i]);
    of[PHASES] = totals_of_rest(p);
    size_t shown = of[PHASES].values[LAUNCHES] > 0 ? PHASES + 1 : PHASES;
    for (size_t i = 0; i < shown; i++) all_ms += of[i].values[TIME];
    for (size_t panel = 0; panel < TOTALS; panel++) {
        bars b = {0};
        for (size_t i = 0; i < shown; i++) {
            const char *name = i < PHASES ? phases[i].title : "No phase";
            double value = of[i].values[panel];
            char *text = panel != TIME
                             ? gt_format("%.0f", value)
                             : gt_format("%.3g ms (%.1f %%)", value, all_ms > 0 ? 100 * value / all_ms : 0.0);
            add_bar(&b, (gt_str){name, strlen(name)}, value, text);
            b.items[i].colour = i < PHASES ? phases[i].colour : REST_COLOUR;
        }
        draw_bars(figure, (gt_point){width / TOTALS * (double)panel, MARGIN},
                  (gt_point){width / TOTALS * (double)(panel + 1), height}, titles[panel], &b);
        bars_free(&b);
    }
    return write(p, figure, "phase_overview", error);
}

static bool draw_distributions(const plots *p, gt_error *error)
{
    gt_figure *figure = new_figure(p, FIGURE_HEIGHT, "Distribution of kernel times", error);
    if (!figure) return false;
    gt_x_tick ticks[PHASES];
    gt_axis_range range = {INFINITY, -INFINITY};
    double *values[PHASES] = {0};
    for (size_t i = 0; i < PHASES; i++) {
        size_t count = p->ops[i] ? p->ops[i]->row_count : 0;
        ticks[i] = (gt_x_tick){(double)i + 1, phases[i].title};
        values[i] = gt_alloc(count * sizeof *values[i]);
        for (size_t row = 0; row < count; row++) {
            values[i][row] = value_at(p->ops[i], GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM, row) /
                             value_at(p->ops[i], GT_COL_COUNT_TITLE, row);
            gt_axis_range_add(&range, values[i][row]);
        }
    }
    const gt_axes_text text = {.title = "Mean kernel time per launch of each op",
                               .x_label = "",
                               .y_label = "microseconds",
                               .x_ticks = ticks,
                               .x_tick_count = PHASES,
                               .only_horizontal_grid = true};
    gt_axes axes =
        gt_axes_draw(figure, (gt_point){MARGIN, 2 * MARGIN},
                     (gt_point){gt_figure_width(figure) - MARGIN, gt_figure_height(figure) - MARGIN},
                     (gt_axis_range){0.5, PHASES + 0.5}, gt_axis_range_widened(range), &text);
    for (size_t i = 0; i < PHASES; i++) {
        if (p->ops[i] && p->ops[i]->row_count) {
            gt_box box = gt_box_of(values[i], p->ops[i]->row_count);
            gt_plot_box(&axes, (double)i + 1, &box, (gt_paint){phases[i].colour, 0.6});
            gt_box_free(&box);
        }
        gt_free(values[i]);
    }
    return write(p, figure, "time_distributions", error);
}

static size_t step_phase(const gt_table *steps, size_t row)
{
    gt_str phase = text_at(steps, GT_COL_PHASE, row);
    size_t i = 0;
    while (i < STEP_UNKNOWN && !gt_str_equals(phase, step_phases[i].name)) i++;
    return i;
}

/* One bar per step. Of very many steps, each pixel column shows the longest. */
static void draw_step_bars(const gt_axes *axes, const gt_table *steps, size_t count)
{
    enum { COLUMNS_MAX = 1200 };
    size_t columns = count < COLUMNS_MAX ? count : COLUMNS_MAX;
    for (size_t c = 0; c < columns; c++) {
        size_t begin = c * count / columns, end = (c + 1) * count / columns, longest = begin;
        for (size_t row = begin; row < end; row++)
            if (value_at(steps, GT_COL_GPU_TIME_US, row) > value_at(steps, GT_COL_GPU_TIME_US, longest))
                longest = row;
        gt_point foot = gt_axes_place(axes, (double)begin - 0.4, 0);
        gt_point top =
            gt_axes_place(axes, (double)end - 0.6, value_at(steps, GT_COL_GPU_TIME_US, longest) / 1000);
        gt_figure_rectangle(axes->figure, foot, top,
                            (gt_paint){step_phases[step_phase(steps, longest)].colour, 0.9}, (gt_stroke){0});
    }
}

/* The phases that occur. */
static void draw_step_legend(gt_figure *figure, const gt_table *steps, size_t count)
{
    static const gt_font font = {12, false, {0x262626, 1}};
    double x = gt_figure_width(figure) - 4 * MARGIN, y = MARGIN;
    bool occurs[STEP_PHASES] = {0};
    for (size_t row = 0; row < count; row++) occurs[step_phase(steps, row)] = true;
    for (size_t i = STEP_PHASES; i-- > 0;) {
        if (!occurs[i]) continue;
        double width = gt_figure_text_width(figure, step_phases[i].title, font);
        gt_figure_text(figure, (gt_point){x, y}, step_phases[i].title, font, (gt_anchor){1, 0.45, false});
        gt_figure_rectangle(figure, (gt_point){x - width - 18, y - 5}, (gt_point){x - width - 6, y + 6},
                            (gt_paint){step_phases[i].colour, 0.9}, (gt_stroke){0});
        x -= width + 34;
    }
}

static bool draw_steps(const plots *p, gt_error *error)
{
    const gt_table *steps = p->steps;
    size_t count = steps->row_count;
    while (count && gt_column_is_null(gt_table_column(steps, GT_COL_STEP), count - 1)) count--; /* outside */
    if (!count) return true;
    gt_figure *figure = new_figure(p, FIGURE_HEIGHT, "Steps", error);
    if (!figure) return false;
    gt_axis_range range = {0, 0};
    for (size_t row = 0; row < count; row++)
        gt_axis_range_add(&range, value_at(steps, GT_COL_GPU_TIME_US, row) / 1000);
    if (range.high == 0) range.high = 1;
    range.high *= 1.05;
    gt_ticks places = gt_ticks_of(0, (double)count - 1, 12);
    gt_x_tick ticks[12] = {{0, "0"}};
    char labels[12][GT_TICK_TEXT];
    size_t tick_count = 0;
    for (size_t i = 0; i < places.count && i < GT_LENGTH(ticks); i++) {
        double at = gt_tick_value(&places, i);
        if (at != trunc(at)) continue;
        snprintf(labels[tick_count], sizeof labels[tick_count], "%.0f", at);
        ticks[tick_count] = (gt_x_tick){at, labels[tick_count]};
        tick_count++;
    }
    const gt_axes_text text = {.title = "GPU time of each step",
                               .x_label = "step",
                               .y_label = "milliseconds",
                               .x_ticks = ticks,
                               .x_tick_count = tick_count ? tick_count : 1,
                               .only_horizontal_grid = true};
    gt_axes axes =
        gt_axes_draw(figure, (gt_point){MARGIN, 2 * MARGIN},
                     (gt_point){gt_figure_width(figure) - MARGIN, gt_figure_height(figure) - MARGIN},
                     (gt_axis_range){-0.6, (double)count - 0.4}, range, &text);
    draw_step_bars(&axes, steps, count);
    draw_step_legend(figure, steps, count);
    return write(p, figure, "phase_steps", error);
}

bool gt_phase_plots_draw(const gt_table_list *tables, const char *folder, gt_figure_format format,
                         int64_t dots_per_inch, gt_output *output, gt_error *error)
{
    plots p = {.all_ops = gt_table_list_find(tables, GT_SHEET_OPS_SUMMARY),
               .steps = gt_table_list_find(tables, GT_SHEET_INFERENCE_PHASES),
               .folder = folder,
               .format = format,
               .dots_per_inch = dots_per_inch,
               .output = output};
    for (size_t i = 0; i < PHASES; i++) {
        p.ops[i] = gt_table_list_find(tables, phases[i].ops);
        p.kernels[i] = gt_table_list_find(tables, phases[i].kernels);
    }
    if (!p.ops[PREFILL] && !p.ops[DECODE]) {
        gt_warn("--generate_plots: no op has a phase; nothing to draw");
        return true;
    }
    return draw_overview(&p, error) &&
           draw_panels(&p, "performance_bottlenecks", "Ops with the most kernel time", "kernel time", by_time,
                       error) &&
           draw_panels(&p, "operation_frequencies", "Ops with the most launches", "launches", by_count,
                       error) &&
           draw_panels(&p, "detailed_breakdowns", "Kernel time by kernel categories", "kernel time",
                       by_category, error) &&
           draw_distributions(&p, error) && (!p.steps || draw_steps(&p, error));
}
