/* Fuzzes the reader of `ncu --csv` and its sheets: strings are in the string table, every launch is in one
 * row of ncu_kernels, and every value is counted once in ncu_details. */
#include "analysis/ncu/sheets.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <stdint.h>
#include <stdlib.h>

static int64_t sum_of(const gt_table_list *tables, gt_sheet sheet)
{
    const gt_table *table = gt_table_list_find(tables, sheet);
    const gt_column *launches = gt_table_column(table, GT_COL_LAUNCHES);
    int64_t sum = 0;
    for (size_t i = 0; i < table->row_count; i++) sum += launches->ints[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gt_error error;
    gt_stream *stream = gt_stream_memory(data, size, 0, &error);
    gt_ncu *trace = stream ? gt_ncu_read(stream, &error) : NULL;
    gt_stream_close(stream);
    if (!trace) return 0;
    for (size_t i = 0; i < trace->value_count; i++) {
        const gt_ncu_value *value = &trace->values[i];
        if (value->launch >= trace->launch_count || value->metric >= gt_interner_count(trace->strings))
            abort();
        if (i && value->launch < trace->values[i - 1].launch) abort();
    }
    gt_table_list tables = {0};
    gt_ncu_tables(trace, &tables);
    if (sum_of(&tables, GT_SHEET_NCU_KERNELS) != (int64_t)trace->launch_count) abort();
    if (sum_of(&tables, GT_SHEET_NCU_DETAILS) != (int64_t)trace->value_count) abort();
    gt_table_list_free(&tables);
    gt_ncu_free(trace);
    return 0;
}
