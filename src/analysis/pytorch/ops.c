/* The table of ops: one column after another, gathered from the arrays of the trace for the rows that are
 * launchers. */
#include "analysis/pytorch/ops.h"

#include "analysis/pytorch/op_category.h"
#include "compat/python_literal.h"
#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <math.h>
#include <stdlib.h>

static const struct {
    size_t event_column;
    gt_col name;
} arguments[] = {
    {GT_EVENT_INPUT_DIMS, GT_COL_INPUT_DIMS},
    {GT_EVENT_INPUT_TYPES, GT_COL_INPUT_TYPE},
    {GT_EVENT_INPUT_STRIDES, GT_COL_INPUT_STRIDES},
    {GT_EVENT_CONCRETE_INPUTS, GT_COL_CONCRETE_INPUTS},
};

static void add_names(gt_ops *ops)
{
    const gt_launchers *l = ops->launchers;
    const uint32_t *names = ops->trace->name;
    uint32_t *cells = gt_table_add_array(ops->table, GT_COL_NAME, GT_TYPE_STRING)->texts;
    for (size_t i = 0; i < l->count; i++) cells[i] = names[l->items[i].row];
    gt_op_categories *categories = gt_op_categories_new(ops->trace->strings, ops->extension);
    cells = gt_table_add_array(ops->table, GT_COL_OP_CATEGORY, GT_TYPE_STRING)->texts;
    for (size_t i = 0; i < l->count; i++)
        cells[i] =
            gt_op_categories_of(categories, names[l->items[i].row], names[l->kernels[l->items[i].first]]);
    gt_op_categories_free(categories);
}

/* Names of process and thread; launchers mostly come from the thread of the one before. */
static void add_tracks(gt_ops *ops)
{
    static const gt_col columns[] = {GT_COL_PROCESS_NAME, GT_COL_PROCESS_LABEL, GT_COL_THREAD_NAME};
    const gt_linked_view *trace = ops->trace;
    size_t first = ops->table->column_count;
    for (size_t i = 0; i < 3; i++) gt_table_add_array(ops->table, columns[i], GT_TYPE_STRING);
    uint32_t *process_names = ops->table->columns[first].texts;
    uint32_t *process_labels = ops->table->columns[first + 1].texts;
    uint32_t *thread_names = ops->table->columns[first + 2].texts;
    uint32_t before = GT_NO_EVENT;
    gt_track_names track = {0};
    for (size_t i = 0; i < ops->launchers->count; i++) {
        uint32_t row = ops->launchers->items[i].row;
        if (before == GT_NO_EVENT || trace->process[row] != trace->process[before] ||
            trace->thread[row] != trace->thread[before])
            track = gt_event_track(&trace->events, row);
        before = row;
        process_names[i] = track.process_name;
        process_labels[i] = track.process_label;
        thread_names[i] = track.thread_name;
    }
}

static void add_arguments(gt_ops *ops)
{
    gt_python_literals *literals = gt_python_literals_new(ops->trace->strings, GT_PYTHON_TUPLES);
    for (size_t a = 0; a < GT_LENGTH(arguments); a++) {
        uint32_t *json = gt_store_string_ids(ops->trace->store, arguments[a].event_column);
        uint32_t *cells = gt_table_add_array(ops->table, arguments[a].name, GT_TYPE_STRING)->texts;
        for (size_t i = 0; i < ops->launchers->count; i++)
            cells[i] = gt_python_literals_of(literals, json[ops->launchers->items[i].row]);
        gt_free(json);
    }
    gt_python_literals_free(literals);
}

static void add_counts(gt_ops *ops)
{
    const gt_launchers *l = ops->launchers;
    int64_t *counts = gt_table_add_array(ops->table, GT_COL_NUM_KERNELS, GT_TYPE_INT)->ints;
    for (size_t i = 0; i < l->count; i++) counts[i] = (int64_t)l->items[i].count;
    int64_t *uids = gt_table_add_array(ops->table, GT_COL_UID, GT_TYPE_INT)->ints;
    for (size_t i = 0; i < l->count; i++) uids[i] = ops->trace->uid[l->items[i].row];
    if (!ops->trace->recompute) return;
    uint8_t *recompute = gt_table_add_array(ops->table, GT_COL_IS_RECOMPUTE, GT_TYPE_BOOL)->bools;
    for (size_t i = 0; i < l->count; i++) recompute[i] = ops->trace->recompute[l->items[i].row] != 0;
}

/* ---- times ---- */

typedef struct duration {
    double us;
    bool integral;
} duration;

static duration start_of(const gt_linked_view *trace, const gt_launcher *launcher)
{
    return (duration){trace->start_us[launcher->row],
                      (trace->integral[launcher->row] & GT_INTEGRAL_START) != 0};
}

static duration direct_of(const gt_linked_view *trace, const gt_launcher *launcher)
{
    (void)trace;
    return (duration){launcher->direct_us, launcher->direct_integral};
}

static duration subtree_of(const gt_linked_view *trace, const gt_launcher *launcher)
{
    (void)trace;
    return (duration){launcher->subtree_us, launcher->subtree_integral};
}

static void add_times(gt_table *table, const gt_linked_view *trace, const gt_launchers *l, gt_col name,
                      duration (*of)(const gt_linked_view *, const gt_launcher *))
{
    bool integral = true;
    for (size_t i = 0; i < l->count && integral; i++) {
        duration time = of(trace, &l->items[i]);
        integral = time.integral && fabs(time.us) < 0x1p53; /* beyond that, doubles are no exact integers */
    }
    size_t added = gt_table_add_zeroed(table, name, integral ? GT_TYPE_INT : GT_TYPE_FLOAT);
    gt_column *column = &table->columns[added];
    for (size_t i = 0; i < l->count; i++) {
        double us = of(trace, &l->items[i]).us;
        if (integral)
            column->ints[i] = (int64_t)us;
        else
            column->floats[i] = us;
    }
}

void gt_table_add_direct_times(gt_table *table, const gt_linked_view *trace, const gt_launchers *launchers)
{
    add_times(table, trace, launchers, GT_COL_TOTAL_DIRECT_KERNEL_TIME, direct_of);
}

gt_ops *gt_ops_new(const gt_linked_view *trace, const gt_launchers *launchers, const gt_extension *extension)
{
    gt_ops *ops = gt_alloc_zero(1, sizeof *ops);
    ops->trace = trace;
    ops->launchers = launchers;
    ops->extension = extension;
    ops->streams = gt_store_string_ids(trace->store, GT_EVENT_STREAM);
    ops->table = gt_table_new(GT_SHEET_OPS, trace->strings);
    gt_table_add_rows(ops->table, launchers->count);
    add_names(ops);
    add_tracks(ops);
    add_arguments(ops);
    add_counts(ops);
    add_times(ops->table, trace, launchers, GT_COL_TS, start_of);
    gt_table_add_direct_times(ops->table, trace, launchers);
    add_times(ops->table, trace, launchers, GT_COL_TOTAL_SUBTREE_KERNEL_TIME, subtree_of);
    return ops;
}

void gt_ops_free(gt_ops *ops)
{
    if (!ops) return;
    gt_table_free(ops->table);
    gt_free(ops->streams);
    gt_free(ops);
}
