/* Fuzzes the CSV reader: every column has one cell per row, and all strings are in the string table. Also the
 * summary of power and memory samples, which is made from any CSV file that a program leaves. */
#include "analysis/rocprof/sheets.h"
#include "input/sheets/sheets.h"
#include "table/operations.h"

#include <stdint.h>
#include <stdlib.h>

/* The third column by the first two, which may be of any type. */
static void pivot(const gt_table *table)
{
    if (table->column_count < 3 || table->row_count > 200) return;
    gt_error error = {{0}};
    const gt_col index = gt_col_named(table->columns[0].name);
    const gt_pivot how = {.index = &index,
                          .index_count = 1,
                          .columns = gt_col_named(table->columns[1].name),
                          .values = gt_col_named(table->columns[2].name),
                          .fill = true,
                          .fill_value = table->row_count % 2 ? 0.5 : 0};
    gt_table *result = gt_table_pivot(table, &how, &error);
    if (!result && !error.text[0]) abort();
    gt_table_free(result);
}

static void read_as(gt_str text, gt_cell_parsing reading)
{
    gt_error error;
    gt_interner *strings = gt_interner_new();
    gt_table *table = gt_csv_table_as(text, GT_SHEET("fuzz"), reading, strings, &error);
    for (size_t c = 0; table && c < table->column_count; c++)
        for (size_t row = 0; row < table->row_count; row++) {
            const gt_column *column = &table->columns[c];
            if (column->type == GT_TYPE_STRING && column->texts[row] >= gt_interner_count(strings)) abort();
            if (column->type == GT_TYPE_INT && gt_column_is_null(column, row)) abort();
        }
    if (table && reading == GT_READ_EXACT) {
        pivot(table);
        gt_table_free(gt_gpu_samples_summary(table, GT_SHEET("power"), true));
        gt_table_free(gt_gpu_samples_summary(table, GT_SHEET("vram"), false));
    }
    gt_table_free(table);
    gt_interner_free(strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (gt_cell_parsing reading = GT_READ_EXACT; reading <= GT_READ_STRINGS; reading++)
        read_as((gt_str){(const char *)data, size}, reading);
    return 0;
}
