/* Fuzzes the CSV reader: every column has one cell per row, and all strings are in the string table. */
#include "input/sheets/sheets.h"

#include <stdint.h>
#include <stdlib.h>

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
    gt_table_free(table);
    gt_interner_free(strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (gt_cell_parsing reading = GT_READ_EXACT; reading <= GT_READ_STRINGS; reading++)
        read_as((gt_str){(const char *)data, size}, reading);
    return 0;
}
