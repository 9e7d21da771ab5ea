/* Short kernels: those with a duration strictly below the threshold.
 *
 *     Parent cpu_op                      the nearest cpu_op above, and its arguments as Python tuples
 *     Short Kernel duration (µs) sum     and count and mean
 *       ... percent of total time        sum / total_time of the timeline * 100
 *
 * Kernels without a cpu_op, and those of ops recorded without shapes, are not listed, so the percentages do
 * not add up to all short kernels. A trace of the GPU alone has only the kernel's name to group by. Equal
 * sums are in order of count, mean and first appearance. */
#include "analysis/pytorch/short_kernels.h"

#include "analysis/pytorch/event_columns.h"
#include "compat/python_literal.h"
#include "analysis/rocprof/short_kernels.h"
#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <stdlib.h>

static const struct {
    gt_col name;
    size_t event_column;
} arguments[] = {
    {GT_COL_SHORT_KERNEL_INPUT_DIMS, GT_EVENT_INPUT_DIMS},
    {GT_COL_SHORT_KERNEL_INPUT_STRIDES, GT_EVENT_INPUT_STRIDES},
    {GT_COL_CONCRETE_INPUTS, GT_EVENT_CONCRETE_INPUTS},
};

static const gt_col op_keys[] = {GT_COL_PARENT_CPU_OP, GT_COL_SHORT_KERNEL_INPUT_DIMS,
                                 GT_COL_SHORT_KERNEL_INPUT_STRIDES, GT_COL_CONCRETE_INPUTS,
                                 GT_COL_KERNEL_NAME};
static const gt_col gpu_only_keys[] = {GT_COL_KERNEL_NAME};

static const gt_aggregate of_group[] = {
    {GT_COL_KERNEL_DURATION_US, GT_GROUP_SUM, GT_COL_SHORT_KERNEL_DURATION_US_SUM},
    {GT_COL_KERNEL_DURATION_US, GT_GROUP_COUNT, GT_COL_SHORT_KERNEL_COUNT},
    {GT_COL_KERNEL_DURATION_US, GT_GROUP_MEAN, GT_COL_SHORT_KERNEL_DURATION_US_MEAN},
};

static const gt_sort_key sheet_order[] = {
    {GT_COL_SHORT_KERNEL_DURATION_US_SUM, true},
    {GT_COL_SHORT_KERNEL_COUNT, false},
    {GT_COL_SHORT_KERNEL_DURATION_US_MEAN, false},
};

/* The kernels below the threshold; free them as all are freed. */
static gt_pytorch_kernels find_short(const gt_pytorch_kernels *all, int64_t threshold_us)
{
    gt_pytorch_kernels kernels = *all;
    kernels.rows = gt_alloc(all->count * sizeof *kernels.rows);
    kernels.cpu_ops = gt_alloc(all->count * sizeof *kernels.cpu_ops);
    kernels.count = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (!(all->trace->dur_us[all->rows[i]] < (double)threshold_us)) continue;
        kernels.rows[kernels.count] = all->rows[i];
        kernels.cpu_ops[kernels.count++] = all->cpu_ops[i];
    }
    return kernels;
}

gt_table *gt_pytorch_short_kernel_histogram(const gt_pytorch_kernels *all,
                                            const gt_pytorch_short_options *options, gt_error *error)
{
    gt_pytorch_kernels kernels = find_short(all, options->threshold_us);
    double *dur_us = gt_alloc(kernels.count * sizeof *dur_us);
    for (size_t i = 0; i < kernels.count; i++) dur_us[i] = kernels.trace->dur_us[kernels.rows[i]];
    gt_table *histogram =
        gt_short_kernel_histogram(kernels.trace->strings, dur_us, kernels.count, options->bins, error);
    gt_free(dur_us);
    gt_pytorch_kernels_free(&kernels);
    return histogram;
}

/* ---- the summary ---- */

static void add_names(gt_table *table, gt_col column, const gt_linked_view *trace, const uint32_t *rows)
{
    size_t added = gt_table_add_column(table, column, GT_TYPE_STRING);
    for (size_t i = 0; i < table->row_count; i++)
        if (rows[i] != GT_NO_EVENT) table->columns[added].texts[i] = trace->name[rows[i]];
}

