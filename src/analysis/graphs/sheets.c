/* graph_kernels: a row per unit and kernel, in the order of the units and of the starts:
 *
 *     unit                  number; all replays of the same kernels are one
 *     phase, padded         of the first step that replays it
 *     launches              replays
 *     position              of the kernel in the unit, from 0
 *     kernel, grid, class
 *     op, module            what it belongs to; "graph::" and the class if that is not known
 *     source, confidence    where the op is known from, and how sure that is (claims.h)
 *     us_sum                time of all replays, microseconds */
#include "analysis/graphs/sheets.h"

#include "analysis/serving/cells.h"
#include "schema/columns.h"

static const gt_column_head columns[] = {
    {GT_COL_UNIT, GT_TYPE_INT},      {GT_COL_PHASE, GT_TYPE_STRING},  {GT_COL_PADDED, GT_TYPE_INT},
    {GT_COL_LAUNCHES, GT_TYPE_INT},  {GT_COL_POSITION, GT_TYPE_INT},  {GT_COL_KERNEL, GT_TYPE_STRING},
    {GT_COL_GRID, GT_TYPE_STRING},   {GT_COL_CLASS, GT_TYPE_STRING},  {GT_COL_OP, GT_TYPE_STRING},
    {GT_COL_MODULE, GT_TYPE_STRING}, {GT_COL_SOURCE, GT_TYPE_STRING}, {GT_COL_CONFIDENCE, GT_TYPE_STRING},
    {GT_COL_US_SUM, GT_TYPE_FLOAT},
};

/* "8x1x1" for "[8,1,1]". */
static void add_grid(gt_cells *c, gt_str grid, gt_buffer *spare)
{
    spare->len = 0;
    for (size_t i = 0; i < grid.len; i++) {
        char byte = grid.bytes[i];
        if (byte == ',') byte = 'x';
        if (byte != '[' && byte != ']' && byte != ' ') gt_buffer_add(spare, &byte, 1);
    }
    gt_cells_text(c, gt_buffer_str(spare).bytes);
}

static void add_string(gt_cells *c, uint32_t id)
{
    gt_table_set_string(c->table, c->column++, c->row, id);
}

static void add_row(gt_table *table, const gt_graphs *graphs, size_t number, size_t position,
                    gt_buffer *spare)
{
    const gt_graph_unit *unit = &graphs->units[number];
    const gt_listed_step *step = unit->step == GT_OUTSIDE_STEPS ? NULL : &graphs->steps->steps[unit->step];
    const gt_listed_op *op = gt_graph_unit_op(graphs, unit, 0, position);
    const gt_graph_claim *claim = &unit->claims[position];
    int64_t sum_ns = 0;
    for (size_t r = 0; r < unit->replays; r++) {
        const gt_listed_op *replayed = gt_graph_unit_op(graphs, unit, r, position);
        sum_ns += replayed->end_ns - replayed->start_ns;
    }
    gt_cells c = gt_cells_of_new_row(table);
    gt_cells_count(&c, (int64_t)number);
    gt_cells_text(&c, step ? gt_serving_phase_name(step->phase) : "");
    gt_cells_count(&c, step ? step->padded : GT_STEP_UNKNOWN);
    gt_cells_count(&c, (int64_t)unit->replays);
    gt_cells_count(&c, (int64_t)position);
    add_string(&c, op->name);
    add_grid(&c, gt_interner_get(graphs->names.strings, op->grid), spare);
    gt_cells_text(&c, gt_kernel_class_name((gt_kernel_class)op->class));
    add_string(&c, claim->op);
    add_string(&c, claim->module);
    gt_cells_text(&c, gt_claim_source_name(claim));
    gt_cells_text(&c, gt_claim_confidence_name((gt_claim_confidence)claim->confidence));
    gt_cells_us(&c, (double)sum_ns);
}

gt_table *gt_graph_kernels(const gt_graphs *graphs)
{
    gt_table *table = gt_table_new(GT_SHEET_GRAPH_KERNELS, graphs->names.strings);
    gt_buffer spare = {0};
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    for (size_t i = 0; i < graphs->unit_count; i++)
        for (size_t k = 0; k < graphs->units[i].kernels; k++) add_row(table, graphs, i, k, &spare);
    gt_buffer_free(&spare);
    return table;
}
