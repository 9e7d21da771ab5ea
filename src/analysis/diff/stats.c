/* Sheet diff_stats: the GPU events of both traces, by the lowest call that they have in common:
 *
 *     name                           of the kernel or copy
 *     cpu_op_name, cpu_op_uid        the nearest op above it; GPU events without one are not listed
 *     source                         trace1 or trace2; no such column if the traces are identical
 *     Input Dims, Input Strides, Input type, Concrete Inputs    of that op, as Python prints them
 *     kernel_time                    its duration in µs
 *     busy_time                      µs in which any GPU event of the common call ran, to 3 decimals
 *     lowest_common_ancestor_name    the common call, ...
 *     lowest_common_ancestor_id      ... and its node in the merged tree
 *     gpu_op_uid
 *     nn_module_stack                modules that contain the op, joined by ';'; "root" for none
 *     nn_module_parent               the innermost of them
 *     [lca_children_t1, lca_children_t2, root_index, callstack]    to find out why
 *
 * A walk over the merged tree finds the common calls and, per trace, the GPU events that count for them; then
 * the columns are filled. */
#include "analysis/diff/internal.h"

#include "trace/pytorch/graft.h"

/* A row of the table to come. */
typedef struct gpu_row {
    uint32_t gpu, op; /* events */
    uint32_t group;
    uint8_t side;
} gpu_row;

/* The GPU events of one trace under one common call. */
typedef struct gpu_group {
    uint32_t node; /* of the merged tree; GT_NO_EVENT: none */
    uint32_t name; /* string id; GT_STR_NONE: none */
    uint32_t root; /* its number */
    gt_busy busy;
} gpu_group;

typedef struct visit {
    uint32_t node, parent; /* parent: the combined node above, GT_NO_EVENT at roots */
} visit;

typedef struct walker {
    const gt_diff_tree *merged;
    gt_diff_strings *texts;
    uint8_t *done; /* by node */
    visit *stack;
    size_t stack_count, stack_capacity;
    uint32_t root; /* the current root */
    gpu_row *rows;
    size_t row_count, row_capacity;
    gpu_group *groups;
    size_t group_count, group_capacity;
    gt_row_list work;
    gt_intervals spare;
    gt_diff_stats_options options;
} walker;

/* Rounds to 3 decimals as numpy does. */
static double round_3(double value)
{
    return rint(value * 1000.0) / 1000.0;
}

uint32_t gt_diff_node_at(const gt_column *ids, size_t row)
{
    if (gt_column_is_null(ids, row)) return GT_NO_EVENT;
    return ids->type == GT_TYPE_INT ? (uint32_t)ids->ints[row] : (uint32_t)ids->floats[row];
}

/* ---- the walk ---- */

/* Adds rows for the GPU events collected in walker->work. */
static void add_group(walker *w, size_t side, uint32_t node, uint32_t name)
{
    const gt_linked_view *trace = w->merged->sides[side]->trace;
    gpu_group group = {node, name, w->root,
                       gt_busy_time(&trace->events, w->work.items, w->work.count, &w->spare)};
    bool any = false;
    for (size_t i = 0; i < w->work.count; i++) {
        uint32_t op = gt_pytorch_cpu_op_above(trace, w->work.items[i]);
        if (op == GT_NO_EVENT) continue;
        gpu_row row = {w->work.items[i], op, (uint32_t)w->group_count, (uint8_t)side};
        GT_PUSH(w->rows, w->row_count, w->row_capacity, row);
        any = true;
    }
    if (any) GT_PUSH(w->groups, w->group_count, w->group_capacity, group);
}

static bool uses_gpu(const walker *w, const gt_diff_node *node, size_t side)
{
    return node->rows[side] != GT_NO_EVENT && gt_diff_uses_gpu(w->merged->sides[side], node->rows[side]);
}

static bool is_kernel(const walker *w, const gt_diff_node *node, size_t side)
{
    return gt_diff_is_kernel(w->merged->sides[side], node->rows[side]);
}

static void gather(walker *w, const gt_diff_node *node, size_t side)
{
    const gt_diff_side *s = w->merged->sides[side];
    const gt_linked_view *trace = s->trace;
    uint32_t row = node->rows[side];
    if (gt_kind_is_gpu(trace->kind[row])) return;
    size_t first = w->work.count;
    gt_calls_add_gpu_events(s->calls, row, &w->work);
    if (!w->options.repeat_grafts || !trace->grafted || row >= trace->recorded) return;
    for (size_t i = first, end = w->work.count; i < end; i++) {
        uint32_t gpu = w->work.items[i], call = trace->parent[gpu];
        if (call != GT_NO_EVENT && trace->grafted[call] == GT_GRAFT_EVENT)
            GT_PUSH(w->work.items, w->work.count, w->work.capacity, gpu);
    }
}

