/* Alike ops: groups of a table's rows, and the rows of each group side by side. */
#include "analysis/pytorch/op_groups.h"

#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "table/operations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- kernels ---- */

static void add_lists(const gt_op_groups *a, size_t group, const gt_kernel_lists *lists,
                      gt_kernel_stats *stats)
{
    for (size_t i = a->begin[group]; i < a->begin[group + 1]; i++) {
        size_t list = a->rows[i], first = list ? lists->ends[list - 1] : 0, end = lists->ends[list];
        if (first < end) gt_kernel_stats_add(stats, lists->kernels + first, end - first);
    }
}

void gt_op_groups_describe(const gt_op_groups *a, gt_table *sheet, const gt_kernel_lists *lists,
                           gt_col summary, gt_col trunc, const gt_op_groups_observe *watch)
{
    size_t summaries = gt_table_add_zeroed(sheet, summary, GT_TYPE_STRING);
    size_t truncs = gt_table_add_zeroed(sheet, trunc, GT_TYPE_STRING);
    const int64_t *group_of = gt_table_column(sheet, GT_COL_GROUP)->ints;
    gt_kernel_stats stats = {.strings = sheet->strings,
                             .hide_call_stacks = watch && watch->hide_call_stacks,
                             .plain = watch && watch->plain};
    for (size_t row = 0; row < sheet->row_count; row++) {
        add_lists(a, (size_t)group_of[row], lists, &stats);
        gt_kernel_stats_cells cells = gt_kernel_stats_take(&stats);
        sheet->columns[summaries].texts[row] = cells.summary;
        sheet->columns[truncs].texts[row] = cells.trunc;
        if (watch && watch->shown) watch->shown(watch->context, row, &stats);
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
