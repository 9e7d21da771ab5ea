/* What was measured of each kernel? ncu_details: kernel, grid, block, section, metric, unit, launches (with
 * that metric), mean, min, max; text, if the values are not numbers: the value if all launches have the same,
 * else how many there are. Kernels in the order of ncu_kernels, metrics in the order of the file. */
#include "analysis/ncu/sheets.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A value with its place in the sheet. */
typedef struct placed_value {
    size_t value;
    uint32_t kernel;
    uint32_t metric; /* number of its section, metric and unit, in the order of the file */
} placed_value;

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_metric(const void *a, const void *b, void *context)
{
    const gt_ncu *trace = context;
    size_t i = ((const placed_value *)a)->value, j = ((const placed_value *)b)->value;
    const gt_ncu_value *x = &trace->values[i], *y = &trace->values[j];
    int order = compare_numbers(x->metric, y->metric);
    if (!order) order = compare_numbers(x->section, y->section);
    if (!order) order = compare_numbers(x->unit, y->unit);
    return order ? order : compare_numbers(i, j);
}

static int by_place(const void *a, const void *b)
{
    const placed_value *x = a, *y = b;
    int order = compare_numbers(x->kernel, y->kernel);
    if (!order) order = compare_numbers(x->metric, y->metric);
    return order ? order : compare_numbers(x->value, y->value);
}

static bool is_same_metric(const gt_ncu_value *x, const gt_ncu_value *y)
{
    return x->metric == y->metric && x->section == y->section && x->unit == y->unit;
}

/* Gives each value the number of its metric: the index of the first value with the same one, which orders
 * metrics as the file does. */
static void number_metrics(const gt_ncu *trace, placed_value *placed)
{
    qsort_r(placed, trace->value_count, sizeof *placed, by_metric, (void *)trace);
    size_t first = 0;
    for (size_t i = 0; i < trace->value_count; i++) {
        if (i && !is_same_metric(&trace->values[placed[i].value], &trace->values[placed[i - 1].value]))
            first = i;
        placed[i].metric = (uint32_t)placed[first].value;
    }
}

static void set_text(gt_table *table, size_t row, const gt_ncu *trace, const placed_value *values,
                     size_t count)
{
    uint32_t first = GT_STR_NONE;
    size_t others = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t text = trace->values[values[i].value].text;
        if (!text) continue;
        if (!first) first = text;
        others += text != first;
    }
    if (!first) return;
    char note[64];
    snprintf(note, sizeof note, "%zu launches differ", others);
    if (others)
        gt_table_set_cstr(table, 10, row, note);
    else
        gt_table_set_string(table, 10, row, first);
}

static void add_row(gt_table *table, const gt_ncu *trace, const placed_value *values, size_t count)
{
    const gt_ncu_value *value = &trace->values[values[0].value];
    const gt_ncu_launch *launch = &trace->launches[value->launch];
    size_t row = gt_table_add_row(table), numbers = 0;
    double sum = 0, min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        double number = trace->values[values[i].value].number;
        if (isnan(number)) continue;
        sum += number;
        if (number < min) min = number;
        if (number > max) max = number;
        numbers++;
    }
    gt_table_set_string(table, 0, row, launch->kernel);
    gt_table_set_string(table, 1, row, launch->grid);
    gt_table_set_string(table, 2, row, launch->block);
    if (value->section > GT_STR_EMPTY) gt_table_set_string(table, 3, row, value->section);
    gt_table_set_string(table, 4, row, value->metric);
    if (value->unit > GT_STR_EMPTY) gt_table_set_string(table, 5, row, value->unit);
    gt_table_set_int(table, 6, row, (int64_t)count);
    if (numbers) {
        gt_table_set_float(table, 7, row, sum / (double)numbers);
        gt_table_set_float(table, 8, row, min);
        gt_table_set_float(table, 9, row, max);
    }
    set_text(table, row, trace, values, count);
}

gt_table *gt_ncu_details_sheet(const gt_ncu *trace, const gt_ncu_kernels *kernels)
{
    static const gt_column_head heads[] = {
        {GT_COL_KERNEL, GT_TYPE_STRING},  {GT_COL_GRID, GT_TYPE_STRING},       {GT_COL_BLOCK, GT_TYPE_STRING},
        {GT_COL_SECTION, GT_TYPE_STRING}, {GT_COL_NCU_METRIC, GT_TYPE_STRING}, {GT_COL_UNIT, GT_TYPE_STRING},
        {GT_COL_LAUNCHES, GT_TYPE_INT},   {GT_COL_MEAN, GT_TYPE_FLOAT},        {GT_COL_MIN, GT_TYPE_FLOAT},
        {GT_COL_MAX, GT_TYPE_FLOAT},      {GT_COL_TEXT, GT_TYPE_STRING}};
    gt_table *table = gt_table_new(GT_SHEET_NCU_DETAILS, trace->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    uint32_t *kernel_of = gt_alloc((trace->launch_count + 1) * sizeof *kernel_of);
    for (size_t k = 0; k < kernels->count; k++)
        for (size_t i = kernels->first[k]; i < kernels->first[k + 1]; i++)
            kernel_of[kernels->launches[i]] = (uint32_t)k;
    placed_value *placed = gt_alloc((trace->value_count + 1) * sizeof *placed);
    for (size_t i = 0; i < trace->value_count; i++)
        placed[i] = (placed_value){.value = i, .kernel = kernel_of[trace->values[i].launch]};
    number_metrics(trace, placed);
    qsort(placed, trace->value_count, sizeof *placed, by_place);
    for (size_t i = 0, end; i < trace->value_count; i = end) {
        end = i + 1;
        while (end < trace->value_count && placed[end].kernel == placed[i].kernel &&
               placed[end].metric == placed[i].metric)
            end++;
        add_row(table, trace, placed + i, end - i);
    }
    gt_free(placed);
    gt_free(kernel_of);
    return table;
}
