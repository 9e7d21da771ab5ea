/* Figures as columns. */
#include "analysis/pytorch/op_metrics.h"
#include "base/length.h"
#include "schema/columns.h"

#include <math.h>
#include <stddef.h>

typedef enum group { FIGURES, ROOFLINE, SIMULATED } group;

static const struct {
    gt_col name;
    group group;
    size_t offset; /* of a double in gt_metrics */
} numbers[] = {
    {GT_COL_GFLOPS, FIGURES, offsetof(gt_metrics, gflops)},
    {GT_COL_DATA_MOVED_MB, FIGURES, offsetof(gt_metrics, data_moved_mb)},
    {GT_COL_FLOPS_PER_BYTE, FIGURES, offsetof(gt_metrics, flops_per_byte)},
    {GT_COL_TB_PER_S, FIGURES, offsetof(gt_metrics, tb_per_s)},
    {GT_COL_TFLOPS_PER_S, FIGURES, offsetof(gt_metrics, tflops_per_s)},
    {GT_COL_ROOFLINE_TIME_US, ROOFLINE, offsetof(gt_metrics, roofline_us)},
    {GT_COL_PCT_ROOFLINE, ROOFLINE, offsetof(gt_metrics, pct_roofline)},
    {GT_COL_ORIGAMI_TIME_US, SIMULATED, offsetof(gt_metrics, simulated_us)},
    {GT_COL_ORIGAMI_TFLOPS_PER_S, SIMULATED, offsetof(gt_metrics, simulated_tflops_per_s)},
    {GT_COL_ORIGAMI_TB_PER_S, SIMULATED, offsetof(gt_metrics, simulated_tb_per_s)},
    {GT_COL_PCT_ORIGAMI, SIMULATED, offsetof(gt_metrics, pct_simulated)},
};

static void add_number(gt_table *table, const gt_op_metrics *metrics, gt_col name, size_t offset)
{
    size_t column = gt_table_add_zeroed(table, name, GT_TYPE_FLOAT);
    double *cells = table->columns[column].floats;
    for (size_t row = 0; row < table->row_count; row++)
        cells[row] = metrics[row].result ? *(const double *)((const char *)&metrics[row].figures + offset)
                                         : (double)NAN;
}

/* Neighbours mostly have the same text, so it is not looked for again. */
static void add_texts(gt_table *table, const gt_op_metrics *metrics, gt_col name, bool bound)
{
    size_t column = gt_table_add_zeroed(table, name, GT_TYPE_STRING);
    const char *before = NULL;
    uint32_t id = GT_STR_NONE;
    for (size_t row = 0; row < table->row_count; row++) {
        const gt_op_metrics *m = &metrics[row];
        const char *text = !m->result ? NULL
                           : bound    ? gt_bound_name(m->figures.bound)
                                      : m->result->compute_spec;
        if (text && text != before) id = gt_interner_add_cstr(table->strings, before = text);
        table->columns[column].texts[row] = text ? id : GT_STR_NONE;
    }
}

static void add_kernel_time(gt_table *table, const gt_op_metrics *metrics)
{
    bool whole = true;
    for (size_t row = 0; row < table->row_count; row++)
        whole &= metrics[row].busy.integral && fabs(metrics[row].busy.us) < 0x1p53;
    size_t index = gt_table_add_zeroed(table, GT_COL_KERNEL_TIME_US, whole ? GT_TYPE_INT : GT_TYPE_FLOAT);
    gt_column *column = &table->columns[index];
    for (size_t row = 0; row < table->row_count; row++) {
        if (whole)
            column->ints[row] = (int64_t)metrics[row].busy.us;
        else
            column->floats[row] = metrics[row].busy.us;
    }
}

void gt_op_metrics_add_columns(gt_table *table, const gt_op_metrics *metrics)
{
    bool any[] = {[FIGURES] = false, [ROOFLINE] = false, [SIMULATED] = false};
    for (size_t row = 0; row < table->row_count; row++) {
        if (!metrics[row].result) continue;
        any[FIGURES] = true;
        any[ROOFLINE] |= metrics[row].figures.bound != GT_BOUND_UNKNOWN;
        any[SIMULATED] |= !isnan(metrics[row].figures.simulated_us);
    }
    for (size_t i = 0; i < GT_LENGTH(numbers); i++)
        if (any[numbers[i].group]) add_number(table, metrics, numbers[i].name, numbers[i].offset);
    if (any[FIGURES]) add_texts(table, metrics, GT_COL_COMPUTE_SPEC, false);
    if (any[ROOFLINE]) add_texts(table, metrics, GT_COL_ROOFLINE_BOUND, true);
    add_kernel_time(table, metrics);
}
