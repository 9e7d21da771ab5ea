/* Draws the five plots, each a row of a table; see variance_plots.h. */
#include "sweep/compare/variance_plots.h"
#include "base/length.h"
#include "base/memory.h"
#include "output/figure/plots.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

const char *const gt_variance_plot_files[GT_VARIANCE_PLOTS] = {
    "variance_by_threads_boxplot.png", "variance_by_channels_boxplot.png", "variance_by_ranks_boxplot.png",
    "variance_violin_combined.png", "variance_thread_channel_interaction.png"};
enum { VIOLIN_FILE = 3, INTERACTION_FILE = 4 };

static const char Y_LABEL[] = "Time Difference (us)";

static const uint32_t THREAD_FILLS[] = {0xadd8e6, 0xf08080};
static const uint32_t CHANNEL_FILLS[] = {0xe6f2ff, 0x99ccff, 0x4da6ff, 0x0073e6};

/* One box plot and one panel of the violins: the same groups. */
typedef struct kind {
    double box_width_inches;
    const char *box_label, *box_x_label, *box_title; /* a label is printed with the group's key */
    const char *violin_label, *violin_x_label, *violin_title;
    uint32_t violin_fill;
    const uint32_t *fills; /* around and around; NULL: a scale of colours */
    size_t fill_count;
} kind;

static const kind KINDS[GT_VARIANCE_KEYS] = {
    {10, "%" PRId64 " threads", "Thread Configuration", "GEMM Kernel Time Variance by Thread Count",
     "%" PRId64 "t", "Threads", "By Thread Count", 0xadd8e6, THREAD_FILLS, GT_LENGTH(THREAD_FILLS)},
    {12, "%" PRId64 "ch", "Channel Configuration", "GEMM Kernel Time Variance by Channel Count",
     "%" PRId64 "ch", "Channels", "By Channel Count", 0xf08080, CHANNEL_FILLS, GT_LENGTH(CHANNEL_FILLS)},
    {14, "Rank %" PRId64, "Rank", "GEMM Kernel Time Variance by Rank", "R%" PRId64, "Ranks", "By Rank",
     0x90ee90, NULL, 0},
};

/* ---- parts of a plot ---- */

typedef struct tick_labels {
    gt_x_tick *ticks;
    char (*texts)[32];
} tick_labels;

static char *print_key(char text[32], const char *format, int64_t key)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, 32, format, key);
#pragma GCC diagnostic pop
    return text;
}

static tick_labels label_groups(const gt_variance_groups *groups, const char *format)
{
    tick_labels labels = {gt_alloc(groups->count * sizeof *labels.ticks),
                          gt_alloc(groups->count * sizeof *labels.texts)};
    for (size_t i = 0; i < groups->count; i++)
        labels.ticks[i] = (gt_x_tick){(double)i, print_key(labels.texts[i], format, groups->items[i].key)};
    return labels;
}

static void free_labels(tick_labels *labels)
{
    gt_free(labels->ticks);
    gt_free(labels->texts);
}

static gt_axis_range range_of_values(const gt_variance_rows *rows)
{
    gt_axis_range range = {INFINITY, -INFINITY};
    for (size_t i = 0; i < rows->count; i++) gt_axis_range_add(&range, rows->items[i].time_diff_us);
    return gt_axis_range_widened(range);
}

/* Groups stand at 0, 1, 2 and so on, half a unit free beside the outermost. */
static gt_axis_range range_of_groups(const gt_variance_groups *groups)
{
    return (gt_axis_range){-0.5, (double)groups->count - 0.5};
}

static bool write_figure(gt_figure *figure, const char *folder, size_t file, gt_output *output,
                         gt_error *error)
{
    char *path = gt_format("%s/%s", folder, gt_variance_plot_files[file]);
    bool written = gt_figure_write_png(figure, output, path, error);
    gt_figure_free(figure);
    gt_free(path);
    return written;
}

/* ---- boxes and violins ---- */

