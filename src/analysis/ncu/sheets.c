/* How long does each kernel take, and what limits it?
 *
 * ncu_kernels: kernel, grid, block, launches, total_us, mean_us, min_us, max_us, percent (of the total time
 * of all launches), sm_pct, memory_pct, dram_pct, achieved_occupancy_pct, theoretical_occupancy_pct,
 * waves_per_sm (means, weighted by the duration of the launches), dram_bytes (sum), dram_gb_per_s,
 * registers_per_thread, shared_memory_bytes (the largest).
 *
 * ncu_launches: id, process, device, stream, kernel, grid, block, duration_us and the same figures. */
#include "analysis/ncu/sheets.h"
#include "base/log.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- launches of the same kernel ---- */

static int compare_ids(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

static int by_kernel(const void *a, const void *b, void *context)
{
    const gt_ncu *trace = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const gt_ncu_launch *p = &trace->launches[x], *q = &trace->launches[y];
    int order = compare_ids(p->kernel, q->kernel);
    if (!order) order = compare_ids(p->grid, q->grid);
    if (!order) order = compare_ids(p->block, q->block);
    return order ? order : compare_ids(x, y);
}

static double figure(const double *figures, uint32_t launch, gt_ncu_figure which)
{
    return figures[(size_t)launch * GT_NCU_FIGURES + which];
}

typedef struct kernel_span {
    size_t first, end;
    double total_us;
    uint32_t launch; /* the first one */
} kernel_span;

static int by_time(const void *a, const void *b)
{
    const kernel_span *x = a, *y = b;
    if (x->total_us != y->total_us) return x->total_us > y->total_us ? -1 : 1;
    return compare_ids(x->launch, y->launch);
}

gt_ncu_kernels gt_ncu_kernels_find(const gt_ncu *trace, const double *figures)
{
    size_t count = trace->launch_count, spans = 0;
    uint32_t *order = gt_alloc((count + 1) * sizeof *order);
    kernel_span *span = gt_alloc_zero(count + 1, sizeof *span);
    for (size_t i = 0; i < count; i++) order[i] = (uint32_t)i;
    qsort_r(order, count, sizeof *order, by_kernel, (void *)trace);
    for (size_t i = 0; i < count; i++) {
        const gt_ncu_launch *now = &trace->launches[order[i]];
        const gt_ncu_launch *last = i ? &trace->launches[order[i - 1]] : NULL;
        if (!last || last->kernel != now->kernel || last->grid != now->grid || last->block != now->block)
            span[spans++] = (kernel_span){.first = i, .launch = order[i]};
        double us = figure(figures, order[i], GT_NCU_DURATION_US);
        span[spans - 1].end = i + 1;
        if (!isnan(us)) span[spans - 1].total_us += us;
    }
    qsort(span, spans, sizeof *span, by_time);
    gt_ncu_kernels kernels = {.launches = gt_alloc((count + 1) * sizeof *kernels.launches),
                              .first = gt_alloc((spans + 1) * sizeof *kernels.first),
                              .count = spans};
    size_t at = 0;
    for (size_t k = 0; k < spans; k++) {
        kernels.first[k] = at;
        size_t n = span[k].end - span[k].first;
        memcpy(kernels.launches + at, order + span[k].first, n * sizeof *order);
        at += n;
    }
    kernels.first[spans] = at;
    gt_free(span);
    gt_free(order);
    return kernels;
}

void gt_ncu_kernels_free(gt_ncu_kernels *kernels)
{
    gt_free(kernels->launches);
    gt_free(kernels->first);
}

/* ---- ncu_kernels ---- */

/* The mean, weighted by the duration; NaN if no launch has both. */
static double weighted(const double *figures, const uint32_t *launches, size_t count, gt_ncu_figure which)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < count; i++) {
        double value = figure(figures, launches[i], which),
               us = figure(figures, launches[i], GT_NCU_DURATION_US);
        if (isnan(value) || isnan(us)) continue;
        sum += value * us;
        weights += us;
    }
    if (weights > 0) return sum / weights;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        double value = figure(figures, launches[i], which);
        if (isnan(value)) continue;
        weights += value;
        n++;
    }
    return n ? weights / (double)n : NAN;
}

