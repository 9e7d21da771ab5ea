/* `sweep plot`: draws boxes per axis, violins of all axes, and the mean per combination of two axes. */
#include "output/figure/figure.h"
#include "sweep/gemm/gemm.h"

static const char Y_LABEL[] = "Time Difference (us)";
static const double VIOLIN_INCHES = 20.0 / 3; /* width of a panel */
enum { LABEL_LETTERS = 24, NAME_BYTES = 64, PLOT_PANELS_MAX = 6 };

static const uint32_t THREAD_FILLS[] = {0xadd8e6, 0xf08080};
static const uint32_t CHANNEL_FILLS[] = {0xe6f2ff, 0x99ccff, 0x4da6ff, 0x0073e6};

/* How the groups of an axis are drawn. Texts of other axes are made of their names. */
typedef struct kind {
    double box_width_inches;
    const char *box_before, *box_after, *box_x_label,
        *box_title; /* a label has the value between two texts */
    const char *violin_before, *violin_after, *violin_x_label, *violin_title;
    uint32_t violin_fill;
    const uint32_t *fills; /* first and last; NULL: a colour scale */
    size_t fill_count;
    const char *file, *heading;
} kind;

static const kind KINDS[] = {
    [GT_BY_THREADS] = {10, "", " threads", "Thread Configuration",
                       "GEMM Kernel Time Variance by Thread Count", "", "t", "Threads", "By Thread Count",
                       0xadd8e6, THREAD_FILLS, GT_LENGTH(THREAD_FILLS), "variance_by_threads_boxplot.png",
                       "Variance by Thread Count"},
    [GT_BY_CHANNELS] = {12, "", "ch", "Channel Configuration", "GEMM Kernel Time Variance by Channel Count",
                        "", "ch", "Channels", "By Channel Count", 0xf08080, CHANNEL_FILLS,
                        GT_LENGTH(CHANNEL_FILLS), "variance_by_channels_boxplot.png",
                        "Variance by Channel Count"},
    [GT_BY_RANKS] = {14, "Rank ", "", "Rank", "GEMM Kernel Time Variance by Rank", "R", "", "Ranks",
                     "By Rank", 0x90ee90, NULL, 0, "variance_by_ranks_boxplot.png", "Variance by Rank"},
    [GT_BY_OTHER] = {12, "", "", NULL, NULL, "", "", NULL, NULL, 0xdda0dd, NULL, 0, NULL, NULL},
};

/* ---- which plots there are ---- */