static void gather_itself(walker *w, const gt_diff_node *node, size_t side)
{
    if (is_kernel(w, node, side)) GT_PUSH(w->work.items, w->work.count, w->work.capacity, node->rows[side]);
}

/* Whether a node is a call of both traces below which they differ, or a kernel of both. */
static bool is_common_call(const walker *w, const gt_diff_node *node)
{
    const gt_diff_tree *m = w->merged;
    if (!uses_gpu(w, node, 0) || !uses_gpu(w, node, 1)) return false;
    if (is_kernel(w, node, 0) && is_kernel(w, node, 1)) return true;
    for (uint32_t i = 0; i < node->child_count; i++) {
        const gt_diff_node *child = &m->nodes[m->children[node->first_child + i]];
        if (!gt_diff_is_combined(child) && uses_gpu(w, child, gt_diff_only_side(child))) return true;
    }
    return false;
}

static void add_common_call(walker *w, uint32_t number)
{
    const gt_diff_tree *m = w->merged;
    const gt_diff_node *node = &m->nodes[number];
    uint32_t name = gt_diff_common_name(w->texts, node);
    for (size_t side = 0; side < 2; side++) {
        w->work.count = 0;
        for (uint32_t i = 0; i < node->child_count; i++) {
            uint32_t below = m->children[node->first_child + i];
            const gt_diff_node *child = &m->nodes[below];
            if (gt_diff_is_combined(child) || gt_diff_only_side(child) != side || !uses_gpu(w, child, side))
                continue;
            gather(w, child, side);
            gather_itself(w, child, side);
            w->done[below] = 1;
        }
        gather_itself(w, node, side);
        add_group(w, side, number, name);
    }
    w->done[number] = 1;
}

/* A call that only one trace has counts for the common call above it. */
static void add_alone(walker *w, const gt_diff_node *node, uint32_t parent)
{
    size_t side = gt_diff_only_side(node);
    if (!uses_gpu(w, node, side)) return;
    w->work.count = 0;
    gather(w, node, side);
    uint32_t name =
        parent == GT_NO_EVENT ? GT_STR_NONE : gt_diff_call_name(w->texts, &w->merged->nodes[parent], side);
    add_group(w, side, parent, name);
}

static void visit_node(walker *w, visit at)
{
    const gt_diff_tree *m = w->merged;
    const gt_diff_node *node = &m->nodes[at.node];
    if (w->done[at.node]) return;
    if (!gt_diff_is_combined(node)) {
        add_alone(w, node, at.parent);
        w->done[at.node] = 1;
        return;
    }
    if (is_common_call(w, node)) add_common_call(w, at.node);
    if (!uses_gpu(w, node, 0) && !uses_gpu(w, node, 1)) return;
    for (uint32_t i = node->child_count; i-- > 0;) {
        visit below = {m->children[node->first_child + i], at.node};
        GT_PUSH(w->stack, w->stack_count, w->stack_capacity, below);
    }
}

static void walk(walker *w)
{
    for (w->root = 0; w->root < w->merged->root_count; w->root++) {
        visit root = {w->merged->roots[w->root], GT_NO_EVENT};
        GT_PUSH(w->stack, w->stack_count, w->stack_capacity, root);
        while (w->stack_count) visit_node(w, w->stack[--w->stack_count]);
    }
}

/* ---- the columns ---- */

static void add_names(const walker *w, gt_table *table)
{
    uint32_t *names = gt_table_add_array(table, GT_COL_NAME, GT_TYPE_STRING)->texts;
    uint32_t *ops = gt_table_add_array(table, GT_COL_CPU_OP_NAME, GT_TYPE_STRING)->texts;
    int64_t *uids = gt_table_add_array(table, GT_COL_CPU_OP_UID, GT_TYPE_INT)->ints;
    uint32_t *sources = gt_table_add_array(table, GT_COL_SOURCE, GT_TYPE_STRING)->texts;
    uint32_t source[2] = {gt_interner_add_cstr(table->strings, "trace1"),
                          gt_interner_add_cstr(table->strings, "trace2")};
    for (size_t i = 0; i < w->row_count; i++) {
        const gpu_row *r = &w->rows[i];
        const gt_diff_side *side = w->merged->sides[r->side];
        names[i] = gt_diff_text(w->texts, r->side, side->trace->name[r->gpu]);
        ops[i] = gt_diff_text(w->texts, r->side, gt_diff_shown_name(side, r->op));
        uids[i] = gt_event_uid(&side->trace->events, r->op);
        sources[i] = source[r->side];
    }
}

