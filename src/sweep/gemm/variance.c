/* `sweep plot`: groups the time differences by threads, channels and rank, and draws five plots. */
#include "sweep/gemm/gemm.h"
#include "base/log.h"
#include "base/memory.h"
#include "output/figure/figure.h"
#include "schema/columns.h"
#include "table/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- rows ---- */

enum { PAIRS_MAX = 1000000 }; /* combinations of threads and channels */

static const gt_col KEY_COLUMNS[GT_VARIANCE_KEYS] = {GT_COL_THREADS, GT_COL_CHANNEL, GT_COL_RANK};
#define TIME_COLUMN GT_COL_TIME_DIFF_US
static const double LONGEST_US = 1e15; /* thirty years: longer values are not times between two kernels */
enum { WARNINGS_MAX = 10 };

/* ---- cells ---- */

static bool text_number(gt_str text, double *number)
{
    char *end;
    *number = strtod(text.bytes, &end);
    while (*end == ' ') end++;
    return text.len && end == text.bytes + text.len;
}

static bool cell_number(const gt_table *table, size_t column, size_t row, double *number)
{
    const gt_column *c = &table->columns[column];
    if (gt_column_is_null(c, row)) return false;
    switch (c->type) {
    case GT_TYPE_INT:
        *number = (double)c->ints[row];
        return true;
    case GT_TYPE_FLOAT:
        *number = c->floats[row];
        return true;
    case GT_TYPE_STRING:
        return text_number(gt_interner_get(table->strings, c->texts[row]), number);
    default:
        return false;
    }
}

static bool read_row(const gt_table *table, const size_t *columns, size_t row, gt_variance_row *out,
                     gt_error *error)
{
    for (size_t k = 0; k < GT_VARIANCE_KEYS; k++) {
        double number;
        if (!cell_number(table, columns[k], row, &number) || number != floor(number) ||
            !(fabs(number) <= 1e15))
            return gt_fail(error, "%s is not an integer", KEY_COLUMNS[k].name);
        out->keys[k] = (int64_t)number;
    }
    if (!cell_number(table, columns[GT_VARIANCE_KEYS], row, &out->time_diff_us) ||
        !(fabs(out->time_diff_us) <= LONGEST_US))
        return gt_fail(error, "%s is not a time", TIME_COLUMN.name);
    return true;
}

/* ---- groups ---- */

typedef struct keyed {
    int64_t key;
    size_t row;
} keyed;

