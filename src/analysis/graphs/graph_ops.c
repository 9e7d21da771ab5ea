/* One replay after the other: which of its kernels are one op. */
#include "analysis/graphs/graph_ops.h"

static uint32_t event_of(const gt_graph_unit *unit, const gt_graph_claim *claim)
{
    bool is_of_token = claim->token != GT_NO_TOKEN && !claim->by_name;
    return is_of_token ? unit->match.tokens[claim->token].event : GT_NO_EVENT;
}

/* Whether a kernel is of the same op as the one before it in its unit. */
static bool continues(const gt_graph_unit *unit, size_t position)
{
    const gt_graph_claim *claim = &unit->claims[position];
    if (claim->source == GT_CLAIM_HELPER) return true;
    uint32_t event = event_of(unit, claim);
    return event != GT_NO_EVENT && event == event_of(unit, claim - 1) && claim->op == (claim - 1)->op;
}

static gt_graph_op op_of(const gt_graphs *graphs, const gt_graph_unit *unit, const gt_graph_claim *claim)
{
    gt_graph_op op = {.name = claim->op};
    op.source = gt_interner_add_cstr(graphs->names.strings, gt_claim_source_name(claim));
    if (!unit->match.has_same_shapes || event_of(unit, claim) == GT_NO_EVENT) return op;
    uint32_t place = unit->match.tokens[claim->token].arguments;
    if (!place) return op;
    const gt_graph_arguments *arguments = &graphs->references.arguments[place];
    op.dims = arguments->dims;
    op.types = arguments->types;
    op.strides = arguments->strides;
    op.concrete = arguments->concrete;
    return op;
}

/* A list being made, and the launch of the kernel before. */
typedef struct op_lister {
    const gt_graphs *graphs;
    const gt_linked_view *trace;
    gt_graph_op_list list;
    uint32_t launch;
    bool is_below_op; /* the launch */
    bool is_left;     /* the kernel before stays with the launch */
} op_lister;

/* Looks at the launch of a kernel. Returns whether it is that of the kernel before. */
static bool follow_launch(op_lister *l, uint32_t launch)
{
    if (launch == l->launch) return true;
    l->launch = launch;
    l->is_below_op = gt_pytorch_cpu_op_above(l->trace, launch) != GT_NO_EVENT;
    return false;
}

static void add_replay(op_lister *l, const gt_graph_unit *unit, const gt_graph_op *of_kernels, size_t replay)
{
    gt_graph_op_list *list = &l->list;
    l->launch = GT_NO_EVENT;
    for (size_t i = 0; i < unit->kernels; i++) {
        const gt_listed_op *kernel = gt_graph_unit_op(l->graphs, unit, replay, i);
        bool goes_on = follow_launch(l, kernel->call) && continues(unit, i);
        if (!goes_on) l->is_left = l->is_below_op && unit->claims[i].source == GT_CLAIM_CLASS;
        if (l->is_left) continue;
        if (!goes_on) {
            gt_graph_op op = of_kernels[i];
            op.launch = kernel->call;
            GT_PUSH(list->ops, list->count, list->capacity, op);
        }
        GT_PUSH(list->kernels, list->kernel_count, list->kernel_capacity, kernel->row);
        list->ops[list->count - 1].kernel_end = (uint32_t)list->kernel_count;
    }
}

gt_graph_op_list gt_graphs_list_ops(const gt_graphs *graphs, const gt_linked_view *trace)
{
    op_lister l = {.graphs = graphs, .trace = trace};
    for (size_t u = 0; u < graphs->unit_count; u++) {
        const gt_graph_unit *unit = &graphs->units[u];
        gt_graph_op *of_kernels = gt_alloc(unit->kernels * sizeof *of_kernels);
        for (size_t i = 0; i < unit->kernels; i++) of_kernels[i] = op_of(graphs, unit, &unit->claims[i]);
        for (size_t r = 0; r < unit->replays; r++) add_replay(&l, unit, of_kernels, r);
        gt_free(of_kernels);
    }
    return l.list;
}
