/* Reads and groups the rows of a variance CSV; see variance_rows.h. */
#include "sweep/compare/variance_rows.h"
#include "base/log.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "table/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const gt_col KEY_COLUMNS[GT_VARIANCE_KEYS] = {GT_COL_THREADS, GT_COL_CHANNEL, GT_COL_RANK};
#define TIME_COLUMN GT_COL_TIME_DIFF_US
static const double LONGEST_US = 1e15; /* thirty years: what is longer is no time between two kernels */
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
            return gt_fail(error, "%s is not a whole number", KEY_COLUMNS[k].name);
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

double *gt_variance_means(const gt_variance_rows *rows)
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

/* ---- all of it ---- */

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
    if (skipped > WARNINGS_MAX) gt_warn("%s: %zu rows were skipped in all", name, skipped);
    if (!rows->count) return gt_fail(error, "%s: no row tells threads, channel, rank and time_diff_us", name);
    for (gt_variance_key by = 0; by < GT_VARIANCE_KEYS; by++) group_rows(rows, by, &rows->by[by]);
    size_t threads = rows->by[GT_BY_THREADS].count, channels = rows->by[GT_BY_CHANNELS].count;
    return threads <= GT_VARIANCE_PAIRS_MAX / channels ||
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
        const char *heading, *before, *after; /* around the key */
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
