/* Sheets ops_summary_by_category and ops_summary.
 *
 *     Count                          launchers
 *     total_direct_kernel_time_sum   sum of the launchers' own kernel times, microseconds
 *     total_subtree_kernel_time_sum  the same with the kernels of the ops that they called
 *     ..._ms                         that / 1000
 *     Categories                     the different categories of the launchers of that name, ascending
 *     Percentage (%)                 of the sum of total_direct_kernel_time_ms
 *     Cumulative Percentage (%)      running total of Percentage over the rows as shown */
#include "analysis/pytorch/ops_summary.h"

#include "analysis/percentages.h"
#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <stdlib.h>

static const gt_aggregate sums[] = {
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT_TITLE},
    GT_AGGREGATE(TOTAL_DIRECT_KERNEL_TIME, SUM),
    GT_AGGREGATE(TOTAL_SUBTREE_KERNEL_TIME, SUM),
};

static const gt_col category_columns[] = {
    GT_COL_OP_CATEGORY,    GT_COL_IS_RECOMPUTE,
    GT_COL_COUNT_TITLE,    GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
    GT_COL_PERCENTAGE_PCT, GT_COL_CUMULATIVE_PERCENTAGE_PCT,
};

static const gt_col name_columns[] = {
    GT_COL_NAME,
    GT_COL_IS_RECOMPUTE,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM,
    GT_COL_TOTAL_SUBTREE_KERNEL_TIME_SUM,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
    GT_COL_TOTAL_SUBTREE_KERNEL_TIME_MS,
    GT_COL_COUNT_TITLE,
    GT_COL_CATEGORIES,
    GT_COL_PERCENTAGE_PCT,
    GT_COL_CUMULATIVE_PERCENTAGE_PCT,
};

static const gt_group_options as_first_seen = {.keep_nulls = true};

/* The key, and is_recompute where the ops have it. */
static size_t keys_of(const gt_ops *ops, gt_col key, gt_col *keys)
{
    keys[0] = key;
    keys[1] = GT_COL_IS_RECOMPUTE;
    return ops->trace->recompute ? 2 : 1;
}

static gt_table *group_by(const gt_ops *ops, gt_col key)
{
    gt_col keys[2];
    size_t key_count = keys_of(ops, key, keys);
    return gt_table_group(ops->table, keys, key_count, sums, GT_LENGTH(sums), as_first_seen);
}

static gt_table *finish(gt_table *table, gt_sheet sheet, const gt_col *columns, size_t column_count)
{
    static const gt_sort_key longest_first[] = {{GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM, true}};
    gt_table_rename(table, sheet);
    gt_table_sort(table, longest_first, GT_LENGTH(longest_first));
    gt_table_add_ms(table, GT_COL_TOTAL_SUBTREE_KERNEL_TIME_SUM, GT_COL_TOTAL_SUBTREE_KERNEL_TIME_MS);
    gt_table_add_percentages(table, gt_table_add_ms(table, GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM,
                                                    GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS));
    gt_table_select(table, columns, column_count);
    return table;
}

gt_table *gt_ops_summary_by_category(const gt_ops *ops)
{
    return finish(group_by(ops, GT_COL_OP_CATEGORY), GT_SHEET_OPS_SUMMARY_BY_CATEGORY, category_columns,
                  GT_LENGTH(category_columns));
}

/* ---- the categories of each name ---- */

typedef struct category_list {
    int64_t *group;     /* by entry: the group that it belongs to */
    uint32_t *category; /* and its category */
    uint32_t *order;    /* the entries by group, and by category within one */
    size_t count;
} category_list;

static category_list list_categories(const gt_ops *ops)
{
    gt_col keys[2];
    size_t key_count = keys_of(ops, GT_COL_NAME, keys);
    const gt_column *categories = gt_table_column(ops->table, GT_COL_OP_CATEGORY);
    gt_groups groups = gt_groups_find(ops->table, keys, key_count, as_first_seen);
    gt_groups divided = gt_groups_split(&groups, categories, ops->table->strings);
    category_list list = {.count = divided.count};
    list.group = gt_alloc(list.count * sizeof *list.group);
    list.category = gt_alloc(list.count * sizeof *list.category);
    for (size_t i = 0; i < list.count; i++) {
        list.group[i] = groups.of_row[divided.first_row[i]];
        list.category[i] = categories->texts[divided.first_row[i]];
    }
    list.order = gt_order_new(list.count);
    gt_order_by_strings(list.order, list.count, list.category, ops->table->strings, false);
    gt_order_by_ints(list.order, list.count, list.group, NULL, false);
    gt_groups_free(&groups);
    gt_groups_free(&divided);
    return list;
}

/* Row i of the table is group i. */
static void add_categories(const gt_ops *ops, gt_table *by_name)
{
    category_list list = list_categories(ops);
    size_t column = gt_table_add_column(by_name, GT_COL_CATEGORIES, GT_TYPE_LIST), next = 0;
    gt_column *cells = &by_name->columns[column];
    gt_list_of(cells, GT_TYPE_STRING);
    for (size_t row = 0; row < by_name->row_count; row++) {
        gt_list_begin(cells, row);
        for (; next < list.count && (size_t)list.group[list.order[next]] == row; next++)
            gt_list_push_string(cells, list.category[list.order[next]]);
    }
    gt_free(list.group);
    gt_free(list.category);
    gt_free(list.order);
}

gt_table *gt_ops_summary(const gt_ops *ops)
{
    gt_table *by_name = group_by(ops, GT_COL_NAME);
    add_categories(ops, by_name);
    return finish(by_name, GT_SHEET_OPS_SUMMARY, name_columns, GT_LENGTH(name_columns));
}
