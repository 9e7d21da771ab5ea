/* Short kernels: those with a duration strictly below the threshold.
 *
 *     Parent cpu_op                                     the nearest cpu_op above; then its arguments as
 * Python tuples Short Kernel duration (µs) sum                    also count and mean Short Kernel duration
 * (µs) percent of total time  sum / total_time of the timeline * 100
 *
 * Kernels without a cpu_op, and those of ops recorded without shapes, are not listed, so the percentages do
 * not add up to all short kernels. A trace of the GPU alone has only the kernel's name to group by. Equal
 * sums are in order of count, mean and first appearance. */
#include "analysis/pytorch_short_kernels.h"

#include "analysis/python_literal.h"
#include "analysis/short_kernels.h"
#include "base/memory.h"
#include "table/group.h"
#include "table/sort.h"

#include <stdlib.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const struct {
    const char *name;
    int event_column;
} arguments[] = {
    {"Input dims", GT_EVENT_INPUT_DIMS},
    {"Input strides", GT_EVENT_INPUT_STRIDES},
    {"Concrete Inputs", GT_EVENT_CONCRETE_INPUTS},
};

static const char *const op_keys[] = {"Parent cpu_op", "Input dims", "Input strides", "Concrete Inputs",
                                      "Kernel name"};
static const char *const gpu_only_keys[] = {"Kernel name"};

static const gt_aggregate of_group[] = {
    {"Kernel duration (µs)", GT_GROUP_SUM, "Short Kernel duration (µs) sum"},
    {"Kernel duration (µs)", GT_GROUP_COUNT, "Short Kernel count"},
    {"Kernel duration (µs)", GT_GROUP_MEAN, "Short Kernel duration (µs) mean"},
};

static const gt_sort_key sheet_order[] = {
    {"Short Kernel duration (µs) sum", true},
    {"Short Kernel count", false},
    {"Short Kernel duration (µs) mean", false},
};

/* Places of the short ones among the kernels; the caller frees them. */
static uint32_t *find_short(const gt_pytorch_kernels *kernels, int64_t threshold_us, size_t *count)
{
    uint32_t *places = gt_alloc(kernels->count * sizeof *places);
    *count = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        places[*count] = (uint32_t)i;
        *count += kernels->trace->dur_us[kernels->rows[i]] < (double)threshold_us;
    }
    return places;
}

gt_table *gt_pytorch_short_kernel_histogram(const gt_pytorch_kernels *kernels,
                                            const gt_pytorch_short_options *options, gt_error *error)
{
    size_t count;
    uint32_t *places = find_short(kernels, options->threshold_us, &count);
    double *dur_us = gt_alloc(count * sizeof *dur_us);
    for (size_t i = 0; i < count; i++) dur_us[i] = kernels->trace->dur_us[kernels->rows[places[i]]];
    gt_table *histogram =
        gt_short_kernel_histogram(kernels->trace->strings, dur_us, count, options->bins, error);
    free(dur_us);
    free(places);
    return histogram;
}

/* ---- the summary ---- */

/* Adds the value that each kernel's op has in an array by row. */
static void add_of_ops(gt_table *table, const char *name, const gt_pytorch_kernels *kernels,
                       const uint32_t *places, const uint32_t *values)
{
    size_t added = gt_table_add_filled(table, name, GT_TYPE_TEXT);
    for (size_t row = 0; row < table->row_count; row++) {
        uint32_t op = kernels->cpu_ops[places[row]];
        if (op != GT_NO_EVENT) table->columns[added].texts[row] = values[op];
    }
}

/* The ops' names and their arguments, as JSON still. */
static void add_ops(gt_table *table, const gt_pytorch_kernels *kernels, const uint32_t *places)
{
    const gt_pytorch *trace = kernels->trace;
    add_of_ops(table, "Parent cpu_op", kernels, places, trace->name);
    for (size_t i = 0; i < LENGTH(arguments); i++) {
        uint32_t *values = gt_store_texts(trace->store, (size_t)arguments[i].event_column);
        add_of_ops(table, arguments[i].name, kernels, places, values);
        free(values);
    }
}

static gt_table *short_kernel_table(const gt_pytorch_kernels *kernels, const uint32_t *places, size_t count)
{
    const gt_pytorch *trace = kernels->trace;
    gt_table *table = gt_table_new("short kernels", trace->strings);
    gt_table_add_rows(table, count);
    size_t added = gt_table_add_filled(table, "Kernel name", GT_TYPE_TEXT);
    uint32_t *names = table->columns[added].texts;
    for (size_t row = 0; row < count; row++) names[row] = trace->name[kernels->rows[places[row]]];
    if (!trace->gpu_only) add_ops(table, kernels, places);
    gt_pytorch_kernels_add_durations(kernels, places, table);
    return table;
}

static void write_arguments_as_python(gt_table *summary)
{
    gt_python_literals *literals = gt_python_literals_new(summary->strings, GT_PYTHON_TUPLES);
    for (size_t i = 0; i < LENGTH(arguments); i++) {
        gt_column *column = gt_table_column(summary, arguments[i].name);
        for (size_t row = 0; row < summary->row_count; row++)
            column->texts[row] = gt_python_literals_of(literals, column->texts[row]);
    }
    gt_python_literals_free(literals);
}

/* What is left of the sheet where there are short kernels and every one lacks a key: the two lines of
 * headings that pandas writes of a table without rows, which readers of these files have to know. */
static gt_table *headings_only(gt_strings *strings)
{
    static const char *const second_line[] = {"sum", "count", "mean"};
    gt_table *table = gt_table_new("short_kernels_summary", strings);
    for (size_t i = 0; i < LENGTH(second_line); i++)
        gt_table_add_column(table, "Kernel duration (µs)", GT_TYPE_TEXT);
    gt_table_add_row(table);
    for (size_t i = 0; i < LENGTH(second_line); i++) gt_table_set_cstr(table, i, 0, second_line[i]);
    return table;
}

gt_table *gt_pytorch_short_kernels_summary(const gt_pytorch_kernels *kernels,
                                           const gt_pytorch_short_options *options, double total_ms)
{
    bool gpu_only = kernels->trace->gpu_only;
    gt_strings *strings = kernels->trace->strings;
    size_t count;
    uint32_t *places = find_short(kernels, options->threshold_us, &count);
    if (!count) {
        free(places);
        return gt_table_new("short_kernels_summary", strings);
    }
    gt_table *table = short_kernel_table(kernels, places, count);
    free(places);
    gt_table *summary = gt_table_group(table, gpu_only ? gpu_only_keys : op_keys,
                                       gpu_only ? LENGTH(gpu_only_keys) : LENGTH(op_keys), of_group,
                                       LENGTH(of_group), (gt_group_options){0});
    gt_table_free(table);
    if (!summary->row_count && kernels->have_cpu_ops) {
        gt_table_free(summary);
        return headings_only(strings);
    }
    gt_table_rename(summary, "short_kernels_summary");
    gt_table_sort(summary, sheet_order, LENGTH(sheet_order));
    gt_pytorch_kernels_add_share(summary, "Short Kernel duration (µs) sum", total_ms * 1e3,
                                 "Short Kernel duration (µs) percent of total time");
    if (options->limited) gt_table_head(summary, options->topk);
    if (!gpu_only) write_arguments_as_python(summary);
    return summary;
}
