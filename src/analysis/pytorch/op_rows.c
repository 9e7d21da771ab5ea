/* Rows of ops to columns. */
#include "analysis/pytorch/op_rows.h"

#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <stdlib.h>

void gt_op_rows_push(gt_op_rows *r, gt_op_row op)
{
    GT_PUSH(r->items, r->count, r->capacity, op);
}

void gt_op_rows_set_overlap(gt_op_rows *r, gt_op_overlap overlap)
{
    size_t names = r->beside.count, pcts = r->beside.count;
    GT_PUSH(r->beside_names, names, r->names_capacity, overlap.names);
    GT_PUSH(r->beside_pct, pcts, r->pct_capacity, overlap.overlap_pct);
    for (size_t i = 0; i < overlap.count; i++) gt_kernel_lists_push(&r->beside, overlap.kernels[i]);
    gt_kernel_lists_close(&r->beside);
}

void gt_op_rows_free(gt_op_rows *r)
{
    gt_free(r->items);
    gt_kernel_lists_free(&r->kernels);
    gt_kernel_lists_free(&r->beside);
    gt_free(r->beside_names);
    gt_free(r->beside_pct);
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

/* Names of process and thread; an op mostly is of the thread of the one before. */
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
        for (size_t i = 0; i < r->count; i++) names[i] = r->beside_names[i];
        double *pct = gt_table_add_array(table, GT_COL_OVERLAP_PCT, GT_TYPE_FLOAT)->floats;
        for (size_t i = 0; i < r->count; i++) pct[i] = r->beside_pct[i];
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
    gt_op_metrics_add_columns(table, metrics);
    gt_free(metrics);
    return table;
}
