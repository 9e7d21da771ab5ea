/* The comparison's columns: from a kernel to the row of the sheet that its op is counted in, and from there
 * to all common calls whose kernels the row has. */
#include "analysis/diff/columns.h"

#include "base/length.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/buffer.h"
#include "schema/columns.h"
#include "table/operations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* By these an op belongs to a row. Of rows that are alike in them the last counts. */
static const gt_col keys[] = {
    GT_COL_NAME,       GT_COL_OP_CATEGORY, GT_COL_PROCESS_NAME,  GT_COL_PROCESS_LABEL,   GT_COL_THREAD_NAME,
    GT_COL_INPUT_DIMS, GT_COL_INPUT_TYPE,  GT_COL_INPUT_STRIDES, GT_COL_CONCRETE_INPUTS,
};

/* What is collected for a row of the sheet. */
typedef struct collected {
    gt_buffer ids, names;
    double first_us, second_us;
    double with_second;
    uint32_t last_call; /* GT_NO_EVENT: none yet */
} collected;

/* ---- which row a kernel counts for ---- */

static uint32_t key_of(const gt_table *table, size_t row, gt_interner *interned)
{
    uint32_t ids[GT_LENGTH(keys)] = {0};
    for (size_t k = 0; k < GT_LENGTH(keys); k++) {
        size_t column = gt_table_find(table, keys[k]);
        if (column != SIZE_MAX) ids[k] = table->columns[column].texts[row];
    }
    return gt_interner_add(interned, ids, sizeof ids);
}

/* By GPU event: the row of the sheet that it counts for. */
static gt_map rows_of_kernels(const gt_table *sheet, const gt_unified *unified)
{
    gt_unified_ops ops = gt_unified_ops_of(unified);
    gt_interner *interned = gt_interner_new();
    gt_map row_of_key = {0}, row_of_kernel = {0};
    for (uint32_t row = 0; row < sheet->row_count; row++)
        *gt_map_put(&row_of_key, key_of(sheet, row, interned), 0) = row;
    for (size_t op = 0, begin = 0; op < ops.table->row_count; begin = ops.gpu_ends[op++]) {
        uint32_t row = gt_map_get(&row_of_key, key_of(ops.table, op, interned), 0);
        for (size_t k = begin; row != GT_MAP_NONE && k < ops.gpu_ends[op]; k++)
            *gt_map_put(&row_of_kernel, ops.gpu_rows[k], 0) = row;
    }
    gt_map_free(&row_of_key);
    gt_interner_free(interned);
    return row_of_kernel;
}

/* ---- common calls ---- */

/* Common call to the first row of the second trace under it. */
static gt_map first_rows_of_second(const gt_diff_stats *stats, const gt_column *ids)
{
    gt_map first = {0};
    for (uint32_t row = 0; row < stats->table->row_count; row++) {
        if (stats->sides[row] == 0 || gt_column_is_null(ids, row)) continue;
        uint32_t *at = gt_map_put(&first, (uint64_t)gt_column_number(ids, row), 0);
        if (*at == GT_MAP_NONE) *at = row;
    }
    return first;
}

static void add_part(gt_buffer *buffer, const char *bytes, size_t len)
{
    if (buffer->len) gt_buffer_add_cstr(buffer, "; ");
    gt_buffer_add(buffer, bytes, len);
}

static void add_id(gt_buffer *buffer, const gt_column *ids, size_t row)
{
    char digits[GT_NUMBER_MAX];
    size_t len = ids->type == GT_TYPE_INT ? gt_print_int(digits, ids->ints[row])
                                          : gt_print_double(digits, ids->floats[row]);
    add_part(buffer, digits, len);
}

/* The rows of the first trace that have a common call, by its number. */
static uint32_t *rows_by_call(const gt_diff_stats *stats, const gt_column *ids, size_t *count)
{
    uint32_t *rows = gt_alloc(stats->table->row_count * sizeof *rows);
    *count = 0;
    for (uint32_t row = 0; row < stats->table->row_count; row++)
        if (stats->sides[row] == 0 && !gt_column_is_null(ids, row)) rows[(*count)++] = row;
    gt_order_by_column(rows, *count, ids, stats->table->strings, false);
    return rows;
}