/* One row a kernel; arguments are JSON still. */
static gt_table *kernel_table(const gt_pytorch_kernels *kernels)
{
    const gt_linked_view *trace = kernels->trace;
    gt_table *table = gt_table_new(GT_SHEET_SHORT_KERNELS, trace->strings);
    gt_table_add_rows(table, kernels->count);
    add_names(table, GT_COL_KERNEL_NAME, trace, kernels->rows);
    add_names(table, GT_COL_PARENT_CPU_OP, trace, kernels->cpu_ops);
    for (size_t i = 0; !trace->gpu_only && i < GT_LENGTH(arguments); i++)
        gt_table_add_event_strings(table, arguments[i].name, &trace->events, arguments[i].event_column,
                                   kernels->cpu_ops);
    gt_table_add_event_times(table, GT_COL_KERNEL_DURATION_US, &trace->events, GT_INTEGRAL_DURATION, kernels->rows,
                             kernels->whole);
    return table;
}

static void write_arguments_as_python(gt_table *summary)
{
    gt_python_literals *literals = gt_python_literals_new(summary->strings, GT_PYTHON_TUPLES);
    for (size_t i = 0; i < GT_LENGTH(arguments); i++) {
        gt_column *column = gt_table_column(summary, arguments[i].name);
        for (size_t row = 0; row < summary->row_count; row++)
            column->texts[row] = gt_python_literals_of(literals, column->texts[row]);
    }
    gt_python_literals_free(literals);
}

/* What is left of the sheet where there are short kernels and every one lacks a key: the two lines of
 * headings that pandas writes of a table without rows, which readers of these files have to know. */
static gt_table *headings_only(gt_interner *strings)
{
    static const char *const second_line[] = {"sum", "count", "mean"};
    gt_table *table = gt_table_new(GT_SHEET_SHORT_KERNELS_SUMMARY, strings);
    for (size_t i = 0; i < GT_LENGTH(second_line); i++)
        gt_table_add_column(table, GT_COL_KERNEL_DURATION_US, GT_TYPE_STRING);
    gt_table_add_row(table);
    for (size_t i = 0; i < GT_LENGTH(second_line); i++) gt_table_set_cstr(table, i, 0, second_line[i]);
    return table;
}

gt_table *gt_pytorch_short_kernels_summary(const gt_pytorch_kernels *all,
                                           const gt_pytorch_short_options *options, double total_ms)
{
    bool gpu_only = all->trace->gpu_only;
    gt_interner *strings = all->trace->strings;
    gt_pytorch_kernels kernels = find_short(all, options->threshold_us);
    gt_table *table = kernel_table(&kernels);
    gt_pytorch_kernels_free(&kernels);
    if (!table->row_count) {
        gt_table_free(table);
        return gt_table_new(GT_SHEET_SHORT_KERNELS_SUMMARY, strings);
    }
    gt_table *summary = gt_table_group(table, gpu_only ? gpu_only_keys : op_keys,
                                       gpu_only ? GT_LENGTH(gpu_only_keys) : GT_LENGTH(op_keys), of_group,
                                       GT_LENGTH(of_group), (gt_group_options){0});
    gt_table_free(table);
    if (!summary->row_count && all->have_cpu_ops) {
        gt_table_free(summary);
        return headings_only(strings);
    }
    gt_table_rename(summary, GT_SHEET_SHORT_KERNELS_SUMMARY);
    gt_table_sort(summary, sheet_order, GT_LENGTH(sheet_order));
    gt_pytorch_kernels_add_share(summary, GT_COL_SHORT_KERNEL_DURATION_US_SUM, total_ms * 1e3,
                                 GT_COL_SHORT_KERNEL_DURATION_US_PERCENT_OF_TOTAL_TIME);
    if (options->limited) gt_table_head(summary, options->topk);
    if (!gpu_only) write_arguments_as_python(summary);
    return summary;
}
