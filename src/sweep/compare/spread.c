/* What the page of several sweeps is drawn from: the rows of `sweep top` of each sweep, which also the plots
 * of `sweep plot` show, and the facts of the first screen: the median time difference of each sweep.
 *
 * A sweep without the CSV file is shown by its plots alone, so a missing or empty file is no error. */
#include "sweep/compare/spread.h"

#include "input/sheets/sheets.h"
#include "os/paths.h"
#include "page/words.h"
#include "schema/page.h"
#include "schema/sheets.h"
#include "table/stats.h"

enum { ROWS_MAX = 50000, TILES_MAX = 5 };

/* ---- tables ---- */

static bool has_bytes(const char *path)
{
    struct stat status;
    return gt_path_is_file(path) && stat(path, &status) == 0 && status.st_size > 0;
}

/* A row of the i-th of `count` equal stretches of the file; not always the first one, because files repeat
 * ranks and settings periodically. */
static size_t row_of_stretch(size_t i, size_t count, size_t row_count)
{
    size_t begin = i * row_count / count, end = (i + 1) * row_count / count;
    return begin + (size_t)((uint32_t)i * UINT32_C(2654435761) >> 8) % (end - begin);
}

/* The column of an axis. Only threads, channels and ranks are numbers on the page: others are words, which it
 * does not sort. */
static size_t add_axis_column(gt_table *table, const gt_variance_axis *axis)
{
    static const gt_col known[] = {[GT_BY_THREADS] = GT_COL_PAGE_THREADS,
                                   [GT_BY_CHANNELS] = GT_COL_PAGE_CHANNEL,
                                   [GT_BY_RANKS] = GT_COL_PAGE_RANK};
    if (axis->kind != GT_BY_OTHER) return gt_table_add_column(table, known[axis->kind], GT_TYPE_INT);
    char *name = gt_format("axis %s", axis->name);
    size_t column = gt_table_add_column(table, gt_col_named(name), GT_TYPE_STRING);
    gt_free(name);
    return column;
}

/* The rows that the plots use, at most ROWS_MAX of them, evenly from the whole file. */
static gt_table *plotted_rows(const gt_variance_rows *rows, gt_interner *strings)
{
    gt_table *table = gt_table_new(GT_SHEET_PAGE_VARIANCE, strings);
    size_t count = rows->count < ROWS_MAX ? rows->count : ROWS_MAX;
    for (size_t a = 0; a < rows->axis_count; a++) add_axis_column(table, &rows->axes[a]);
    size_t time = gt_table_add_column(table, GT_COL_PAGE_TIME_DIFF_US, GT_TYPE_FLOAT);
    gt_table_add_rows(table, count);
    for (size_t i = 0; i < count; i++) {
        size_t row = row_of_stretch(i, count, rows->count);
        for (size_t a = 0; a < rows->axis_count; a++) {
            const gt_variance_axis *axis = &rows->axes[a];
            const gt_variance_group *group = &axis->items[axis->of_row[row]];
            if (axis->kind == GT_BY_OTHER)
                gt_table_set_cstr(table, a, i, group->text);
            else
                gt_table_set_int(table, a, i, (int64_t)group->number);
        }
        gt_table_set_float(table, time, i, rows->time_diff_us[row]);
    }
    return table;
}

static void summarize(gt_sweep_spread *spread, const gt_variance_rows *rows)
{
    const double *values = rows->time_diff_us;
    spread->rows = rows->count;
    spread->largest_us = values[0];
    for (size_t i = 0; i < rows->count; i++)
        if (values[i] > spread->largest_us) spread->largest_us = values[i];
    spread->mean_us = gt_mean(values, rows->count);
    spread->median_us = gt_median(values, rows->count);
}

void gt_sweep_spread_read(gt_sweep_spread *spread, const char *csv_path, gt_interner *strings)
{
    gt_error error;
    *spread = (gt_sweep_spread){0};
    gt_variance_rows *rows = &spread->variance;
    if (!has_bytes(csv_path)) return;
    gt_table *table = gt_csv_table_read_as(csv_path, GT_SHEET_VARIANCE, GT_READ_STRINGS, strings, &error);
    if (table && gt_variance_rows_of(table, csv_path, rows, &error)) {
        summarize(spread, rows);
        gt_table_list_add(&spread->work, plotted_rows(rows, strings));
        gt_table_list_add(&spread->sheets, table);
    } else {
        gt_warn("%s; the page shows only the plots of this sweep", error.text);
        gt_table_free(table);
        gt_variance_rows_free(rows);
    }
}

void gt_sweep_spread_free(gt_sweep_spread *spread)
{
    gt_table_list_free(&spread->sheets);
    gt_table_list_free(&spread->work);
    gt_variance_rows_free(&spread->variance);
}

/* ---- facts ---- */

/* A label in a sentence whose bold words are between '*'. */
static void add_label(gt_buffer *sentence, const char *label)
{
    for (; *label; label++)
        if (*label == '*')
            gt_buffer_add_cstr(sentence, "\u2217");
        else
            gt_buffer_add(sentence, label, 1);
}

static void add_median(gt_buffer *sentence, const gt_sweep_spread *spread, const char *label)
{
    gt_buffer_add_cstr(sentence, "*");
    gt_words_add_time(sentence, spread->median_us * 1e3);
    gt_buffer_add_cstr(sentence, "* in ");
    add_label(sentence, label);
}

