/* Sheets of kernels of a batch report.
 *
 * kernels_<rank>: every kernel of a rank, in file order, and the nearest op above its launch:
 *
 *     Parent cpu_op busy time (µs)              time in which at least one GPU event of the op ran, calls
 *                                               below it included
 *     Parent cpu_op kernel count                the number of these GPU events
 *     Percent of Parent cpu_op busy time (%)    100 if it is the only one, else duration / busy time * 100
 *
 * Kernels without an op have empty cells there.
 *
 * linked_and_short_kernels, unlinked_short_kernels_summary and short_cpu_op_counts: GPU events are kernels,
 * copies and memsets; one is linked if it has an External id, and short if it took less than 10 µs.
 * short_cpu_op_counts counts only kernels, and the op is the nearest one above the launch. */
#include "analysis/batch/batch.h"

#include "analysis/pytorch/event_columns.h"
#include "compat/python_literal.h"

/* ---- kernels_<rank> ---- */

static const struct {
    gt_col name;
    size_t event_column;
} arguments[] = {
    {GT_COL_SHORT_KERNEL_INPUT_DIMS, GT_EVENT_INPUT_DIMS},
    {GT_COL_INPUT_TYPES, GT_EVENT_INPUT_TYPES},
    {GT_COL_SHORT_KERNEL_INPUT_STRIDES, GT_EVENT_INPUT_STRIDES},
    {GT_COL_CONCRETE_INPUTS, GT_EVENT_CONCRETE_INPUTS},
};

static void add_uids(gt_table *table, gt_col name, const gt_linked_view *trace, const uint32_t *rows)
{
    size_t column = gt_table_add_column(table, name, GT_TYPE_INT);
    for (size_t i = 0; i < table->row_count; i++)
        if (rows[i] != GT_NO_EVENT) gt_table_set_int(table, column, i, gt_event_uid(&trace->events, rows[i]));
}

static void add_names(gt_table *table, gt_col name, const gt_linked_view *trace, const uint32_t *rows)
{
    size_t column = gt_table_add_column(table, name, GT_TYPE_STRING);
    for (size_t i = 0; i < table->row_count; i++)
        if (rows[i] != GT_NO_EVENT) table->columns[column].texts[i] = trace->name[rows[i]];
}

static void add_arguments(gt_table *table, const gt_pytorch_kernels *kernels)
{
    gt_python_literals *literals = gt_python_literals_new(table->strings, GT_PYTHON_TUPLES);
    for (size_t a = 0; a < GT_LENGTH(arguments); a++) {
        gt_table_add_event_strings(table, arguments[a].name, &kernels->trace->events,
                                   arguments[a].event_column, kernels->cpu_ops);
        uint32_t *texts = table->columns[table->column_count - 1].texts;
        for (size_t i = 0; i < table->row_count; i++) texts[i] = gt_python_literals_of(literals, texts[i]);
    }
    gt_python_literals_free(literals);
    gt_table_add_event_strings(table, GT_COL_KERNEL_FILE, &kernels->trace->events, GT_EVENT_KERNEL_FILE,
                               kernels->cpu_ops);
}

/* The GPU events of an op. */
typedef struct op_gpu {
    double busy_us;
    size_t count;
} op_gpu;

/* A cache of these, because the kernels of an op may be anywhere in the file. */
typedef struct op_gpus {
    const gt_linked_view *trace;
    gt_calls *calls;
    gt_map places; /* from an op to its index in items */
    op_gpu *items;
    size_t count, capacity;
    gt_row_list below;
    gt_intervals spare;
} op_gpus;

static op_gpu work_of(op_gpus *works, uint32_t op)
{
    uint32_t *place = gt_map_put(&works->places, op, 0);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)works->count;
        works->below.count = 0;
        gt_calls_add_gpu_events(works->calls, op, &works->below);
        op_gpu work = {
            gt_busy_time(&works->trace->events, works->below.items, works->below.count, &works->spare).us,
            works->below.count};
        GT_PUSH(works->items, works->count, works->capacity, work);
    }
    return works->items[*place];
}

static void add_work(gt_table *table, const gt_pytorch_kernels *kernels)
{
    size_t busy = gt_table_add_column(table, GT_COL_PARENT_CPU_OP_BUSY_TIME_US, GT_TYPE_FLOAT);
    size_t count = gt_table_add_column(table, GT_COL_PARENT_CPU_OP_KERNEL_COUNT, GT_TYPE_INT);
    size_t percent = gt_table_add_column(table, GT_COL_PERCENT_OF_PARENT_CPU_OP_BUSY_TIME_PCT, GT_TYPE_FLOAT);
    op_gpus works = {.trace = kernels->trace, .calls = gt_calls_new(kernels->trace)};
    for (size_t i = 0; i < kernels->count; i++) {
        if (kernels->cpu_ops[i] == GT_NO_EVENT) continue;
        op_gpu work = work_of(&works, kernels->cpu_ops[i]);
        double dur_us = kernels->trace->dur_us[kernels->rows[i]];
        double share = work.busy_us > 0 ? dur_us / work.busy_us * 100 : (double)NAN;
        gt_table_set_float(table, busy, i, work.busy_us);
        gt_table_set_int(table, count, i, (int64_t)work.count);
        gt_table_set_float(table, percent, i, work.count == 1 ? 100 : share);
    }
    gt_calls_free(works.calls);
    gt_map_free(&works.places);
    gt_free_all(works.items, works.below.items);
    gt_intervals_free(&works.spare);
}

gt_table *gt_batch_kernels_of_rank(const gt_pytorch_kernels *kernels, int64_t rank)
{
    const gt_linked_view *trace = kernels->trace;
    char *name = gt_format("kernels_%lld", (long long)rank);
    gt_table *table = gt_table_new(gt_sheet_named(name), trace->strings);
    gt_free(name);
    gt_table_add_rows(table, kernels->count);
    add_uids(table, GT_COL_UID, trace, kernels->rows);
    add_names(table, GT_COL_KERNEL_NAME, trace, kernels->rows);
    gt_table_add_event_times(
        table, GT_COL_KERNEL_T_START, &trace->events, GT_INTEGRAL_START, kernels->rows,
        gt_event_times_are_whole(&trace->events, GT_INTEGRAL_START, kernels->rows, kernels->count));
    gt_table_add_event_times(table, GT_COL_KERNEL_DURATION_US, &trace->events, GT_INTEGRAL_DURATION,
                             kernels->rows, kernels->whole);
    gt_table_add_event_strings(table, GT_COL_KERNEL_STREAM, &trace->events, GT_EVENT_STREAM, kernels->rows);
    gt_table_read_json(table, GT_COL_KERNEL_STREAM);
    add_uids(table, GT_COL_PARENT_CPU_OP_UID, trace, kernels->cpu_ops);
    add_names(table, GT_COL_PARENT_CPU_OP, trace, kernels->cpu_ops);
    add_arguments(table, kernels);
    add_work(table, kernels);
    return table;
}

/* ---- linked and short kernels ---- */

static const double SHORT_US = 10;

static const char *const gpu_categories[] = {
    [GT_KIND_KERNEL] = "kernel",
    [GT_KIND_MEMCPY] = "gpu_memcpy",
    [GT_KIND_MEMSET] = "gpu_memset",
};

/* 0 for an event without a duration. */
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

/* ---- unlinked_short_kernels_summary: of any duration ---- */

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