typedef struct ncu_span {
    double sum, min, max;
    size_t count;
} ncu_span;

static ncu_span span_of(const double *figures, const uint32_t *launches, size_t count, gt_ncu_figure which)
{
    ncu_span span = {.min = INFINITY, .max = -INFINITY};
    for (size_t i = 0; i < count; i++) {
        double value = figure(figures, launches[i], which);
        if (isnan(value)) continue;
        span.sum += value;
        if (value < span.min) span.min = value;
        if (value > span.max) span.max = value;
        span.count++;
    }
    return span;
}

static void set(gt_table *table, size_t column, size_t row, double value)
{
    if (isfinite(value)) gt_table_set_float(table, column, row, value);
}

static void set_whole(gt_table *table, size_t column, size_t row, double value)
{
    if (isfinite(value) && fabs(value) < 9e15) gt_table_set_int(table, column, row, (int64_t)value);
}

enum { FIGURE_COLUMNS = 10 };
static const gt_column_head figure_heads[FIGURE_COLUMNS] = {
    {GT_COL_SM_PCT, GT_TYPE_FLOAT},
    {GT_COL_MEMORY_PCT, GT_TYPE_FLOAT},
    {GT_COL_DRAM_PCT, GT_TYPE_FLOAT},
    {GT_COL_ACHIEVED_OCCUPANCY_PCT, GT_TYPE_FLOAT},
    {GT_COL_THEORETICAL_OCCUPANCY_PCT, GT_TYPE_FLOAT},
    {GT_COL_WAVES_PER_SM, GT_TYPE_FLOAT},
    {GT_COL_DRAM_BYTES, GT_TYPE_FLOAT},
    {GT_COL_DRAM_GB_PER_S, GT_TYPE_FLOAT},
    {GT_COL_REGISTERS_PER_THREAD, GT_TYPE_INT},
    {GT_COL_SHARED_MEMORY_BYTES, GT_TYPE_INT},
};

/* Fills the columns of figure_heads from `column` on. */
static void set_figures(gt_table *table, size_t row, size_t column, const double *figures,
                        const uint32_t *launches, size_t count)
{
    static const gt_ncu_figure means[] = {GT_NCU_SM_PCT,        GT_NCU_MEMORY_PCT,      GT_NCU_DRAM_PCT,
                                          GT_NCU_OCCUPANCY_PCT, GT_NCU_THEORETICAL_PCT, GT_NCU_WAVES};
    for (size_t i = 0; i < GT_LENGTH(means); i++)
        set(table, column + i, row, weighted(figures, launches, count, means[i]));
    ncu_span bytes = span_of(figures, launches, count, GT_NCU_DRAM_BYTES);
    ncu_span time = span_of(figures, launches, count, GT_NCU_DURATION_US);
    if (bytes.count) set(table, column + 6, row, bytes.sum);
    if (bytes.count && bytes.count == time.count && time.sum > 0)
        set(table, column + 7, row, bytes.sum / time.sum / 1e3);
    set_whole(table, column + 8, row, span_of(figures, launches, count, GT_NCU_REGISTERS).max);
    set_whole(table, column + 9, row, span_of(figures, launches, count, GT_NCU_SHARED_BYTES).max);
}