static bool draw_boxes(const gt_variance_rows *rows, gt_variance_key by, const char *folder,
                       int64_t dots_per_inch, gt_output *output, gt_error *error)
{
    const kind *k = &KINDS[by];
    const gt_variance_groups *groups = &rows->by[by];
    gt_figure *figure = gt_figure_new(k->box_width_inches, 6, dots_per_inch, error);
    if (!figure) return false;
    tick_labels labels = label_groups(groups, k->box_label);
    gt_axes axes = gt_axes_draw(
        figure, (gt_place){0, 0}, (gt_place){gt_figure_width(figure), gt_figure_height(figure)},
        range_of_groups(groups), range_of_values(rows),
        &(gt_axes_text){k->box_title, k->box_x_label, Y_LABEL, labels.ticks, groups->count, false});
    for (size_t i = 0; i < groups->count; i++) {
        gt_box box = gt_box_of(groups->items[i].values_us, groups->items[i].count);
        uint32_t fill =
            k->fills ? k->fills[i % k->fill_count] : gt_scale_colour((double)i / (double)groups->count);
        gt_plot_box(&axes, (double)i, &box, (gt_paint){fill, 1});
        gt_box_free(&box);
    }
    free_labels(&labels);
    return write_figure(figure, folder, by, output, error);
}

static void draw_violin_panel(gt_figure *figure, const gt_variance_rows *rows, gt_variance_key by, double top)
{
    const kind *k = &KINDS[by];
    const gt_variance_groups *groups = &rows->by[by];
    double width = gt_figure_width(figure) / GT_VARIANCE_KEYS;
    tick_labels labels = label_groups(groups, k->violin_label);
    gt_axes axes = gt_axes_draw(
        figure, (gt_place){width * (double)by, top},
        (gt_place){width * (double)(by + 1), gt_figure_height(figure)}, range_of_groups(groups),
        range_of_values(rows),
        &(gt_axes_text){k->violin_title, k->violin_x_label, Y_LABEL, labels.ticks, groups->count, true});
    for (size_t i = 0; i < groups->count; i++) {
        gt_density density = gt_density_of(groups->items[i].values_us, groups->items[i].count);
        gt_plot_violin(&axes, (double)i, &density, (gt_paint){k->violin_fill, 0.7});
    }
    free_labels(&labels);
}

static bool draw_violins(const gt_variance_rows *rows, const char *folder, int64_t dots_per_inch,
                         gt_output *output, gt_error *error)
{
    gt_figure *figure = gt_figure_new(20, 6, dots_per_inch, error);
    if (!figure) return false;
    double pad = 8, title_height = gt_figure_text_height(GT_FIGURE_TITLE_FONT);
    gt_figure_text(figure, (gt_place){gt_figure_width(figure) / 2, pad},
                   "GEMM Kernel Time Variance Distribution", GT_FIGURE_TITLE_FONT,
                   (gt_anchor){0.5, 0, false});
    for (gt_variance_key by = 0; by < GT_VARIANCE_KEYS; by++)
        draw_violin_panel(figure, rows, by, pad + title_height + pad);
    return write_figure(figure, folder, VIOLIN_FILE, output, error);
}

/* ---- threads and channels together ---- */

typedef struct interaction {
    int64_t *channels;
    size_t channel_count;
    gt_place *points; /* of all series, one behind the other */
    gt_series *series;
    char (*names)[32];
    size_t series_count;
    gt_axis_range x, y;
} interaction;

static const int64_t REFERENCE_CHANNELS[] = {28, 42, 56, 70};

static void choose_channels(interaction *in, const gt_variance_groups *groups, bool as_reference)
{
    in->channel_count = as_reference ? GT_LENGTH(REFERENCE_CHANNELS) : groups->count;
    in->channels = gt_alloc(in->channel_count * sizeof *in->channels);
    for (size_t i = 0; i < in->channel_count; i++)
        in->channels[i] = as_reference ? REFERENCE_CHANNELS[i] : groups->items[i].key;
}

/* The mean of a channel among those of one thread value, which are in the order of the groups. */
static double mean_of(const gt_variance_groups *groups, const double *means, int64_t channel)
{
    for (size_t i = 0; i < groups->count; i++)
        if (groups->items[i].key == channel) return means[i];
    return NAN;
}