static void add_arguments(const walker *w, gt_table *table)
{
    static const gt_col names[GT_DIFF_ARGUMENTS] = {
        [GT_DIFF_DIMS] = GT_COL_INPUT_DIMS,
        [GT_DIFF_STRIDES] = GT_COL_INPUT_STRIDES,
        [GT_DIFF_TYPES] = GT_COL_INPUT_TYPE,
        [GT_DIFF_CONCRETE] = GT_COL_CONCRETE_INPUTS,
    };
    for (size_t a = 0; a < GT_DIFF_ARGUMENTS; a++) {
        uint32_t *cells = gt_table_add_array(table, names[a], GT_TYPE_STRING)->texts;
        for (size_t i = 0; i < w->row_count; i++)
            cells[i] = gt_diff_argument(w->texts, w->rows[i].side, w->rows[i].op, a);
    }
}

/* INT if all times were written as integers. */
static void add_times(const walker *w, gt_table *table)
{
    bool whole = true, whole_busy = true;
    for (size_t i = 0; i < w->row_count; i++) {
        const gt_linked_view *trace = w->merged->sides[w->rows[i].side]->trace;
        whole &= (trace->integral[w->rows[i].gpu] & GT_INTEGRAL_DURATION) != 0 &&
                 fabs(trace->dur_us[w->rows[i].gpu]) < 0x1p53;
        const gt_busy *busy = &w->groups[w->rows[i].group].busy;
        whole_busy &= busy->integral && fabs(busy->us) < 0x1p53;
    }
    gt_column *times = gt_table_add_array(table, GT_COL_KERNEL_TIME, whole ? GT_TYPE_INT : GT_TYPE_FLOAT);
    for (size_t i = 0; i < w->row_count; i++) {
        double dur_us = w->merged->sides[w->rows[i].side]->trace->dur_us[w->rows[i].gpu];
        if (whole)
            times->ints[i] = (int64_t)dur_us;
        else
            times->floats[i] = dur_us;
    }
    gt_column *busy = gt_table_add_array(table, GT_COL_BUSY_TIME, whole_busy ? GT_TYPE_INT : GT_TYPE_FLOAT);
    for (size_t i = 0; i < w->row_count; i++) {
        double busy_us = w->groups[w->rows[i].group].busy.us;
        if (whole_busy)
            busy->ints[i] = (int64_t)busy_us;
        else
            busy->floats[i] = round_3(busy_us);
    }
}

static void add_common_calls(const walker *w, gt_table *table)
{
    uint32_t *names = gt_table_add_array(table, GT_COL_LOWEST_COMMON_ANCESTOR_NAME, GT_TYPE_STRING)->texts;
    for (size_t i = 0; i < w->row_count; i++) names[i] = w->groups[w->rows[i].group].name;
    size_t ids = gt_table_add_column(table, GT_COL_LOWEST_COMMON_ANCESTOR_ID, GT_TYPE_INT);
    for (size_t i = 0; i < w->row_count; i++)
        if (w->groups[w->rows[i].group].node != GT_NO_EVENT)
            gt_table_set_int(table, ids, i, w->groups[w->rows[i].group].node);
    if (gt_column_has_nulls(&table->columns[ids], table->row_count)) {
        gt_table_make_float(table, ids);
        table->columns[ids].widened = true;
    }
    int64_t *uids = gt_table_add_array(table, GT_COL_GPU_OP_UID, GT_TYPE_INT)->ints;
    for (size_t i = 0; i < w->row_count; i++)
        uids[i] = gt_event_uid(&w->merged->sides[w->rows[i].side]->trace->events, w->rows[i].gpu);
}

static void add_modules(const walker *w, gt_table *table)
{
    uint32_t *stacks = gt_table_add_array(table, GT_COL_NN_MODULE_STACK, GT_TYPE_STRING)->texts;
    uint32_t *innermost = gt_table_add_array(table, GT_COL_NN_MODULE_PARENT, GT_TYPE_STRING)->texts;
    for (size_t i = 0; i < w->row_count; i++) {
        gt_diff_modules modules = gt_diff_modules_of(w->texts, w->rows[i].side, w->rows[i].op);
        stacks[i] = modules.stack;
        innermost[i] = modules.innermost;
    }
}