gt_table *gt_ncu_kernels_sheet(const gt_ncu *trace, const double *figures, const gt_ncu_kernels *kernels)
{
    static const gt_column_head heads[] = {
        {GT_COL_KERNEL, GT_TYPE_STRING}, {GT_COL_GRID, GT_TYPE_STRING},    {GT_COL_BLOCK, GT_TYPE_STRING},
        {GT_COL_LAUNCHES, GT_TYPE_INT},  {GT_COL_TOTAL_US, GT_TYPE_FLOAT}, {GT_COL_MEAN_US, GT_TYPE_FLOAT},
        {GT_COL_MIN_US, GT_TYPE_FLOAT},  {GT_COL_MAX_US, GT_TYPE_FLOAT},   {GT_COL_PERCENT, GT_TYPE_FLOAT}};
    gt_table *table = gt_table_new(GT_SHEET_NCU_KERNELS, trace->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    gt_table_add_columns(table, figure_heads, FIGURE_COLUMNS);
    double total = 0;
    for (size_t i = 0; i < trace->launch_count; i++) {
        double us = figure(figures, (uint32_t)i, GT_NCU_DURATION_US);
        if (!isnan(us)) total += us;
    }
    for (size_t k = 0; k < kernels->count; k++) {
        const uint32_t *launches = kernels->launches + kernels->first[k];
        size_t count = kernels->first[k + 1] - kernels->first[k], row = gt_table_add_row(table);
        const gt_ncu_launch *launch = &trace->launches[launches[0]];
        ncu_span time = span_of(figures, launches, count, GT_NCU_DURATION_US);
        gt_table_set_string(table, 0, row, launch->kernel);
        gt_table_set_string(table, 1, row, launch->grid);
        gt_table_set_string(table, 2, row, launch->block);
        gt_table_set_int(table, 3, row, (int64_t)count);
        if (time.count) {
            set(table, 4, row, time.sum);
            set(table, 5, row, time.sum / (double)time.count);
            set(table, 6, row, time.min);
            set(table, 7, row, time.max);
            if (total > 0) set(table, 8, row, 100 * time.sum / total);
        }
        set_figures(table, row, GT_LENGTH(heads), figures, launches, count);
    }
    return table;
}

gt_table *gt_ncu_launches_sheet(const gt_ncu *trace, const double *figures)
{
    static const gt_column_head heads[] = {
        {GT_COL_ID, GT_TYPE_INT},        {GT_COL_PROCESS, GT_TYPE_STRING},   {GT_COL_DEVICE, GT_TYPE_STRING},
        {GT_COL_STREAM, GT_TYPE_STRING}, {GT_COL_KERNEL, GT_TYPE_STRING},    {GT_COL_GRID, GT_TYPE_STRING},
        {GT_COL_BLOCK, GT_TYPE_STRING},  {GT_COL_DURATION_US, GT_TYPE_FLOAT}};
    gt_table *table = gt_table_new(GT_SHEET_NCU_LAUNCHES, trace->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    gt_table_add_columns(table, figure_heads, FIGURE_COLUMNS);
    for (size_t i = 0; i < trace->launch_count; i++) {
        const gt_ncu_launch *launch = &trace->launches[i];
        uint32_t index = (uint32_t)i, strings[] = {launch->process, launch->device, launch->stream,
                                                   launch->kernel,  launch->grid,   launch->block};
        size_t row = gt_table_add_row(table);
        if (launch->id >= 0) gt_table_set_int(table, 0, row, launch->id);
        for (size_t s = 0; s < GT_LENGTH(strings); s++)
            if (strings[s] != GT_STR_EMPTY) gt_table_set_string(table, 1 + s, row, strings[s]);
        set(table, 7, row, figure(figures, index, GT_NCU_DURATION_US));
        set_figures(table, row, GT_LENGTH(heads), figures, &index, 1);
    }
    return table;
}

/* ---- all sheets ---- */

void gt_ncu_tables(const gt_ncu *trace, gt_table_list *tables)
{
    if (!trace->launch_count) gt_warn("ncu profiled no kernels");
    double *figures = gt_ncu_figures(trace);
    gt_ncu_kernels kernels = gt_ncu_kernels_find(trace, figures);
    gt_table_list_add(tables, gt_ncu_kernels_sheet(trace, figures, &kernels));
    gt_table_list_add(tables, gt_ncu_launches_sheet(trace, figures));
    gt_table_list_add(tables, gt_ncu_details_sheet(trace, &kernels));
    gt_ncu_kernels_free(&kernels);
    gt_free(figures);
}
