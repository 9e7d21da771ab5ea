/* layers: of each unit of a step with at least 12 kernels in which layers are found, a row per layer, then a
 * row per position in a layer:
 *
 *     unit, phase, padded, launches    as in graph_kernels
 *     period, layers, first            kernels per layer, layers, and the kernel of the unit that begins them
 *     layer                            of rows of layers: its number
 *     position, kernel, class, role    of rows of positions: the kernel of the first layer, and what it is
 * for us_p50, us_min, us_max           of a layer: its time, over all replays; of a position: the time of its
 *                                      kernels, over all replays and layers */
#include "analysis/graphs/sheets.h"

#include "analysis/graphs/layers.h"
#include "analysis/serving/cells.h"
#include "schema/columns.h"

enum { SHORTEST_UNIT = 12 };

static const gt_column_head columns[] = {
    {GT_COL_UNIT, GT_TYPE_INT},         {GT_COL_PHASE, GT_TYPE_STRING}, {GT_COL_PADDED, GT_TYPE_INT},
    {GT_COL_LAUNCHES, GT_TYPE_INT},     {GT_COL_PERIOD, GT_TYPE_INT},   {GT_COL_LAYERS, GT_TYPE_INT},
    {GT_COL_LAYERS_FIRST, GT_TYPE_INT}, {GT_COL_LAYER, GT_TYPE_INT},    {GT_COL_POSITION, GT_TYPE_INT},
    {GT_COL_KERNEL, GT_TYPE_STRING},    {GT_COL_CLASS, GT_TYPE_STRING}, {GT_COL_ROLE, GT_TYPE_STRING},
    {GT_COL_US_P50, GT_TYPE_FLOAT},     {GT_COL_US_MIN, GT_TYPE_FLOAT}, {GT_COL_US_MAX, GT_TYPE_FLOAT},
};

/* The layers of a unit. */
typedef struct unit_layers {
    gt_table *table;
    const gt_graphs *graphs;
    const gt_graph_unit *unit;
    size_t number;
    gt_layers layers;
    uint32_t *stems; /* by kernel of the unit */
    double *ns;      /* scratch: the times of a row */
} unit_layers;

/* The kernel has the stem that its position has in the first layer. The last layers may differ. */
static bool is_regular(const unit_layers *u, size_t kernel)
{
    size_t position = (kernel - u->layers.first) % u->layers.period;
    return u->stems[kernel] == u->stems[u->layers.first + position];
}

static double time_of(const unit_layers *u, size_t replay, size_t kernel)
{
    const gt_listed_op *op = gt_graph_unit_op(u->graphs, u->unit, replay, kernel);
    return (double)(op->end_ns - op->start_ns);
}

/* The cells that all rows of a unit have. */
static gt_cells begin_row(const unit_layers *u)
{
    const gt_listed_step *step = &u->graphs->steps->steps[u->unit->step];
    gt_cells c = gt_cells_of_new_row(u->table);
    gt_cells_count(&c, (int64_t)u->number);
    gt_cells_text(&c, gt_serving_phase_name(step->phase));
    gt_cells_count(&c, step->padded);
    gt_cells_count(&c, (int64_t)u->unit->replays);
    gt_cells_count(&c, (int64_t)u->layers.period);
    gt_cells_count(&c, (int64_t)u->layers.count);
    gt_cells_count(&c, (int64_t)u->layers.first);
    return c;
}

/* The median of the times, and the least and the greatest. */
static void end_row(const unit_layers *u, gt_cells *c, size_t count)
{
    qsort(u->ns, count, sizeof *u->ns, gt_by_double);
    double middle = (double)(count - 1) / 2;
    gt_cells_us(c, (u->ns[(size_t)floor(middle)] + u->ns[(size_t)ceil(middle)]) / 2);
    gt_cells_us(c, u->ns[0]);
    gt_cells_us(c, u->ns[count - 1]);
}

static void add_layer(const unit_layers *u, size_t layer)
{
    size_t begin = u->layers.first + layer * u->layers.period, end = begin + u->layers.period;
    if (end > u->unit->kernels) end = u->unit->kernels;
    for (size_t r = 0; r < u->unit->replays; r++) {
        u->ns[r] = 0;
        for (size_t k = begin; k < end; k++)
            if (is_regular(u, k)) u->ns[r] += time_of(u, r, k);
    }
    gt_cells c = begin_row(u);
    gt_cells_count(&c, (int64_t)layer);
    gt_cells_skip(&c, 4);
    end_row(u, &c, u->unit->replays);
}

static void add_position(const unit_layers *u, size_t position, gt_layer_role role)
{
    size_t first = u->layers.first + position, end = u->layers.first + u->layers.count * u->layers.period;
    if (end > u->unit->kernels) end = u->unit->kernels;
    size_t count = 0;
    for (size_t r = 0; r < u->unit->replays; r++)
        for (size_t k = first; k < end; k += u->layers.period)
            if (is_regular(u, k)) u->ns[count++] = time_of(u, r, k);
    const gt_listed_op *op = gt_graph_unit_op(u->graphs, u->unit, 0, first);
    gt_cells c = begin_row(u);
    gt_cells_skip(&c, 1);
    gt_cells_count(&c, (int64_t)position);
    gt_table_set_string(u->table, c.column++, c.row, op->name);
    gt_cells_text(&c, gt_kernel_class_name((gt_kernel_class)op->class));
    gt_cells_text(&c, gt_layer_role_name(role));
    end_row(u, &c, count);
}

static void add_rows(gt_graph_names *names, unit_layers *u)
{
    size_t period = u->layers.period;
    uint8_t *classes = gt_alloc(period);
    bool *is_helper = gt_alloc(period * sizeof *is_helper);
    gt_layer_role *roles = gt_alloc(period * sizeof *roles);
    for (size_t i = 0; i < period; i++) {
        gt_kernel_name name =
            gt_graph_kernel_name(names, gt_graph_unit_op(u->graphs, u->unit, 0, u->layers.first + i)->name);
        classes[i] = name.class;
        is_helper[i] = name.is_helper;
    }
    gt_layer_roles_find(classes, is_helper, period, roles);
    u->ns = gt_alloc((u->layers.count + 1) * u->unit->replays * sizeof *u->ns);
    for (size_t layer = 0; layer < u->layers.count; layer++) add_layer(u, layer);
    for (size_t i = 0; i < period; i++) add_position(u, i, roles[i]);
    gt_free_all(u->ns, classes, is_helper, roles);
}

gt_table *gt_graph_layers(gt_graphs *graphs)
{
    gt_table *table = gt_table_new(GT_SHEET_LAYERS, graphs->names.strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    for (size_t i = 0; i < graphs->unit_count; i++) {
        unit_layers u = {.table = table, .graphs = graphs, .unit = &graphs->units[i], .number = i};
        if (u.unit->step == GT_OUTSIDE_STEPS || u.unit->kernels < SHORTEST_UNIT) continue;
        u.stems = gt_alloc(u.unit->kernels * sizeof *u.stems);
        for (size_t k = 0; k < u.unit->kernels; k++)
            u.stems[k] =
                gt_graph_kernel_name(&graphs->names, gt_graph_unit_op(graphs, u.unit, 0, k)->name).stem;
        if (gt_layers_find(u.stems, u.unit->kernels, &u.layers)) add_rows(&graphs->names, &u);
        gt_free(u.stems);
    }
    return table;
}
