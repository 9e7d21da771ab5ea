/* The rows of a CSV file of `sweep top` as the later steps see them: which run and which kernel each is of.
 */
#ifndef GT_SWEEP_GEMM_GEMM_ROWS_H
#define GT_SWEEP_GEMM_GEMM_ROWS_H

#include "table/table.h"

/* One setting and rank that rows of the table are of. */
typedef struct gt_gemm_run {
    int64_t threads, channels, rank;
} gt_gemm_run;

typedef struct gt_gemm_rows {
    gt_table *table;   /* borrowed */
    gt_gemm_run *runs; /* each once, in the order of their first rows */
    size_t run_count;
    uint32_t *run_of_row; /* GT_NO_RUN where the row does not say */
} gt_gemm_rows;
#define GT_NO_RUN UINT32_MAX

/* Fails where the table lacks threads, channel, rank or kernel_name. */
bool gt_gemm_rows_find(gt_gemm_rows *rows, gt_table *table, gt_error *error);
void gt_gemm_rows_free(gt_gemm_rows *rows);

/* The number in a cell of a column of any type; NaN where it is none or the table has no such column. */
double gt_gemm_number(const gt_table *table, gt_col name, size_t row);
/* The text of a column; empty where it is none. */
gt_str gt_gemm_string(const gt_table *table, gt_col name, size_t row);

/* New columns of nulls behind the others, in their order; those of these names that are there already go
 * away. Returns the index of the first. */
size_t gt_gemm_new_columns(gt_table *table, const gt_column_head *columns, size_t count);

#endif