static void add_sentence(gt_buffer *sentence, const gt_sweep_spread *spreads, const char *const *labels,
                         size_t count)
{
    size_t with_rows = 0, least = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        if (!spreads[i].rows) continue;
        if (!with_rows++) least = most = i;
        if (spreads[i].median_us < spreads[least].median_us) least = i;
        if (spreads[i].median_us > spreads[most].median_us) most = i;
    }
    if (!with_rows) {
        gt_buffer_add_cstr(sentence, "No sweep has the rows of `gputally sweep top`: this page has only the "
                                     "plots, each with a scale of its own.");
        return;
    }
    gt_buffer_add_cstr(sentence, "The median time difference of equal GEMM calls is ");
    add_median(sentence, &spreads[least], labels[least]);
    if (least != most) {
        gt_buffer_add_cstr(sentence, " and ");
        add_median(sentence, &spreads[most], labels[most]);
    } else if (with_rows > 1) {
        gt_buffer_add_cstr(sentence, " and the same in the others");
    }
    gt_buffer_add_cstr(sentence, with_rows < count ? "; not all sweeps have rows." : ".");
}

static void put_tiles(gt_json_writer *w, const gt_sweep_spread *spreads, const char *const *labels,
                      size_t count)
{
    gt_json_put_open(w, "tiles", '[');
    for (size_t i = 0; i < count && i < TILES_MAX; i++) {
        gt_buffer detail = {0};
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "id", "sweep");
        gt_json_put_cstr(w, "label", labels[i]);
        if (spreads[i].rows) {
            gt_json_put_real(w, "value", spreads[i].median_us);
            gt_json_put_cstr(w, "unit", "\u00B5s");
            gt_buffer_add_format(&detail, "median; mean %.2f \u00B5s, largest %.2f \u00B5s, ",
                                 spreads[i].mean_us, spreads[i].largest_us);
            gt_words_add_count(&detail, spreads[i].rows);
            gt_buffer_add_cstr(&detail, spreads[i].rows == 1 ? " row" : " rows");
        } else {
            gt_buffer_add_cstr(&detail, "no rows of gputally sweep top");
        }
        gt_json_put_cstr(w, "detail", gt_buffer_str(&detail).bytes);
        gt_json_close(w, '}');
        gt_buffer_free(&detail);
    }
    gt_json_close(w, ']');
}

static void put_notes(gt_json_writer *w, const gt_sweep_spread *spreads, const char *const *labels,
                      size_t count)
{
    gt_json_put_open(w, "notes", '[');
    for (size_t i = 0; i < count; i++) {
        if (spreads[i].rows <= ROWS_MAX) continue;
        gt_buffer note = {0};
        gt_buffer_add_cstr(&note, labels[i]);
        gt_buffer_add_cstr(&note, " has ");
        gt_words_add_count(&note, spreads[i].rows);
        gt_buffer_add_cstr(&note, " rows; the charts are drawn from ");
        gt_words_add_count(&note, ROWS_MAX);
        gt_buffer_add_cstr(&note, " of them, evenly from the whole file.");
        gt_json_add_cstr(w, gt_buffer_str(&note).bytes);
        gt_buffer_free(&note);
    }
    gt_json_close(w, ']');
}

/* The values of an axis that a sweep has and no sweep before it. */
static void put_values(gt_json_writer *w, const gt_variance_axis *axis, gt_interner *put)
{
    for (size_t i = 0; i < axis->count; i++) {
        size_t len = strlen(axis->items[i].text);
        if (gt_interner_find(put, axis->items[i].text, len) != GT_STR_NONE) continue;
        gt_interner_add(put, axis->items[i].text, len);
        gt_json_add_cstr(w, axis->items[i].text);
    }
}

static const gt_variance_axis *other_axis(const gt_sweep_spread *spread, const char *name)
{
    for (size_t a = 0; a < spread->variance.axis_count; a++)
        if (spread->variance.axes[a].kind == GT_BY_OTHER && strcmp(spread->variance.axes[a].name, name) == 0)
            return &spread->variance.axes[a];
    return NULL;
}

void gt_sweep_spread_put_axes(gt_json_writer *w, const gt_sweep_spread *spreads, size_t count)
{
    gt_json_put_open(w, "axes", '[');
    for (size_t i = 0; i < count; i++)
        for (size_t a = 0; a < spreads[i].variance.axis_count; a++) {
            const gt_variance_axis *axis = &spreads[i].variance.axes[a];
            bool is_known = axis->kind != GT_BY_OTHER;
            for (size_t before = 0; before < i && !is_known; before++)
                is_known = other_axis(&spreads[before], axis->name);
            if (is_known) continue;
            gt_interner *put = gt_interner_new();
            gt_json_open(w, '{');
            gt_json_put_cstr(w, "name", axis->name);
            gt_json_put_open(w, "values", '[');
            for (size_t later = i; later < count; later++) {
                const gt_variance_axis *same = other_axis(&spreads[later], axis->name);
                if (same) put_values(w, same, put);
            }
            gt_json_close(w, ']');
            gt_json_close(w, '}');
            gt_interner_free(put);
        }
    gt_json_close(w, ']');
}

void gt_sweep_spread_facts(const gt_sweep_spread *spreads, const char *const *labels, size_t count,
                           gt_buffer *json)
{
    gt_json_writer w = {0};
    gt_buffer sentence = {0};
    gt_json_open(&w, '{');
    add_sentence(&sentence, spreads, labels, count);
    gt_json_put_cstr(&w, "sentence", gt_buffer_str(&sentence).bytes);
    put_tiles(&w, spreads, labels, count);
    put_notes(&w, spreads, labels, count);
    gt_sweep_spread_put_axes(&w, spreads, count);
    gt_json_close(&w, '}');
    gt_buffer_add(json, w.text.bytes, w.text.len);
    gt_buffer_free(&sentence);
    gt_json_writer_free(&w);
}
