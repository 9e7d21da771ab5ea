/* Columns made of a column of numbers. */
#include "analysis/percentages.h"

#include "schema/columns.h"
#include "table/stats.h"

/* Of INT cells exact, of FLOAT cells in numpy's order of additions. */
static double column_sum(const gt_column *column, size_t rows)
{
    if (column->type == GT_TYPE_FLOAT) return gt_sum_pairwise(column->floats, rows);
    __int128 sum = 0;
    for (size_t row = 0; row < rows; row++) sum += column->ints[row];
    return (double)sum;
}

size_t gt_table_add_ms(gt_table *table, gt_col us, gt_col ms)
{
    size_t from = gt_table_find(table, us), to = gt_table_add_zeroed(table, ms, GT_TYPE_FLOAT);
    for (size_t row = 0; row < table->row_count; row++)
        table->columns[to].floats[row] = gt_column_number(&table->columns[from], row) / 1000;
    return to;
}

size_t gt_table_add_percentage(gt_table *table, size_t column, double total, gt_col name)
{
    if (!(total > 0)) return gt_table_add_zeroed(table, name, GT_TYPE_INT);
    size_t added = gt_table_add_zeroed(table, name, GT_TYPE_FLOAT);
    for (size_t row = 0; row < table->row_count; row++)
        table->columns[added].floats[row] = gt_column_number(&table->columns[column], row) / total * 100.0;
    return added;
}

void gt_table_add_percentages(gt_table *table, size_t column)
{
    double total = column_sum(&table->columns[column], table->row_count);
    size_t percentage = gt_table_add_percentage(table, column, total, GT_COL_PERCENTAGE_PCT);
    gt_type type = table->columns[percentage].type;
    size_t cumulative = gt_table_add_zeroed(table, GT_COL_CUMULATIVE_PERCENTAGE_PCT, type);
    if (type == GT_TYPE_FLOAT)
        gt_cumulative_sum(table->columns[cumulative].floats, table->columns[percentage].floats,
                          table->row_count);
}