static void fill_series(interaction *in, size_t index, const gt_variance_rows *rows, const double *means,
                        bool as_reference)
{
    const gt_variance_groups *channels = &rows->by[GT_BY_CHANNELS];
    int64_t threads = rows->by[GT_BY_THREADS].items[index].key;
    gt_place *points = in->points + index * in->channel_count;
    means += index * channels->count;
    for (size_t c = 0; c < in->channel_count; c++) {
        double mean = as_reference ? mean_of(channels, means, in->channels[c]) : means[c];
        points[c] = (gt_place){(double)in->channels[c], isnan(mean) && as_reference ? 0 : mean};
        gt_axis_range_add(&in->x, points[c].x);
        gt_axis_range_add(&in->y, points[c].y); /* passes over NaN */
    }
    in->series[index] = (gt_series){print_key(in->names[index], KINDS[GT_BY_THREADS].box_label, threads),
                                    points, in->channel_count, gt_series_colour(index),
                                    threads == 256 ? GT_MARKER_CIRCLE : GT_MARKER_SQUARE};
}

static interaction make_interaction(const gt_variance_rows *rows, bool as_reference)
{
    interaction in = {.series_count = rows->by[GT_BY_THREADS].count,
                      .x = {INFINITY, -INFINITY},
                      .y = {INFINITY, -INFINITY}};
    choose_channels(&in, &rows->by[GT_BY_CHANNELS], as_reference);
    in.points = gt_alloc(in.series_count * in.channel_count * sizeof *in.points);
    in.series = gt_alloc(in.series_count * sizeof *in.series);
    in.names = gt_alloc(in.series_count * sizeof *in.names);
    double *means = gt_variance_means(rows);
    for (size_t t = 0; t < in.series_count; t++) fill_series(&in, t, rows, means, as_reference);
    gt_free(means);
    in.x = gt_axis_range_widened(in.x);
    in.y = gt_axis_range_widened(in.y);
    return in;
}

static bool draw_interaction(const gt_variance_rows *rows, const char *folder, int64_t dots_per_inch,
                             bool as_reference, gt_output *output, gt_error *error)
{
    gt_figure *figure = gt_figure_new(12, 7, dots_per_inch, error);
    if (!figure) return false;
    interaction in = make_interaction(rows, as_reference);
    gt_x_tick *ticks = gt_alloc(in.channel_count * sizeof *ticks);
    char(*texts)[32] = gt_alloc(in.channel_count * sizeof *texts);
    for (size_t c = 0; c < in.channel_count; c++)
        ticks[c] = (gt_x_tick){(double)in.channels[c], print_key(texts[c], "%" PRId64 "ch", in.channels[c])};
    gt_axes axes = gt_axes_draw(figure, (gt_place){0, 0},
                                (gt_place){gt_figure_width(figure), gt_figure_height(figure)}, in.x, in.y,
                                &(gt_axes_text){"Thread-Channel Interaction: Mean Variance", "Channel Count",
                                                "Mean Time Difference (us)", ticks, in.channel_count, false});
    for (size_t t = 0; t < in.series_count; t++) gt_plot_series(&axes, &in.series[t]);
    gt_plot_legend(&axes, in.series, in.series_count);
    gt_free(ticks);
    gt_free(texts);
    gt_free(in.channels);
    gt_free(in.points);
    gt_free(in.series);
    gt_free(in.names);
    return write_figure(figure, folder, INTERACTION_FILE, output, error);
}

bool gt_variance_plots_draw(const gt_variance_rows *rows, const char *folder, int64_t dots_per_inch,
                            bool as_reference, gt_output *output, gt_error *error)
{
    bool drawn = true;
    for (gt_variance_key by = 0; by < GT_VARIANCE_KEYS && drawn; by++)
        drawn = draw_boxes(rows, by, folder, dots_per_inch, output, error);
    return drawn && draw_violins(rows, folder, dots_per_inch, output, error) &&
           draw_interaction(rows, folder, dots_per_inch, as_reference, output, error);
}
