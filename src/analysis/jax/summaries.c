/* Group by a text, sum, sort by time, add shares. */
#include "analysis/jax/summaries.h"
#include "analysis/sheet_parts.h"
#include "base/length.h"
#include "base/memory.h"
#include "compat/python_repr.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <stdlib.h>
#include <string.h>

static const gt_aggregate by_name[] = {
    GT_AGGREGATE(TOTAL_DIRECT_KERNEL_TIME, SUM),
    GT_AGGREGATE(TOTAL_SUBTREE_KERNEL_TIME, SUM),
    {GT_COL_TOTAL_DIRECT_KERNEL_TIME, GT_GROUP_SUM, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS},
    {GT_COL_TOTAL_SUBTREE_KERNEL_TIME, GT_GROUP_SUM, GT_COL_TOTAL_SUBTREE_KERNEL_TIME_MS},
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT_TITLE},
};
static const gt_aggregate by_category[] = {
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT_TITLE},
    {GT_COL_TOTAL_DIRECT_KERNEL_TIME, GT_GROUP_SUM, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS},
};

static void to_ms(gt_table *table, gt_col name)
{
    size_t column = gt_table_find(table, name);
    if (column == SIZE_MAX) return;
    for (size_t row = 0; row < table->row_count; row++) table->columns[column].floats[row] /= 1000.0;
}

static double count_gpus(const gt_table *rows)
{
    gt_groups pids = gt_groups_find(rows, (gt_col[]){GT_COL_PID}, 1, (gt_group_options){0});
    size_t count = pids.count;
    gt_groups_free(&pids);
    return count ? (double)count : 1.0;
}

static gt_table *sum_up(const gt_table *rows, gt_col key, const gt_aggregate *sums, size_t sum_count)
{
    gt_table *table = gt_table_group(rows, &key, 1, sums, sum_count, (gt_group_options){.sorted = true});
    to_ms(table, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS);
    to_ms(table, GT_COL_TOTAL_SUBTREE_KERNEL_TIME_MS);
    return table;
}

/* The table gets its order, and its columns of shares. */
static void finish(gt_table *table, gt_sheet sheet, double gpus)
{
    gt_table_sort(table, &(gt_sort_key){GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS, true}, 1);
    gt_table_rename(table, sheet);
    size_t time = gt_table_find(table, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS);
    gt_table_add_percentages(table, time);
    size_t per_gpu = gt_table_add_zeroed(table, GT_COL_TIME_MS_PER_GPU, GT_TYPE_FLOAT);
    for (size_t row = 0; row < table->row_count; row++)
        table->columns[per_gpu].floats[row] = table->columns[time].floats[row] / gpus;
}

/* ['Conv', 'GEMM']: the classes of each group, sorted. */
static void add_categories(gt_table *table, const gt_table *rows, gt_col key)
{
    gt_groups groups = gt_groups_find(rows, &key, 1, (gt_group_options){.sorted = true});
    const gt_column *categories = gt_table_column(rows, GT_COL_OP_CATEGORY);
    gt_groups pairs = gt_groups_split(&groups, categories, rows->strings);
    uint32_t *order = gt_alloc(pairs.count * sizeof *order), *texts = gt_alloc(pairs.count * sizeof *texts);
    int64_t *group_of = gt_alloc(pairs.count * sizeof *group_of);
    for (uint32_t p = 0; p < pairs.count; p++) {
        order[p] = p;
        texts[p] = categories->texts[pairs.first_row[p]];
        group_of[p] = groups.of_row[pairs.first_row[p]];
    }
    gt_order_by_strings(order, pairs.count, texts, rows->strings, false);
    gt_order_by_ints(order, pairs.count, group_of, NULL, false);

    size_t column = gt_table_add_column(table, GT_COL_CATEGORIES, GT_TYPE_STRING);
    gt_buffer cell = {0};
    for (size_t p = 0; p < pairs.count; p++) {
        bool is_first = !p || group_of[order[p - 1]] != group_of[order[p]];
        bool is_last = p + 1 == pairs.count || group_of[order[p + 1]] != group_of[order[p]];
        if (is_first) cell.len = 0;
        gt_buffer_add_cstr(&cell, is_first ? "[" : ", ");
        gt_python_add_repr(&cell, gt_interner_get(rows->strings, texts[order[p]]));
        if (is_last) gt_buffer_add_cstr(&cell, "]");
        if (is_last)
            gt_table_set_string(table, column, (size_t)group_of[order[p]],
                                gt_interner_add(rows->strings, cell.bytes, cell.len));
    }
    gt_buffer_free(&cell);
    gt_free(order);
    gt_free(texts);
    gt_free(group_of);
    gt_groups_free(&pairs);
    gt_groups_free(&groups);
}

gt_table *gt_jax_summary(const gt_table *rows)
{
    gt_table *table = sum_up(rows, GT_COL_NAME, by_name, GT_LENGTH(by_name));
    add_categories(table, rows, GT_COL_NAME);
    finish(table, GT_SHEET_KERNEL_LAUNCHERS_SUMMARY, count_gpus(rows));
    return table;
}

gt_table *gt_jax_summary_by_category(const gt_table *rows)
{
    gt_table *table = sum_up(rows, GT_COL_OP_CATEGORY, by_category, GT_LENGTH(by_category));
    finish(table, GT_SHEET_KERNEL_LAUNCHERS_SUMMARY_BY_CATEGORY, count_gpus(rows));
    return table;
}

/* Only the columns that a summary is made from: the sheet is as large as the trace. */
static gt_table *copy_used(const gt_table *sheet)
{
    static const gt_col used[] = {GT_COL_NAME, GT_COL_OP_CATEGORY, GT_COL_TOTAL_DIRECT_KERNEL_TIME,
                                  GT_COL_TOTAL_SUBTREE_KERNEL_TIME, GT_COL_PID};
    gt_table *rows = gt_table_new(GT_SHEET_UNNAMED, sheet->strings);
    for (size_t i = 0; i < GT_LENGTH(used); i++)
        gt_table_add_column(rows, used[i], gt_table_column(sheet, used[i])->type);
    gt_table_add_rows(rows, sheet->row_count);
    for (size_t i = 0; i < GT_LENGTH(used) && sheet->row_count; i++) {
        const gt_column *from = gt_table_column(sheet, used[i]);
        const size_t size = from->type == GT_TYPE_STRING ? sizeof *from->texts : sizeof *from->ints;
        memcpy(rows->columns[i].ints, from->ints, sheet->row_count * size);
    }
    return rows;
}

gt_table *gt_jax_xla_summary(const gt_table *xla_perf)
{
    gt_table *rows = copy_used(xla_perf);
    uint32_t *names = gt_table_column(rows, GT_COL_NAME)->texts;
    gt_buffer text = {0};
    for (size_t row = 0; row < rows->row_count; row++) {
        gt_str name = gt_interner_get(rows->strings, names[row]);
        text.len = 0;
        for (size_t i = 0; i < name.len; i++)
            if (name.bytes[i] < '0' || name.bytes[i] > '9') gt_buffer_add(&text, name.bytes + i, 1);
        names[row] = gt_interner_add(rows->strings, text.bytes, text.len);
    }
    gt_buffer_free(&text);
    gt_table *table = gt_jax_summary(rows);
    gt_table_rename(table, GT_SHEET_XLA_SUMMARY);
    gt_table_free(rows);
    return table;
}
