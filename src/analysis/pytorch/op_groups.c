/* Groups of ops with the same keys, and statistics of their kernels. */
#include "analysis/pytorch/op_groups.h"

#include "base/memory.h"
#include "base/number.h"
#include "compat/number.h"
#include "compat/python_literal.h"
#include "compat/python_repr.h"
#include "schema/columns.h"
#include "table/operations.h"
#include "table/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- statistics of kernels ---- */

enum { SHOWN_CHARS = 64 }; /* of a name in the truncated cell */

void gt_kernel_stats_add(gt_kernel_stats *s, const gt_kernel_detail *kernels, size_t count)
{
    if (!count || (s->kernel_count && s->kernel_count != count)) return;
    if (!s->kernel_count) {
        s->pattern = gt_grow(s->pattern, &s->kernel_capacity, count, sizeof *s->pattern);
        memcpy(s->pattern, kernels, count * sizeof *kernels);
        s->kernel_count = count;
    }
    size_t first = s->list_count++ * count;
    s->dur_us = gt_grow(s->dur_us, &s->dur_capacity, first + count, sizeof *s->dur_us);
    for (size_t i = 0; i < count; i++) {
        s->dur_us[first + i] = kernels[i].dur_us;
        s->pattern[i].integral &= kernels[i].integral;
    }
}

typedef struct measured {
    const gt_kernel_detail *kernel;
    gt_str name;
    size_t count;
    double total, mean, median, std_dev, min, max;
} measured;

static measured measure(gt_kernel_stats *s, size_t place, double *dur_us)
{
    size_t count = s->list_count;
    for (size_t list = 0; list < count; list++) dur_us[list] = s->dur_us[list * s->kernel_count + place];
    measured m = {.kernel = &s->pattern[place],
                  .name = gt_interner_get(s->strings, s->pattern[place].name),
                  .count = count,
                  .total = gt_sum_pairwise(dur_us, count),
                  .mean = gt_mean(dur_us, count),
                  .std_dev = gt_std_pairwise(dur_us, count, 0),
                  .min = INFINITY,
                  .max = -INFINITY};
    for (size_t i = 0; i < count; i++) {
        m.min = fmin(m.min, dur_us[i]);
        m.max = fmax(m.max, dur_us[i]);
    }
    m.median = gt_median_in_place(dur_us, count);
    return m;
}