static void add_explanations(const walker *w, gt_table *table)
{
    static const gt_col names[2] = {GT_COL_LCA_CHILDREN_T1, GT_COL_LCA_CHILDREN_T2};
    for (size_t side = 0; side < 2; side++) {
        uint32_t *cells = gt_table_add_array(table, names[side], GT_TYPE_STRING)->texts;
        for (size_t i = 0; i < w->row_count; i++) {
            uint32_t node = w->groups[w->rows[i].group].node;
            if (i && node == w->groups[w->rows[i - 1].group].node)
                cells[i] = cells[i - 1];
            else
                cells[i] = node == GT_NO_EVENT
                               ? GT_STR_EMPTY
                               : gt_diff_child_names(w->texts, side, w->merged->nodes[node].rows[side]);
        }
    }
    int64_t *roots = gt_table_add_array(table, GT_COL_ROOT_INDEX, GT_TYPE_INT)->ints;
    for (size_t i = 0; i < w->row_count; i++) roots[i] = w->groups[w->rows[i].group].root;
    uint32_t *stacks = gt_table_add_array(table, GT_COL_CALLSTACK, GT_TYPE_STRING)->texts;
    for (size_t i = 0; i < w->row_count; i++)
        stacks[i] = gt_diff_call_stack(w->texts, w->rows[i].side, w->rows[i].gpu);
}

static gt_table *make_table(const walker *w, bool explain)
{
    gt_table *table = gt_table_new(GT_SHEET_DIFF_STATS, w->merged->sides[0]->trace->strings);
    if (!w->row_count) return table;
    gt_table_add_rows(table, w->row_count);
    add_names(w, table);
    add_arguments(w, table);
    add_times(w, table);
    add_common_calls(w, table);
    add_modules(w, table);
    if (explain) add_explanations(w, table);
    return table;
}

/* ---- identical traces ---- */

static bool same_cell(const gt_column *column, size_t a, size_t b)
{
    switch (column->type) {
    case GT_TYPE_INT:
        return column->ints[a] == column->ints[b];
    case GT_TYPE_FLOAT:
        return column->floats[a] == column->floats[b] ||
               (isnan(column->floats[a]) && isnan(column->floats[b]));
    default:
        return column->texts[a] == column->texts[b];
    }
}

/* Whether the rows of both traces, in order, differ only in their source. */
static bool are_identical(const walker *w, const gt_table *table)
{
    size_t at[2] = {0, 0}, source = gt_table_find(table, GT_COL_SOURCE);
    for (;;) {
        for (size_t side = 0; side < 2; side++)
            while (at[side] < w->row_count && w->rows[at[side]].side != side) at[side]++;
        if (at[0] == w->row_count || at[1] == w->row_count) return at[0] == at[1];
        for (size_t c = 0; c < table->column_count; c++)
            if (c != source && !same_cell(&table->columns[c], at[0], at[1])) return false;
        at[0]++;
        at[1]++;
    }
}

gt_diff_stats gt_diff_stats_make(const gt_diff_tree *merged, gt_diff_stats_options options)
{
    walker w = {.merged = merged,
                .options = options,
                .texts = gt_diff_strings_new(merged),
                .done = gt_alloc_zero(merged->count, 1)};
    walk(&w);
    gt_diff_stats stats = {.table = make_table(&w, options.explain),
                           .gpu_rows = gt_alloc(w.row_count * sizeof *stats.gpu_rows),
                           .sides = gt_alloc(w.row_count)};
    for (size_t i = 0; i < w.row_count; i++) {
        stats.gpu_rows[i] = w.rows[i].gpu;
        stats.sides[i] = w.rows[i].side;
    }
    stats.identical = w.row_count && are_identical(&w, stats.table);
    gt_diff_strings_free(w.texts);
    gt_intervals_free(&w.spare);
    gt_free_all(w.done, w.stack, w.rows, w.groups, w.work.items);
    return stats;
}

gt_table *gt_diff_stats_sheet(gt_diff_stats *stats)
{
    gt_table *sheet = stats->table;
    stats->table = NULL;
    if (stats->identical) {
        uint8_t *keep = gt_alloc(sheet->row_count);
        for (size_t i = 0; i < sheet->row_count; i++) keep[i] = stats->sides[i] == 0;
        gt_table_keep(sheet, keep);
        gt_table_drop_column(sheet, gt_table_find(sheet, GT_COL_SOURCE));
        gt_free(keep);
    }
    return sheet;
}

void gt_diff_stats_free(gt_diff_stats *stats)
{
    gt_table_free(stats->table);
    gt_free_all(stats->gpu_rows, stats->sides);
    *stats = (gt_diff_stats){0};
}