static bool collect(collected *all, const gt_diff_stats *stats, const gt_map *row_of_kernel)
{
    const gt_column *ids = gt_table_column(stats->table, GT_COL_LOWEST_COMMON_ANCESTOR_ID);
    const gt_column *busy = gt_table_column(stats->table, GT_COL_BUSY_TIME);
    const uint32_t *names = gt_table_column(stats->table, GT_COL_LOWEST_COMMON_ANCESTOR_NAME)->texts;
    gt_map second_at = first_rows_of_second(stats, ids);
    size_t count;
    uint32_t *rows = rows_by_call(stats, ids, &count);
    bool any = false;
    for (size_t i = 0, first = 0; i < count; i++) {
        if (gt_column_number(ids, rows[i]) != gt_column_number(ids, rows[first])) first = i;
        uint32_t to = gt_map_get(row_of_kernel, stats->gpu_rows[rows[i]], 0),
                 call = (uint32_t)gt_column_number(ids, rows[i]);
        if (to == GT_MAP_NONE || all[to].last_call == call) continue;
        collected *c = &all[to];
        uint32_t second = gt_map_get(&second_at, call, 0);
        gt_str name = gt_interner_get(stats->table->strings, names[rows[first]]);
        c->last_call = call;
        add_id(&c->ids, ids, rows[i]);
        if (name.len) add_part(&c->names, name.bytes, name.len);
        c->first_us += gt_column_number(busy, rows[first]);
        if (second != GT_MAP_NONE) {
            c->second_us += gt_column_number(busy, second);
            c->with_second++;
        }
        any = true;
    }
    gt_map_free(&second_at);
    gt_free(rows);
    return any;
}

/* ---- the columns ---- */

enum { RATIO, DELTA, COUNT, IDS, NAMES, FIRST_US, SECOND_US, COLUMNS };
static const gt_column_head added[COLUMNS] = {
    [RATIO] = {GT_COL_SPEEDUP_TRACE2_PER_TRACE1, GT_TYPE_FLOAT},
    [DELTA] = {GT_COL_DELTA_US_TRACE2_TRACE1, GT_TYPE_FLOAT},
    [COUNT] = {GT_COL_LCA_COUNT_TRACE2, GT_TYPE_FLOAT},
    [IDS] = {GT_COL_LCA_ID, GT_TYPE_STRING},
    [NAMES] = {GT_COL_LCA_NAME, GT_TYPE_STRING},
    [FIRST_US] = {GT_COL_LCA_TOTAL_KERNEL_TIME_TRACE1_US, GT_TYPE_FLOAT},
    [SECOND_US] = {GT_COL_LCA_TOTAL_KERNEL_TIME_TRACE2_US, GT_TYPE_FLOAT},
};

static uint32_t intern(gt_table *sheet, gt_buffer *buffer)
{
    gt_str text = gt_buffer_str(buffer);
    return gt_interner_add(sheet->strings, text.bytes, text.len);
}

static void fill_row(gt_table *sheet, size_t first, size_t row, collected *c)
{
    if (c->last_call == GT_NO_EVENT) return;
    double own_us = gt_column_number(gt_table_column(sheet, GT_COL_KERNEL_TIME_US_SUM), row);
    gt_table_set_float(sheet, first + RATIO, row,
                       c->first_us == 0 ? (double)NAN : c->second_us / c->first_us);
    gt_table_set_float(sheet, first + DELTA, row, c->second_us - own_us);
    gt_table_set_float(sheet, first + COUNT, row, c->with_second);
    gt_table_set_string(sheet, first + IDS, row, intern(sheet, &c->ids));
    gt_table_set_string(sheet, first + NAMES, row, intern(sheet, &c->names));
    gt_table_set_float(sheet, first + FIRST_US, row, c->first_us);
    gt_table_set_float(sheet, first + SECOND_US, row, c->second_us);
}

void gt_diff_add_columns(gt_table *sheet, const gt_unified *unified, const gt_diff_stats *stats)
{
    if (!stats->table->row_count) return;
    gt_map row_of_kernel = rows_of_kernels(sheet, unified);
    collected *all = gt_alloc_zero(sheet->row_count, sizeof *all);
    for (size_t row = 0; row < sheet->row_count; row++) all[row].last_call = GT_NO_EVENT;
    if (collect(all, stats, &row_of_kernel)) {
        size_t first = sheet->column_count, after = gt_table_find(sheet, GT_COL_KERNEL_TIME_US_SUM) + 1;
        gt_table_add_columns(sheet, added, COLUMNS);
        for (size_t row = 0; row < sheet->row_count; row++) fill_row(sheet, first, row, &all[row]);
        for (size_t i = 0; i < COLUMNS; i++) gt_table_move_column(sheet, first + i, after + i);
    }
    for (size_t row = 0; row < sheet->row_count; row++) {
        gt_buffer_free(&all[row].ids);
        gt_buffer_free(&all[row].names);
    }
    gt_free(all);
    gt_map_free(&row_of_kernel);
}
