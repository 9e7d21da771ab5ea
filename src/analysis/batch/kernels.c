/* Every kernel of a rank, in file order, and the nearest op above its launch:
 *
 *     Parent cpu_op busy time (µs)              time in which at least one GPU event of the op ran, calls
 * below included Parent cpu_op kernel count                those GPU events Percent of Parent cpu_op busy
 * time (%)    100 where it is the only one, else duration / busy time * 100
 *
 * Kernels without an op have empty cells there. */
#include "analysis/batch/batch.h"

#include "analysis/pytorch/event_columns.h"
#include "compat/python_literal.h"
#include "base/length.h"
#include "base/map.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "trace/pytorch/pytorch.h"
#include "trace/pytorch/calls.h"

#include <math.h>
#include <stdlib.h>

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
        if (rows[i] != GT_NO_EVENT) gt_table_set_int(table, column, i, trace->uid[rows[i]]);
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

/* What an op sent to the GPU. */
typedef struct op_work {
    double busy_us;
    size_t count;
} op_work;

/* What ops sent, each asked for once: their kernels may stand anywhere in the file. */
typedef struct op_works {
    const gt_linked_view *trace;
    gt_calls *calls;
    gt_map places; /* op to its place in: */
    op_work *items;
    size_t count, capacity;
    gt_row_list below;
    gt_intervals spare;
} op_works;

static op_work work_of(op_works *works, uint32_t op)
{
    uint32_t *place = gt_map_put(&works->places, op, 0);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)works->count;
        works->below.count = 0;
        gt_calls_add_gpu_events(works->calls, op, &works->below);
        op_work work = {
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
    op_works works = {.trace = kernels->trace, .calls = gt_calls_new(kernels->trace)};
    for (size_t i = 0; i < kernels->count; i++) {
        if (kernels->cpu_ops[i] == GT_NO_EVENT) continue;
        op_work work = work_of(&works, kernels->cpu_ops[i]);
        double dur_us = kernels->trace->dur_us[kernels->rows[i]];
        double share = work.busy_us > 0 ? dur_us / work.busy_us * 100 : (double)NAN;
        gt_table_set_float(table, busy, i, work.busy_us);
        gt_table_set_int(table, count, i, (int64_t)work.count);
        gt_table_set_float(table, percent, i, work.count == 1 ? 100 : share);
    }
    gt_calls_free(works.calls);
    gt_map_free(&works.places);
    gt_free(works.items);
    gt_free(works.below.items);
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
