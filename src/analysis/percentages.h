/* The columns that end most summaries: milliseconds, each row's share of a total, and the running total of
 * the shares. */
#ifndef GT_ANALYSIS_PERCENTAGES_H
#define GT_ANALYSIS_PERCENTAGES_H

#include "table/table.h"

/* Adds a column `ms` of the column `us` / 1000, which has no nulls. Returns its index. */
size_t gt_table_add_ms(gt_table *table, gt_col us, gt_col ms);

/* Adds a column `name` of cell / total * 100.0, for a number column without nulls. Where the total is not
 * above 0 the column is INT and holds 0. Returns its index. */
size_t gt_table_add_percentage(gt_table *table, size_t column, double total, gt_col name);

/* Adds "Percentage (%)" of the column's own sum, and "Cumulative Percentage (%)": the sum of the percentages
 * from the first row to this one, so the table must be in its final order. */
void gt_table_add_percentages(gt_table *table, size_t column);

#endif
