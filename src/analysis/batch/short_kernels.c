/* GPU events that no op is known for, and kernels that are short.
 *
 * GPU events are kernels, copies and memsets; one is linked where it has an External id, and short where it
 * took less than 10 µs. Of short_cpu_op_counts only kernels count, and the op is the nearest one above the
 * launch. */
#include "analysis/batch/batch.h"

#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <math.h>
#include <stdlib.h>

static const double SHORT_US = 10;

static const char *const gpu_categories[] = {
    [GT_KIND_KERNEL] = "kernel",
    [GT_KIND_MEMCPY] = "gpu_memcpy",
    [GT_KIND_MEMSET] = "gpu_memset",
};

/* An event without a duration took no time. */
static double duration_us(const gt_linked_view *trace, size_t row)
{
    return isnan(trace->dur_us[row]) ? 0 : trace->dur_us[row];
}

/* ---- linked_and_short_kernels ---- */

enum { RANK, EVENTS, LINKED, UNLINKED, SHORT_LINKED, SHORT_UNLINKED, COUNTS };
static const gt_col count_columns[COUNTS] = {
    [RANK] = GT_COL_RANK,
    [EVENTS] = GT_COL_NUM_KERNEL_EVENTS,
    [LINKED] = GT_COL_NUM_KERNEL_EVENTS_LINKED,
    [UNLINKED] = GT_COL_NUM_KERNEL_EVENTS_UNLINKED,
    [SHORT_LINKED] = GT_COL_NUM_SHORT_KERNEL_EVENTS_LINKED,
    [SHORT_UNLINKED] = GT_COL_NUM_SHORT_KERNEL_EVENTS_UNLINKED,
};

gt_table *gt_batch_kernel_counts_of_rank(const gt_linked_view *trace, int64_t rank)
{
    int64_t counts[COUNTS] = {[RANK] = rank};
    int64_t *external_ids = gt_store_ints(trace->store, GT_EVENT_EXTERNAL_ID);
    for (size_t row = 0; row < trace->count; row++) {
        if (!gt_kind_is_gpu(trace->kind[row])) continue;
        bool linked = external_ids[row] != GT_EVENT_NONE, is_short = duration_us(trace, row) < SHORT_US;
        counts[EVENTS]++;
        counts[linked ? LINKED : UNLINKED]++;
        counts[linked ? SHORT_LINKED : SHORT_UNLINKED] += is_short;
    }
    gt_free(external_ids);
    gt_table *table = gt_table_new(GT_SHEET_LINKED_AND_SHORT_KERNELS, trace->strings);
    for (size_t c = 0; c < COUNTS; c++) gt_table_add_column(table, count_columns[c], GT_TYPE_INT);
    gt_table_add_row(table);
    for (size_t c = 0; c < COUNTS; c++) gt_table_set_int(table, c, 0, counts[c]);
    return table;
}

/* ---- unlinked_short_kernels_summary: all of them, whatever their duration ---- */

gt_table *gt_batch_unlinked_of_rank(const gt_linked_view *trace)
{
    enum { NAME, CATEGORY, DURATION };
    gt_table *table = gt_table_new(GT_SHEET_UNLINKED_SHORT_KERNELS_SUMMARY, trace->strings);
    gt_table_add_column(table, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL_CAT, GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL_DUR, GT_TYPE_FLOAT);
    int64_t *external_ids = gt_store_ints(trace->store, GT_EVENT_EXTERNAL_ID);
    for (size_t row = 0; row < trace->count; row++) {
        if (!gt_kind_is_gpu(trace->kind[row]) || external_ids[row] != GT_EVENT_NONE) continue;
        size_t added = gt_table_add_row(table);
        gt_table_set_string(table, NAME, added, trace->name[row]);
        gt_table_set_cstr(table, CATEGORY, added, gpu_categories[trace->kind[row]]);
        gt_table_set_float(table, DURATION, added, duration_us(trace, row));
    }
    gt_free(external_ids);
    return table;
}

gt_table *gt_batch_unlinked(const gt_table *rows)
{
    static const gt_col keys[] = {GT_COL_NAME, GT_COL_CAT};
    static const gt_aggregate measures[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT},
                                            {GT_COL_DUR, GT_GROUP_MIN, GT_COL_MIN_DUR},
                                            {GT_COL_DUR, GT_GROUP_MAX, GT_COL_MAX_DUR},
                                            {GT_COL_DUR, GT_GROUP_MEAN, GT_COL_MEAN_DUR}};
    static const gt_sort_key most_first[] = {{GT_COL_COUNT, true}};
    gt_table *sheet = gt_table_group(rows, keys, GT_LENGTH(keys), measures, GT_LENGTH(measures),
                                     (gt_group_options){.sorted = true});
    gt_table_rename(sheet, GT_SHEET_UNLINKED_SHORT_KERNELS_SUMMARY);
    gt_table_sort(sheet, most_first, GT_LENGTH(most_first));
    return sheet;
}

/* ---- short_cpu_op_counts ---- */

gt_table *gt_batch_short_ops_of_rank(const gt_pytorch_kernels *kernels)
{
    static const gt_col keys[] = {GT_COL_OP};
    static const gt_aggregate size[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT}};
    const gt_linked_view *trace = kernels->trace;
    gt_table *ops = gt_table_new(GT_SHEET_SHORT_CPU_OP_COUNTS, trace->strings);
    gt_table_add_column(ops, GT_COL_OP, GT_TYPE_STRING);
    for (size_t i = 0; i < kernels->count; i++) {
        if (kernels->cpu_ops[i] == GT_NO_EVENT || !(trace->dur_us[kernels->rows[i]] < SHORT_US)) continue;
        size_t added = gt_table_add_row(ops);
        gt_table_set_string(ops, 0, added, trace->name[kernels->cpu_ops[i]]);
    }
    gt_table *counts =
        gt_table_group(ops, keys, GT_LENGTH(keys), size, GT_LENGTH(size), (gt_group_options){0});
    gt_table_free(ops);
    return counts;
}

gt_table *gt_batch_short_ops(const gt_table *rows)
{
    static const gt_col keys[] = {GT_COL_OP};
    static const gt_aggregate sum[] = {{GT_COL_COUNT, GT_GROUP_SUM, GT_COL_COUNT}};
    static const gt_sort_key most_first[] = {{GT_COL_COUNT, true}};
    gt_table *sheet = gt_table_group(rows, keys, GT_LENGTH(keys), sum, GT_LENGTH(sum), (gt_group_options){0});
    gt_table_rename(sheet, GT_SHEET_SHORT_CPU_OP_COUNTS);
    gt_table_rename_column(sheet, 0, GT_COL_UNNAMED);
    gt_table_sort(sheet, most_first, GT_LENGTH(most_first));
    if (!sheet->row_count) return sheet;
    int64_t total = 0;
    for (size_t row = 0; row < sheet->row_count; row++)
        total += gt_table_column(sheet, GT_COL_COUNT)->ints[row];
    size_t last = gt_table_add_row(sheet);
    gt_table_set_cstr(sheet, 0, last, "Total");
    gt_table_set_int(sheet, 1, last, total);
    return sheet;
}