static int by_total_and_name(const void *left, const void *right)
{
    const measured *a = left, *b = right;
    if (a->total != b->total) return a->total < b->total ? -1 : 1;
    int order = gt_str_compare(a->name, b->name);
    return order ? order : (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

static void add_number(gt_buffer *out, const char *key, double value, bool as_int)
{
    gt_buffer_add_cstr(out, key);
    char *room = gt_buffer_reserve(out, GT_NUMBER_MAX);
    bool fits = fabs(value) < 0x1p63;
    out->len += as_int && fits ? gt_print_int(room, (int64_t)value) : gt_print_double(room, value);
}

static void add_stream(gt_buffer *out, const gt_kernel_stats *s, uint32_t stream)
{
    gt_buffer_add_cstr(out, ", 'stream': ");
    if (stream == GT_STR_NONE)
        gt_buffer_add_cstr(out, "None");
    else
        gt_python_add_json_repr(out, gt_interner_get(s->strings, stream), GT_PYTHON_LISTS);
}

static void add_summary(gt_buffer *out, const gt_kernel_stats *s, const measured *m)
{
    bool integral = m->kernel->integral;
    gt_buffer_add_cstr(out, "{'name': ");
    gt_python_add_repr(out, m->name);
    add_stream(out, s, m->kernel->stream);
    if (m->kernel->call_stack && !s->hide_call_stacks) {
        gt_str stack =
            gt_interner_get(s->strings, s->printer.text(s->printer.stacks, m->kernel->call_stack - 1));
        gt_buffer_add_cstr(out, ", 'call_stack': ");
        gt_buffer_add(out, stack.bytes, stack.len);
    }
    if (!isnan(m->kernel->overlap_pct)) add_number(out, ", 'overlap_pct': ", m->kernel->overlap_pct, false);
    add_number(out, ", 'count': ", (double)m->count, true);
    add_number(out, ", 'total_duration_us': ", m->total, integral);
    add_number(out, ", 'mean_duration_us': ", m->mean, false);
    if (!s->plain) add_number(out, ", 'median_duration_us': ", m->median, false);
    add_number(out, ", 'std_dev_duration_us': ", m->std_dev, false);
    if (!s->plain) {
        add_number(out, ", 'min_duration_us': ", m->min, integral);
        add_number(out, ", 'max_duration_us': ", m->max, integral);
    }
    gt_buffer_add_cstr(out, "}");
}

static void add_shortened(gt_buffer *out, gt_str name)
{
    const char *place = name.bytes, *end = name.bytes + name.len;
    for (int i = 0; i < SHOWN_CHARS && place < end; i++) gt_utf8_next(&place, end);
    if (place == end) {
        gt_python_add_repr(out, name);
        return;
    }
    gt_buffer shortened = {0};
    gt_buffer_add(&shortened, name.bytes, (size_t)(place - name.bytes));
    gt_buffer_add_cstr(&shortened, "...");
    gt_python_add_repr(out, gt_buffer_str(&shortened));
    gt_buffer_free(&shortened);
}

static void add_trunc(gt_buffer *out, const gt_kernel_stats *s, const measured *m)
{
    gt_buffer_add_cstr(out, "{'name': ");
    add_shortened(out, m->name);
    add_stream(out, s, m->kernel->stream);
    add_number(out, ", 'mean_duration_us': ", gt_numpy_round2(m->mean), false);
    gt_buffer_add_cstr(out, "}");
}

static uint32_t finish(gt_buffer *cell, gt_interner *strings)
{
    gt_buffer_add_cstr(cell, "]");
    return gt_interner_add(strings, cell->bytes, cell->len);
}

/* Sorts the pattern into the order of the cells. */
static void keep_shown(gt_kernel_stats *s, const measured *places)
{
    gt_kernel_detail *shown = gt_alloc(s->kernel_count * sizeof *shown);
    for (size_t i = 0; i < s->kernel_count; i++) shown[i] = *places[i].kernel;
    memcpy(s->pattern, shown, s->kernel_count * sizeof *shown);
    gt_free(shown);
    s->shown_count = s->kernel_count;
}

gt_kernel_stats_cells gt_kernel_stats_take(gt_kernel_stats *s)
{
    s->shown_count = 0;
    if (!s->kernel_count) return (gt_kernel_stats_cells){gt_interner_add_cstr(s->strings, "[]"), GT_STR_NONE};
    measured *places = gt_alloc(s->kernel_count * sizeof *places);
    double *dur_us = gt_alloc(s->list_count * sizeof *dur_us);
    for (size_t i = 0; i < s->kernel_count; i++) places[i] = measure(s, i, dur_us);
    gt_free(dur_us);
    if (!s->plain) qsort(places, s->kernel_count, sizeof *places, by_total_and_name);

    s->summary.len = s->trunc.len = 0;
    for (size_t i = 0; i < s->kernel_count; i++) {
        gt_buffer_add_cstr(&s->summary, i ? ", " : "[");
        add_summary(&s->summary, s, &places[i]);
        gt_buffer_add_cstr(&s->trunc, i ? ", " : "[");
        add_trunc(&s->trunc, s, &places[i]);
    }
    keep_shown(s, places);
    gt_free(places);
    s->kernel_count = s->list_count = 0;
    return (gt_kernel_stats_cells){finish(&s->summary, s->strings), finish(&s->trunc, s->strings)};
}

void gt_kernel_stats_free(gt_kernel_stats *s)
{
    gt_free(s->pattern);
    gt_free(s->dur_us);
    gt_buffer_free(&s->summary);
    gt_buffer_free(&s->trunc);
    *s = (gt_kernel_stats){0};
}

/* ---- lists of kernels ---- */

void gt_kernel_lists_push(gt_kernel_lists *l, gt_kernel_detail kernel)
{
    GT_PUSH(l->kernels, l->kernel_count, l->kernel_capacity, kernel);
}

void gt_kernel_lists_close(gt_kernel_lists *l)
{
    GT_PUSH(l->ends, l->count, l->capacity, l->kernel_count);
}

void gt_kernel_lists_append(gt_kernel_lists *l, const gt_kernel_lists *more)
{
    for (size_t list = 0, kernel = 0; list < more->count; list++) {
        for (; kernel < more->ends[list]; kernel++) gt_kernel_lists_push(l, more->kernels[kernel]);
        gt_kernel_lists_close(l);
    }
}

static uint32_t moved(uint32_t id, uint32_t *map, const gt_interner *from, gt_interner *to)
{
    if (id != GT_STR_NONE && map[id] == GT_STR_NONE) {
        gt_str text = gt_interner_get(from, id);
        map[id] = gt_interner_add(to, text.bytes, text.len);
    }
    return map[id];
}

void gt_kernel_lists_use_strings(gt_kernel_lists *l, const gt_interner *from, gt_interner *to)
{
    uint32_t *map = gt_alloc_zero(gt_interner_count(from), sizeof *map);
    for (size_t i = 0; i < l->kernel_count; i++) {
        l->kernels[i].name = moved(l->kernels[i].name, map, from, to);
        l->kernels[i].stream = moved(l->kernels[i].stream, map, from, to);
    }
    gt_free(map);
}

void gt_kernel_lists_free(gt_kernel_lists *l)
{
    gt_free(l->kernels);
    gt_free(l->ends);
    *l = (gt_kernel_lists){0};
}

/* ---- groups ---- */

static const gt_group_options KEEP = {.keep_nulls = true};

gt_op_groups gt_op_groups_find(const gt_table *ops, const gt_col *keys, size_t key_count)
{
    gt_op_groups a = {.ops = ops, .keys = gt_alloc(key_count * sizeof *a.keys)};
    for (size_t i = 0; i < key_count; i++)
        if (gt_table_find(ops, keys[i]) != SIZE_MAX) a.keys[a.key_count++] = keys[i];
    a.groups = gt_groups_find(ops, a.keys, a.key_count, KEEP);
    a.begin = gt_alloc_zero(a.groups.count + 2, sizeof *a.begin);
    a.rows = gt_alloc(ops->row_count * sizeof *a.rows);
    for (size_t row = 0; row < ops->row_count; row++) a.begin[a.groups.of_row[row] + 2]++;
    for (size_t g = 2; g < a.groups.count + 2; g++) a.begin[g] += a.begin[g - 1];
    for (uint32_t row = 0; row < ops->row_count; row++) a.rows[a.begin[a.groups.of_row[row] + 1]++] = row;
    return a;
}

void gt_op_groups_free(gt_op_groups *a)
{
    gt_free(a->keys);
    gt_groups_free(&a->groups);
    gt_free(a->rows);
    gt_free(a->begin);
}

gt_table *gt_op_groups_measure(const gt_op_groups *a, const gt_aggregate *measures, size_t measure_count)
{
    gt_aggregate *used = gt_alloc(measure_count * sizeof *used);
    size_t count = 0;
    for (size_t i = 0; i < measure_count; i++)
        if (!measures[i].column.name || gt_table_find(a->ops, measures[i].column) != SIZE_MAX)
            used[count++] = measures[i];
    gt_table *sheet = gt_table_group(a->ops, a->keys, a->key_count, used, count, KEEP);
    gt_free(used);
    size_t group = gt_table_add_zeroed(sheet, GT_COL_GROUP, GT_TYPE_INT);
    for (size_t row = 0; row < sheet->row_count; row++) sheet->columns[group].ints[row] = (int64_t)row;
    return sheet;
}

/* ---- kernels of each group ---- */

static void add_lists(const gt_op_groups *a, size_t group, const gt_kernel_lists *lists,
                      gt_kernel_stats *stats)
{
    for (size_t i = a->begin[group]; i < a->begin[group + 1]; i++) {
        size_t list = a->rows[i], first = list ? lists->ends[list - 1] : 0, end = lists->ends[list];
        if (first < end) gt_kernel_stats_add(stats, lists->kernels + first, end - first);
    }
}

void gt_op_groups_describe(const gt_op_groups *a, gt_table *sheet, const gt_kernel_lists *lists,
                           gt_col summary, gt_col trunc, const gt_op_groups_observe *observe)
{
    size_t summaries = gt_table_add_zeroed(sheet, summary, GT_TYPE_STRING);
    size_t truncs = gt_table_add_zeroed(sheet, trunc, GT_TYPE_STRING);
    const int64_t *group_of = gt_table_column(sheet, GT_COL_GROUP)->ints;
    gt_kernel_stats stats = {.strings = sheet->strings,
                             .printer = observe ? observe->printer : (gt_stack_printer){0},
                             .hide_call_stacks = observe && observe->hide_call_stacks,
                             .plain = observe && observe->plain};
    for (size_t row = 0; row < sheet->row_count; row++) {
        add_lists(a, (size_t)group_of[row], lists, &stats);
        gt_kernel_stats_cells cells = gt_kernel_stats_take(&stats);
        sheet->columns[summaries].texts[row] = cells.summary;
        sheet->columns[truncs].texts[row] = cells.trunc;
        if (observe && observe->shown) observe->shown(observe->context, row, &stats);
    }
    gt_kernel_stats_free(&stats);
}

/* ---- overlap ---- */

void gt_op_groups_sort(gt_table *sheet, const gt_op_groups *a, gt_col apart, gt_col time, gt_col uid)
{
    const gt_sort_key order[] = {
        {GT_COL_TOGETHER_US, true}, {GT_COL_TOGETHER_UID, false}, {time, true}, {uid, false}};
    const gt_aggregate measures[] = {{time, GT_GROUP_SUM, time}, {uid, GT_GROUP_MIN, uid}};
    gt_col *keys = gt_alloc(a->key_count * sizeof *keys);
    size_t count = 0;
    for (size_t i = 0; i < a->key_count; i++)
        if (!gt_col_equals(a->keys[i], apart)) keys[count++] = a->keys[i];
    gt_groups together = gt_groups_find(sheet, keys, count, KEEP);
    gt_table *totals = gt_table_group(sheet, keys, count, measures, 2, KEEP);
    gt_table_make_float(totals, gt_table_find(totals, time));
    size_t total_us = gt_table_add_zeroed(sheet, order[0].column, GT_TYPE_FLOAT);
    size_t total_uid = gt_table_add_zeroed(sheet, order[1].column, GT_TYPE_INT);
    for (size_t row = 0; row < sheet->row_count; row++) {
        uint32_t group = together.of_row[row];
        sheet->columns[total_us].floats[row] = gt_table_column(totals, time)->floats[group];
        sheet->columns[total_uid].ints[row] = gt_table_column(totals, uid)->ints[group];
    }
    gt_table_sort(sheet, order, GT_LENGTH(order));
    gt_table_drop_column(sheet, total_uid);
    gt_table_drop_column(sheet, total_us);
    gt_table_free(totals);
    gt_groups_free(&together);
    gt_free(keys);
}

void gt_op_groups_round_overlap(gt_table *sheet)
{
    static const gt_col columns[] = {GT_COL_OVERLAP_PCT_MEAN, GT_COL_OVERLAP_PCT_MEDIAN,
                                     GT_COL_OVERLAP_PCT_STD, GT_COL_OVERLAP_PCT_MIN, GT_COL_OVERLAP_PCT_MAX};
    for (size_t i = 0; i < GT_LENGTH(columns); i++) {
        double *cells = gt_table_column(sheet, columns[i])->floats;
        for (size_t row = 0; row < sheet->row_count; row++) cells[row] = rint(cells[row] * 100.0) / 100.0;
    }
    const double *means = gt_table_column(sheet, GT_COL_OVERLAP_PCT_MEAN)->floats;
    double *stds = gt_table_column(sheet, GT_COL_OVERLAP_PCT_STD)->floats;
    for (size_t row = 0; row < sheet->row_count; row++)
        if (isnan(stds[row]) && !isnan(means[row])) stds[row] = 0.0;
}