static int compare_keyed(const void *a, const void *b)
{
    const keyed *left = a, *right = b;
    if (left->key != right->key) return left->key < right->key ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

static void group_rows(const gt_variance_rows *rows, gt_variance_key by, gt_variance_groups *groups)
{
    keyed *order = gt_alloc(rows->count * sizeof *order);
    for (size_t i = 0; i < rows->count; i++) order[i] = (keyed){rows->items[i].keys[by], i};
    qsort(order, rows->count, sizeof *order, compare_keyed);
    groups->values_us = gt_alloc(rows->count * sizeof *groups->values_us);
    for (size_t i = 0; i < rows->count; i++) {
        groups->values_us[i] = rows->items[order[i].row].time_diff_us;
        if (!groups->count || groups->items[groups->count - 1].key != order[i].key) {
            gt_variance_group group = {.key = order[i].key, .values_us = groups->values_us + i};
            GT_PUSH(groups->items, groups->count, groups->capacity, group);
        }
        groups->items[groups->count - 1].count++;
    }
    gt_free(order);
}

static size_t group_of(const gt_variance_groups *groups, int64_t key)
{
    size_t low = 0, high = groups->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (groups->items[middle].key <= key)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static double *variance_means(const gt_variance_rows *rows)
{
    size_t channels = rows->by[GT_BY_CHANNELS].count, pairs = rows->by[GT_BY_THREADS].count * channels;
    double *means = gt_alloc_zero(pairs, sizeof *means);
    size_t *counts = gt_alloc_zero(pairs, sizeof *counts);
    for (size_t i = 0; i < rows->count; i++) {
        size_t pair = group_of(&rows->by[GT_BY_THREADS], rows->items[i].keys[GT_BY_THREADS]) * channels +
                      group_of(&rows->by[GT_BY_CHANNELS], rows->items[i].keys[GT_BY_CHANNELS]);
        means[pair] += rows->items[i].time_diff_us;
        counts[pair]++;
    }
    for (size_t i = 0; i < pairs; i++) means[i] = counts[i] ? means[i] / (double)counts[i] : NAN;
    gt_free(counts);
    return means;
}

/* ---- all rows ---- */

static bool find_columns(const gt_table *table, const char *name, size_t *columns, gt_error *error)
{
    for (size_t k = 0; k <= GT_VARIANCE_KEYS; k++) {
        gt_col wanted = k < GT_VARIANCE_KEYS ? KEY_COLUMNS[k] : TIME_COLUMN;
        columns[k] = gt_table_find(table, wanted);
        if (columns[k] == SIZE_MAX) return gt_fail(error, "%s: no column %s", name, wanted.name);
    }
    return true;
}

bool gt_variance_rows_of(const gt_table *table, const char *name, gt_variance_rows *rows, gt_error *error)
{
    size_t columns[GT_VARIANCE_KEYS + 1], skipped = 0;
    *rows = (gt_variance_rows){0};
    if (!find_columns(table, name, columns, error)) return false;
    for (size_t i = 0; i < table->row_count; i++) {
        gt_variance_row row;
        gt_error reason;
        if (read_row(table, columns, i, &row, &reason))
            GT_PUSH(rows->items, rows->count, rows->capacity, row);
        else if (skipped++ < WARNINGS_MAX)
            gt_warn("Skipping row due to error: %s, row %zu: %s", name, i + 1, reason.text);
    }
    if (skipped > WARNINGS_MAX) gt_warn("%s: %zu rows were skipped in total", name, skipped);
    if (!rows->count) return gt_fail(error, "%s: no row has threads, channel, rank and time_diff_us", name);
    for (gt_variance_key by = 0; by < GT_VARIANCE_KEYS; by++) group_rows(rows, by, &rows->by[by]);
    size_t threads = rows->by[GT_BY_THREADS].count, channels = rows->by[GT_BY_CHANNELS].count;
    return threads <= PAIRS_MAX / channels ||
           gt_fail(error, "%s: %zu values of threads and %zu of channels are too many to plot", name, threads,
                   channels);
}

void gt_variance_rows_free(gt_variance_rows *rows)
{
    for (size_t by = 0; by < GT_VARIANCE_KEYS; by++) {
        gt_free(rows->by[by].items);
        gt_free(rows->by[by].values_us);
    }
    gt_free(rows->items);
    *rows = (gt_variance_rows){0};
}

/* ---- printing ---- */

static double in_order_mean(const gt_variance_group *group)
{
    double sum = 0;
    for (size_t i = 0; i < group->count; i++) sum += group->values_us[i];
    return sum / (double)group->count;
}

static double greatest(const gt_variance_group *group)
{
    double most = group->values_us[0];
    for (size_t i = 1; i < group->count; i++) most = fmax(most, group->values_us[i]);
    return most;
}

void gt_variance_rows_print(FILE *file, const gt_variance_rows *rows)
{
    static const struct {
        const char *heading, *before, *after; /* before and after the key */
    } kinds[GT_VARIANCE_KEYS] = {
        {"By Thread Count", "", " threads"}, {"By Channel Count", "", "ch"}, {"By Rank", "Rank ", ""}};
    for (size_t by = 0; by < GT_VARIANCE_KEYS; by++) {
        fprintf(file, "%s%s:\n", by ? "\n" : "", kinds[by].heading);
        for (size_t i = 0; i < rows->by[by].count; i++) {
            const gt_variance_group *group = &rows->by[by].items[i];
            fprintf(file, "  %s%" PRId64 "%s: mean=%.2fus, median=%.2fus, max=%.2fus, n=%zu\n",
                    kinds[by].before, group->key, kinds[by].after, in_order_mean(group),
                    gt_median(group->values_us, group->count), greatest(group), group->count);
        }
    }
}

/* ---- plots ---- */

const char *const gt_variance_plot_files[GT_VARIANCE_PLOTS] = {
    "variance_by_threads_boxplot.png", "variance_by_channels_boxplot.png", "variance_by_ranks_boxplot.png",
    "variance_violin_combined.png", "variance_thread_channel_interaction.png"};
enum { VIOLIN_FILE = 3, INTERACTION_FILE = 4 };

static const char Y_LABEL[] = "Time Difference (us)";

static const uint32_t THREAD_FILLS[] = {0xadd8e6, 0xf08080};
static const uint32_t CHANNEL_FILLS[] = {0xe6f2ff, 0x99ccff, 0x4da6ff, 0x0073e6};

/* One box plot and one panel of the violin plots, which show the same groups. */
typedef struct kind {
    double box_width_inches;
    const char *box_label, *box_x_label, *box_title; /* a label is printed with the key of the group */
    const char *violin_label, *violin_x_label, *violin_title;
    uint32_t violin_fill;
    const uint32_t *fills; /* first and last; NULL: a colour scale */
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

/* Groups are at 0, 1, 2 and so on, with half a unit of space at both ends. */
static gt_axis_range range_of_groups(const gt_variance_groups *groups)
{
    return (gt_axis_range){-0.5, (double)groups->count - 0.5};
}

static bool write_figure(gt_figure *figure, const char *folder, size_t file, gt_output *output,
                         gt_error *error)
{
    char *path = gt_format("%s/%s", folder, gt_variance_plot_files[file]);
    bool written = gt_figure_write(figure, output, path, error);
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
        figure, (gt_point){0, 0}, (gt_point){gt_figure_width(figure), gt_figure_height(figure)},
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
        figure, (gt_point){width * (double)by, top},
        (gt_point){width * (double)(by + 1), gt_figure_height(figure)}, range_of_groups(groups),
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
    gt_figure_text(figure, (gt_point){gt_figure_width(figure) / 2, pad},
                   "GEMM Kernel Time Variance Distribution", GT_FIGURE_TITLE_FONT,
                   (gt_anchor){0.5, 0, false});
    for (gt_variance_key by = 0; by < GT_VARIANCE_KEYS; by++)
        draw_violin_panel(figure, rows, by, pad + title_height + pad);
    return write_figure(figure, folder, VIOLIN_FILE, output, error);
}

/* ---- interaction of threads and channels ---- */

typedef struct interaction {
    int64_t *channels;
    size_t channel_count;
    gt_point *points; /* of all series, one after the other */
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
    gt_point *points = in->points + index * in->channel_count;
    means += index * channels->count;
    for (size_t c = 0; c < in->channel_count; c++) {
        double mean = as_reference ? mean_of(channels, means, in->channels[c]) : means[c];
        points[c] = (gt_point){(double)in->channels[c], isnan(mean) && as_reference ? 0 : mean};
        gt_axis_range_add(&in->x, points[c].x);
        gt_axis_range_add(&in->y, points[c].y); /* NaN is skipped */
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
    double *means = variance_means(rows);
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
    gt_axes axes = gt_axes_draw(figure, (gt_point){0, 0},
                                (gt_point){gt_figure_width(figure), gt_figure_height(figure)}, in.x, in.y,
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
