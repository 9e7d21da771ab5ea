/* Ops as rows of a table: names, arguments, overlap, and the figures of their models as columns. */
#include "analysis/pytorch/op_rows.h"

#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* ---- figures ---- */

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

/* Neighbouring rows mostly have the same string, so it is interned only if it changes. */
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

static void add_figures(gt_table *table, const gt_op_metrics *metrics)
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

/* ---- rows ---- */

void gt_op_rows_push(gt_op_rows *r, gt_op_row op)
{
    GT_PUSH(r->items, r->count, r->capacity, op);
}

void gt_op_rows_set_overlap(gt_op_rows *r, gt_op_overlap overlap)
{
    size_t names = r->overlapping.count, pcts = r->overlapping.count;
    GT_PUSH(r->overlapping_names, names, r->names_capacity, overlap.names);
    GT_PUSH(r->overlapping_pct, pcts, r->pct_capacity, overlap.overlap_pct);
    for (size_t i = 0; i < overlap.count; i++) gt_kernel_lists_push(&r->overlapping, overlap.kernels[i]);
    gt_kernel_lists_close(&r->overlapping);
}

void gt_op_rows_free(gt_op_rows *r)
{
    gt_free(r->items);
    gt_kernel_lists_free(&r->kernels);
    gt_kernel_lists_free(&r->overlapping);
    gt_free(r->overlapping_names);
    gt_free(r->overlapping_pct);
    *r = (gt_op_rows){0};
}

/* ---- columns ---- */

static void add_names(gt_table *table, const gt_op_rows *r)
{
    uint32_t *names = gt_table_add_array(table, GT_COL_NAME, GT_TYPE_STRING)->texts;
    for (size_t i = 0; i < r->count; i++) names[i] = r->items[i].name;
    int64_t *uids = gt_table_add_array(table, GT_COL_UID, GT_TYPE_INT)->ints;
    for (size_t i = 0; i < r->count; i++) uids[i] = r->items[i].uid;
}

/* Names of process and thread. Most ops are on the same thread as the one before. */
static void add_tracks(gt_table *table, const gt_op_rows *r, const gt_linked_view *trace)
{
    static const gt_col columns[] = {GT_COL_PROCESS_NAME, GT_COL_PROCESS_LABEL, GT_COL_THREAD_NAME};
    size_t first = table->column_count;
    for (size_t i = 0; i < 3; i++) gt_table_add_array(table, columns[i], GT_TYPE_STRING);
    gt_track_names track = {0};
    for (size_t i = 0; i < r->count; i++) {
        uint32_t row = r->items[i].row, before = i ? r->items[i - 1].row : row;
        if (i == 0 || trace->process[row] != trace->process[before] ||
            trace->thread[row] != trace->thread[before])
            track = gt_event_track(&trace->events, row);
        table->columns[first].texts[i] = track.process_name;
        table->columns[first + 1].texts[i] = track.process_label;
        table->columns[first + 2].texts[i] = track.thread_name;
    }
}

static void add_arguments(gt_table *table, const gt_op_rows *r, const gt_perf *perf, gt_python_form form)
{
    static const gt_col columns[GT_PERF_ARGUMENTS] = {
        [GT_PERF_DIMS] = GT_COL_INPUT_DIMS,
        [GT_PERF_TYPES] = GT_COL_INPUT_TYPE,
        [GT_PERF_STRIDES] = GT_COL_INPUT_STRIDES,
        [GT_PERF_CONCRETE] = GT_COL_CONCRETE_INPUTS,
    };
    gt_python_literals *literals = gt_python_literals_new(table->strings, form);
    for (size_t a = 0; a < GT_PERF_ARGUMENTS; a++) {
        uint32_t *cells = gt_table_add_array(table, columns[a], GT_TYPE_STRING)->texts;
        for (size_t i = 0; i < r->count; i++)
            cells[i] = gt_python_literals_of(literals, perf->arguments[a][r->items[i].row]);
    }
    gt_python_literals_free(literals);
}

static void add_marks(gt_table *table, const gt_op_rows *r, const gt_perf *perf)
{
    const gt_linked_view *trace = perf->trace;
    if (trace->recompute) {
        uint8_t *cells = gt_table_add_array(table, GT_COL_IS_RECOMPUTE, GT_TYPE_BOOL)->bools;
        for (size_t i = 0; i < r->count; i++) cells[i] = trace->recompute[r->items[i].row] != 0;
    }
    if (perf->overlaps) {
        uint32_t *names = gt_table_add_array(table, GT_COL_OVERLAPPING_KERNEL_NAMES, GT_TYPE_STRING)->texts;
        for (size_t i = 0; i < r->count; i++) names[i] = r->overlapping_names[i];
        double *pct = gt_table_add_array(table, GT_COL_OVERLAP_PCT, GT_TYPE_FLOAT)->floats;
        for (size_t i = 0; i < r->count; i++) pct[i] = r->overlapping_pct[i];
    }
}

gt_table *gt_op_rows_table(const gt_op_rows *r, const gt_perf *perf, gt_python_form form)
{
    gt_table *table = gt_table_new(GT_SHEET_OPS, perf->trace->strings);
    gt_table_add_rows(table, r->count);
    add_names(table, r);
    add_tracks(table, r, perf->trace);
    add_arguments(table, r, perf, form);
    add_marks(table, r, perf);
    gt_op_metrics *metrics = gt_alloc(r->count * sizeof *metrics);
    for (size_t i = 0; i < r->count; i++) metrics[i] = r->items[i].metrics;
    add_figures(table, metrics);
    gt_free(metrics);
    return table;
}