/* The name of an axis as a part of a file name. */
static char *file_part(const char *name)
{
    char *part = gt_format("%.*s", (int)NAME_BYTES, name);
    for (char *c = part; *c; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
    return part;
}

static void add_plot(gt_variance_plots *plots, gt_variance_form form, size_t axis, size_t other, char *file,
                     char *title)
{
    gt_variance_plot plot = {form, axis, other, file, title};
    GT_PUSH(plots->items, plots->count, plots->capacity, plot);
}

static void add_boxes(gt_variance_plots *plots, size_t index, gt_variance_kind of, const char *name)
{
    const kind *k = &KINDS[of];
    char *part = file_part(name ? name : "");
    add_plot(plots, GT_PLOT_BOXES, index, 0,
             k->file ? gt_strdup(k->file) : gt_format("variance_by_%s_boxplot.png", part),
             k->heading ? gt_strdup(k->heading) : gt_format("Variance by %s", name));
    gt_free(part);
}

static void add_lines(gt_variance_plots *plots, const gt_variance_rows *rows, size_t a, size_t b)
{
    bool is_classic = rows->axes[a].kind == GT_BY_THREADS && rows->axes[b].kind == GT_BY_CHANNELS;
    char *first = file_part(rows->axes[a].name), *second = file_part(rows->axes[b].name);
    if (is_classic)
        add_plot(plots, GT_PLOT_LINES, a, b, gt_strdup("variance_thread_channel_interaction.png"),
                 gt_strdup("Thread-Channel Interaction"));
    else
        add_plot(plots, GT_PLOT_LINES, a, b, gt_format("variance_%s_%s_interaction.png", first, second),
                 gt_format("Interaction of %s and %s", rows->axes[a].name, rows->axes[b].name));
    gt_free_all(first, second);
}

gt_variance_plots gt_variance_plots_of(const gt_variance_rows *rows)
{
    static const gt_variance_kind classic[] = {GT_BY_THREADS, GT_BY_CHANNELS, GT_BY_RANKS};
    gt_variance_plots plots = {0};
    for (size_t a = 0; rows && a < rows->axis_count; a++)
        add_boxes(&plots, a, rows->axes[a].kind, rows->axes[a].name);
    for (size_t a = 0; !rows && a < GT_LENGTH(classic); a++) add_boxes(&plots, a, classic[a], NULL);
    add_plot(&plots, GT_PLOT_VIOLINS, 0, 0, gt_strdup("variance_violin_combined.png"),
             gt_strdup("Variance Distribution (Violin Plots)"));
    for (size_t a = 0; rows && a + 1 < rows->axis_count; a++)
        for (size_t b = a + 1; b + 1 < rows->axis_count; b++) add_lines(&plots, rows, a, b);
    if (!rows)
        add_plot(&plots, GT_PLOT_LINES, 0, 1, gt_strdup("variance_thread_channel_interaction.png"),
                 gt_strdup("Thread-Channel Interaction"));
    return plots;
}

void gt_variance_plots_free(gt_variance_plots *plots)
{
    for (size_t i = 0; i < plots->count; i++) {
        gt_free_all(plots->items[i].file, plots->items[i].title);
    }
    gt_free(plots->items);
    *plots = (gt_variance_plots){0};
}

/* ---- parts of a plot ---- */

/* A value between two texts, shortened and as valid UTF-8. */
static char *label_of(const char *before, const char *text, const char *after)
{
    gt_buffer scratch = {0}, label = {0};
    gt_str valid = gt_utf8_repair((gt_str){text, strlen(text)}, &scratch);
    const char *end = valid.bytes + valid.len, *at = valid.bytes;
    gt_buffer_add_cstr(&label, before);
    for (size_t letters = 0; at < end && letters < LABEL_LETTERS; letters++) {
        uint32_t letter = gt_utf8_next(&at, end);
        gt_buffer_add_code_point(&label, letter < ' ' ? ' ' : letter);
    }
    gt_buffer_add_cstr(&label, at < end ? "\u2026" : after);
    gt_buffer_free(&scratch);
    return gt_buffer_take(&label);
}

typedef struct tick_labels {
    gt_x_tick *ticks;
    size_t count;
} tick_labels;

/* `by_number`: ticks are at the numbers of the values, else at 0, 1, 2 and so on. */
static tick_labels label_groups(const gt_variance_axis *axis, const char *before, const char *after,
                                bool by_number)
{
    tick_labels labels = {gt_alloc(axis->count * sizeof *labels.ticks), axis->count};
    for (size_t i = 0; i < axis->count; i++)
        labels.ticks[i] = (gt_x_tick){by_number ? axis->items[i].number : (double)i,
                                      label_of(before, axis->items[i].text, after)};
    return labels;
}

static void free_labels(tick_labels *labels)
{
    for (size_t i = 0; i < labels->count; i++) gt_free((char *)(uintptr_t)labels->ticks[i].label);
    gt_free(labels->ticks);
}

static gt_axis_range range_of_values(const gt_variance_rows *rows)
{
    gt_axis_range range = {INFINITY, -INFINITY};
    for (size_t i = 0; i < rows->count; i++) gt_axis_range_add(&range, rows->time_diff_us[i]);
    return gt_axis_range_widened(range);
}

/* Groups are at 0, 1, 2 and so on, with half a unit of space at both ends. */
static gt_axis_range range_of_groups(const gt_variance_axis *axis)
{
    return (gt_axis_range){-0.5, (double)axis->count - 0.5};
}

static bool write_figure(gt_figure *figure, const char *folder, const char *file, gt_output *output,
                         gt_error *error)
{
    char *path = gt_format("%s/%s", folder, file);
    bool written = gt_figure_write(figure, output, path, error);
    gt_figure_free(figure);
    gt_free(path);
    return written;
}

/* ---- boxes and violins ---- */

static bool draw_boxes(const gt_variance_rows *rows, const gt_variance_plot *plot, const char *folder,
                       int64_t dots_per_inch, gt_output *output, gt_error *error)
{
    const gt_variance_axis *axis = &rows->axes[plot->axis];
    const kind *k = &KINDS[axis->kind];
    gt_figure *figure = gt_figure_new(k->box_width_inches, 6, dots_per_inch, error);
    if (!figure) return false;
    tick_labels labels = label_groups(axis, k->box_before, k->box_after, false);
    char *name = label_of("", axis->name, ""), *title = gt_format("GEMM Kernel Time Variance by %s", name);
    gt_axes axes = gt_axes_draw(
        figure, (gt_point){0, 0}, (gt_point){gt_figure_width(figure), gt_figure_height(figure)},
        range_of_groups(axis), range_of_values(rows),
        &(gt_axes_text){k->box_title ? k->box_title : title, k->box_x_label ? k->box_x_label : name, Y_LABEL,
                        labels.ticks, axis->count, false});
    for (size_t i = 0; i < axis->count; i++) {
        gt_box box = gt_box_of(axis->items[i].values_us, axis->items[i].count);
        uint32_t fill =
            k->fills ? k->fills[i % k->fill_count] : gt_scale_colour((double)i / (double)axis->count);
        gt_plot_box(&axes, (double)i, &box, (gt_paint){fill, 1});
        gt_box_free(&box);
    }
    free_labels(&labels);
    gt_free_all(name, title);
    return write_figure(figure, folder, plot->file, output, error);
}

static void draw_violin_panel(gt_figure *figure, const gt_variance_rows *rows, size_t panel, size_t panels,
                              const gt_variance_axis *axis, double top)
{
    const kind *k = &KINDS[axis->kind];
    double width = gt_figure_width(figure) / (double)panels;
    tick_labels labels = label_groups(axis, k->violin_before, k->violin_after, false);
    char *name = label_of("", axis->name, ""), *title = gt_format("By %s", name);
    gt_axes axes = gt_axes_draw(figure, (gt_point){width * (double)panel, top},
                                (gt_point){width * (double)(panel + 1), gt_figure_height(figure)},
                                range_of_groups(axis), range_of_values(rows),
                                &(gt_axes_text){k->violin_title ? k->violin_title : title,
                                                k->violin_x_label ? k->violin_x_label : name, Y_LABEL,
                                                labels.ticks, axis->count, true});
    for (size_t i = 0; i < axis->count; i++) {
        gt_density density = gt_density_of(axis->items[i].values_us, axis->items[i].count);
        gt_plot_violin(&axes, (double)i, &density, (gt_paint){k->violin_fill, 0.7});
    }
    free_labels(&labels);
    gt_free_all(name, title);
}

/* One panel per axis; of very many, the first ones and the rank. */
static bool draw_violins(const gt_variance_rows *rows, const char *folder, const char *file,
                         int64_t dots_per_inch, gt_output *output, gt_error *error)
{
    size_t panels = rows->axis_count < PLOT_PANELS_MAX ? rows->axis_count : PLOT_PANELS_MAX;
    gt_figure *figure =
        gt_figure_new(panels == 3 ? 20 : VIOLIN_INCHES * (double)panels, 6, dots_per_inch, error);
    if (!figure) return false;
    double pad = 8, title_height = gt_figure_text_height(GT_FIGURE_TITLE_FONT);
    gt_figure_text(figure, (gt_point){gt_figure_width(figure) / 2, pad},
                   "GEMM Kernel Time Variance Distribution", GT_FIGURE_TITLE_FONT,
                   (gt_anchor){0.5, 0, false});
    for (size_t i = 0; i < panels; i++) {
        size_t axis = i + 1 == panels ? rows->axis_count - 1 : i;
        draw_violin_panel(figure, rows, i, panels, &rows->axes[axis], pad + title_height + pad);
    }
    return write_figure(figure, folder, file, output, error);
}

/* ---- interaction of two axes ---- */

typedef struct interaction {
    double *places; /* of the values of the other axis, from left to right */
    size_t count;
    gt_point *points; /* of all series, one after the other */
    gt_series *series;
    size_t series_count;
    gt_axis_range x, y;
} interaction;

static const double REFERENCE_CHANNELS[] = {28, 42, 56, 70};

/* The mean of each pair of groups; NaN if there are no rows. */
static double *pair_means(const gt_variance_rows *rows, const gt_variance_axis *axis,
                          const gt_variance_axis *other)
{
    size_t pairs = axis->count * other->count;
    double *means = gt_alloc_zero(pairs, sizeof *means);
    size_t *counts = gt_alloc_zero(pairs, sizeof *counts);
    for (size_t i = 0; i < rows->count; i++) {
        size_t pair = axis->of_row[i] * other->count + other->of_row[i];
        means[pair] += rows->time_diff_us[i];
        counts[pair]++;
    }
    for (size_t i = 0; i < pairs; i++) means[i] = counts[i] ? means[i] / (double)counts[i] : NAN;
    gt_free(counts);
    return means;
}

static void choose_places(interaction *in, const gt_variance_axis *other, bool as_reference)
{
    in->count = as_reference ? GT_LENGTH(REFERENCE_CHANNELS) : other->count;
    in->places = gt_alloc(in->count * sizeof *in->places);
    for (size_t i = 0; i < in->count; i++)
        in->places[i] = as_reference ? REFERENCE_CHANNELS[i] : other->items[i].number;
}

/* The mean of a channel among those of one thread value, which are in the order of the groups. */
static double mean_of(const gt_variance_axis *other, const double *means, double channel)
{
    for (size_t i = 0; i < other->count; i++)
        if (other->items[i].number == channel) return means[i];
    return NAN;
}

static void fill_series(interaction *in, size_t index, const gt_variance_axis *axis,
                        const gt_variance_axis *other, const double *means, bool as_reference)
{
    const gt_variance_group *group = &axis->items[index];
    const kind *k = &KINDS[axis->kind];
    gt_point *points = in->points + index * in->count;
    means += index * other->count;
    for (size_t c = 0; c < in->count; c++) {
        double mean = as_reference ? mean_of(other, means, in->places[c]) : means[c];
        points[c] = (gt_point){in->places[c], isnan(mean) && as_reference ? 0 : mean};
        gt_axis_range_add(&in->x, points[c].x);
        gt_axis_range_add(&in->y, points[c].y); /* NaN is skipped */
    }
    bool is_round = axis->kind == GT_BY_THREADS ? group->number == 256 : index % 2 == 0;
    in->series[index] = (gt_series){label_of(k->box_before, group->text, k->box_after), points, in->count,
                                    gt_series_colour(index), is_round ? GT_MARKER_CIRCLE : GT_MARKER_SQUARE};
}

static interaction make_interaction(const gt_variance_rows *rows, const gt_variance_axis *axis,
                                    const gt_variance_axis *other, bool as_reference)
{
    interaction in = {.series_count = axis->count, .x = {INFINITY, -INFINITY}, .y = {INFINITY, -INFINITY}};
    choose_places(&in, other, as_reference);
    in.points = gt_alloc(in.series_count * in.count * sizeof *in.points);
    in.series = gt_alloc(in.series_count * sizeof *in.series);
    double *means = pair_means(rows, axis, other);
    for (size_t t = 0; t < in.series_count; t++) fill_series(&in, t, axis, other, means, as_reference);
    gt_free(means);
    in.x = gt_axis_range_widened(in.x);
    in.y = gt_axis_range_widened(in.y);
    return in;
}

static void free_interaction(interaction *in)
{
    for (size_t t = 0; t < in->series_count; t++) gt_free((char *)(uintptr_t)in->series[t].name);
    gt_free_all(in->places, in->points, in->series);
}

static tick_labels label_places(const interaction *in, const gt_variance_axis *other, bool as_reference)
{
    const kind *k = &KINDS[other->kind];
    if (!as_reference) return label_groups(other, k->box_before, k->box_after, true);
    tick_labels labels = {gt_alloc(in->count * sizeof *labels.ticks), in->count};
    for (size_t c = 0; c < in->count; c++)
        labels.ticks[c] = (gt_x_tick){in->places[c], gt_format("%.0fch", in->places[c])};
    return labels;
}

static bool draw_interaction(const gt_variance_rows *rows, const gt_variance_plot *plot, const char *folder,
                             int64_t dots_per_inch, bool as_reference, gt_output *output, gt_error *error)
{
    const gt_variance_axis *axis = &rows->axes[plot->axis], *other = &rows->axes[plot->other];
    bool is_classic = axis->kind == GT_BY_THREADS && other->kind == GT_BY_CHANNELS;
    gt_figure *figure = gt_figure_new(12, 7, dots_per_inch, error);
    if (!figure) return false;
    as_reference = as_reference && is_classic;
    interaction in = make_interaction(rows, axis, other, as_reference);
    tick_labels labels = label_places(&in, other, as_reference);
    char *first = label_of("", axis->name, ""), *second = label_of("", other->name, "");
    char *title = is_classic ? gt_strdup("Thread-Channel Interaction: Mean Variance")
                             : gt_format("Interaction of %s and %s: Mean Variance", first, second);
    gt_axes axes = gt_axes_draw(figure, (gt_point){0, 0},
                                (gt_point){gt_figure_width(figure), gt_figure_height(figure)}, in.x, in.y,
                                &(gt_axes_text){title, is_classic ? "Channel Count" : second,
                                                "Mean Time Difference (us)", labels.ticks, in.count, false});
    for (size_t t = 0; t < in.series_count; t++) gt_plot_series(&axes, &in.series[t]);
    gt_plot_legend(&axes, in.series, in.series_count);
    free_labels(&labels);
    free_interaction(&in);
    gt_free_all(first, second, title);
    return write_figure(figure, folder, plot->file, output, error);
}

bool gt_variance_plots_draw(const gt_variance_rows *rows, const char *folder, int64_t dots_per_inch,
                            bool as_reference, gt_output *output, gt_error *error)
{
    gt_variance_plots plots = gt_variance_plots_of(rows);
    bool drawn = true;
    for (size_t i = 0; i < plots.count && drawn; i++) {
        const gt_variance_plot *plot = &plots.items[i];
        if (plot->form == GT_PLOT_BOXES)
            drawn = draw_boxes(rows, plot, folder, dots_per_inch, output, error);
        else if (plot->form == GT_PLOT_VIOLINS)
            drawn = draw_violins(rows, folder, plot->file, dots_per_inch, output, error);
        else
            drawn = draw_interaction(rows, plot, folder, dots_per_inch, as_reference, output, error);
    }
    gt_variance_plots_free(&plots);
    return drawn;
}
