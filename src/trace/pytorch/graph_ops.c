/* The new ops are leaves of the tree, the first children of their launches. So the numbers of the tree need
 * no lists (tree_edit.c): all later numbers grow by the number of ops before them. */
#include "trace/pytorch/graph_ops.h"

#include "trace/pytorch/state.h"
#include "trace/pytorch/tree_edit.h"

static void append_ops(gt_pytorch_state *trace, const gt_graph_op_list *list)
{
    gt_new_row *rows = gt_alloc(list->count * sizeof *rows);
    for (size_t i = 0; i < list->count; i++) {
        const gt_graph_op *op = &list->ops[i];
        rows[i] = (gt_new_row){.name = op->name,
                               .lane = gt_lane_ids_of(&trace->lanes, op->launch),
                               .start_us = trace->start_us[op->launch],
                               .dur_us = (double)NAN,
                               .integral = trace->integral[op->launch],
                               .dims = op->dims,
                               .types = op->types,
                               .strides = op->strides,
                               .concrete = op->concrete,
                               .sequence = GT_EVENT_NONE,
                               .extra = GT_STR_NONE};
    }
    gt_state_append_ops(trace, rows, list->count);
    gt_free(rows);
}

/* ---- numbers ---- */

/* Numbers the new ops and what comes after them. `first` is the row of the first one. */
static void number_ops(gt_pytorch_state *trace, const gt_graph_op_list *list, uint32_t first)
{
    /* By number: ops that are put in before it. */
    uint32_t *before = gt_alloc_zero((size_t)trace->numbered + 2, sizeof *before);
    uint32_t *place = gt_alloc(list->count * sizeof *place); /* by op: among those of its launch, from 1 */
    for (size_t i = 0; i < list->count; i++) {
        uint32_t launch = trace->preorder[list->ops[i].launch];
        if (launch != GT_NO_EVENT) place[i] = ++before[launch + 1];
    }
    for (uint32_t n = 0; n <= trace->numbered; n++) before[n + 1] += before[n];
    for (uint32_t row = 0; row < first; row++) {
        if (trace->preorder[row] == GT_NO_EVENT) continue;
        trace->preorder[row] += before[trace->preorder[row]];
        trace->subtree_end[row] += before[trace->subtree_end[row]];
    }
    trace->numbered += before[trace->numbered];
    for (size_t i = 0; i < list->count; i++) {
        uint32_t launch = trace->preorder[list->ops[i].launch];
        if (launch == GT_NO_EVENT) continue;
        trace->preorder[first + i] = launch + place[i];
        trace->subtree_end[first + i] = launch + place[i] + 1;
    }
    gt_free_all(before, place);
}

/* Ops that are below no other op are visited last. */
static void add_roots(gt_pytorch_state *trace, const gt_graph_op_list *list, uint32_t first)
{
    size_t count = trace->late_root_count;
    trace->late_root_capacity = count + list->count;
    trace->late_roots = gt_realloc(trace->late_roots, trace->late_root_capacity * sizeof *trace->late_roots);
    for (size_t i = 0; i < list->count; i++)
        if (trace->preorder[first + i] != GT_NO_EVENT &&
            gt_ancestor_of(&trace->ops_above, trace->parent, first + (uint32_t)i) == GT_NO_EVENT)
            trace->late_roots[count++] = first + (uint32_t)i;
    trace->late_root_count = count;
}

/* ---- links ---- */

/* Links the kernels to their ops. Links stay in the order of the calls, so those of the new ops come last. */
static void link_kernels(gt_pytorch_state *trace, const gt_graph_op_list *list, uint32_t first)
{
    uint32_t *op_of = gt_no_events(trace->count); /* by row of a GPU event */
    for (size_t i = 0, k = 0; i < list->count; i++)
        for (; k < list->ops[i].kernel_end; k++) op_of[list->kernels[k]] = (uint32_t)i;
    uint8_t *is_moved = gt_alloc_zero(trace->count, 1);
    size_t kept = 0;
    for (size_t link = 0; link < trace->link_count; link++) {
        uint32_t call = trace->link_runtime[link], gpu = trace->link_gpu[link], op = op_of[gpu];
        if (op != GT_NO_EVENT && list->ops[op].launch == call) {
            is_moved[gpu] = 1;
            continue;
        }
        trace->link_runtime[kept] = call;
        trace->link_gpu[kept++] = gpu;
    }
    for (size_t i = 0, k = 0; i < list->count; i++)
        for (; k < list->ops[i].kernel_end; k++) {
            uint32_t gpu = list->kernels[k], op = first + (uint32_t)i;
            if (!is_moved[gpu]) continue;
            is_moved[gpu] = 0; /* a damaged list may name it twice */
            trace->link_runtime[kept] = op;
            trace->link_gpu[kept++] = gpu;
            if (trace->parent[gpu] == list->ops[i].launch) trace->parent[gpu] = op;
        }
    trace->link_count = kept;
    gt_free_all(op_of, is_moved);
}

/* ---- all of it ---- */

void gt_tree_add_graph_ops(gt_pytorch_linked *linked, const gt_graph_op_list *list)
{
    gt_pytorch_state *trace = linked->state;
    uint32_t first = (uint32_t)trace->count;
    if (!list->count) return;
    append_ops(trace, list);
    for (size_t i = 0; i < list->count; i++) trace->parent[first + i] = list->ops[i].launch;
    number_ops(trace, list, first);
    link_kernels(trace, list, first);
    gt_state_find_ops_above(trace);
    add_roots(trace, list, first);
    trace->graph_first = first;
    trace->graph_count = list->count;
    trace->graph_sources = gt_alloc(list->count * sizeof *trace->graph_sources);
    for (size_t i = 0; i < list->count; i++) trace->graph_sources[i] = list->ops[i].source;
    gt_state_publish(trace);
}
