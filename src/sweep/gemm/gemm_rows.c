/* Runs are told apart by their three numbers. */
#include "sweep/gemm/gemm_rows.h"
#include "base/length.h"
#include "base/map.h"
#include "base/memory.h"
#include "schema/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS, CHANNEL, RANK, NUMBERS };
static const gt_col needed[] = {GT_COL_THREADS, GT_COL_CHANNEL, GT_COL_RANK, GT_COL_GEMM_KERNEL_NAME};

double gt_gemm_number(const gt_table *table, gt_col name, size_t row)
{
    size_t index = gt_table_find(table, name);
    if (index == SIZE_MAX || gt_column_is_null(&table->columns[index], row)) return NAN;
    const gt_column *column = &table->columns[index];
    if (column->type == GT_TYPE_INT) return (double)column->ints[row];
    if (column->type == GT_TYPE_FLOAT) return column->floats[row];
    if (column->type != GT_TYPE_STRING) return NAN;
    char *end;
    gt_str text = gt_interner_get(table->strings, column->texts[row]);
    double number = strtod(text.bytes, &end);
    return text.len && end == text.bytes + text.len ? number : NAN;
}

gt_str gt_gemm_string(const gt_table *table, gt_col name, size_t row)
{
    size_t index = gt_table_find(table, name);
    if (index == SIZE_MAX || table->columns[index].type != GT_TYPE_STRING) return (gt_str){"", 0};
    return gt_interner_get(table->strings, table->columns[index].texts[row]);
}

size_t gt_gemm_new_columns(gt_table *table, const gt_column_head *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t old = gt_table_find(table, columns[i].name);
        if (old != SIZE_MAX) gt_table_drop_column(table, old);
    }
    size_t first = table->column_count;
    for (size_t i = 0; i < count; i++) gt_table_add_column(table, columns[i].name, columns[i].type);
    return first;
}

/* False where one of the numbers is none, or not whole. */
static bool read_run(const gt_table *table, size_t row, gt_gemm_run *run)
{
    int64_t *const places[NUMBERS] = {&run->threads, &run->channels, &run->rank};
    for (size_t i = 0; i < NUMBERS; i++) {
        double number = gt_gemm_number(table, needed[i], row);
        if (!(number >= 0 && number <= INT32_MAX) || number != trunc(number)) return false;
        *places[i] = (int64_t)number;
    }
    return true;
}

bool gt_gemm_rows_find(gt_gemm_rows *rows, gt_table *table, gt_error *error)
{
    *rows = (gt_gemm_rows){.table = table};
    for (size_t i = 0; i < GT_LENGTH(needed); i++)
        if (gt_table_find(table, needed[i]) == SIZE_MAX)
            return gt_fail(error, "no column %s", needed[i].name);
    size_t capacity = 0;
    gt_map known = {0};
    rows->run_of_row = gt_alloc(table->row_count * sizeof *rows->run_of_row);
    for (size_t row = 0; row < table->row_count; row++) {
        gt_gemm_run run;
        rows->run_of_row[row] = GT_NO_RUN;
        if (!read_run(table, row, &run)) continue;
        uint64_t setting = (uint64_t)run.threads << 32 | (uint64_t)run.channels;
        uint32_t *place = gt_map_put(&known, setting, (uint64_t)run.rank);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)rows->run_count;
            GT_PUSH(rows->runs, rows->run_count, capacity, run);
        }
        rows->run_of_row[row] = *place;
    }
    gt_map_free(&known);
    return true;
}

void gt_gemm_rows_free(gt_gemm_rows *rows)
{
    gt_free(rows->runs);
    gt_free(rows->run_of_row);
    *rows = (gt_gemm_rows){0};
}
