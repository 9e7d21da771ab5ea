/* Tokens from the events of traces. The strings of other traces become strings of the one whose graphs are
 * explained. */
#include "analysis/graphs/read_references.h"

/* ---- strings of another trace ---- */

typedef struct translation {
    gt_interner *to;
    const gt_interner *from;
    uint32_t *known; /* by string id of `from`; GT_STR_NONE: not translated yet */
} translation;

static translation translation_new(gt_interner *to, const gt_interner *from)
{
    translation t = {to, from, NULL};
    if (to != from) t.known = gt_alloc_zero(gt_interner_count(from), sizeof *t.known);
    return t;
}

static uint32_t translate(translation *t, uint32_t id)
{
    if (!t->known || id == GT_STR_NONE) return id;
    if (t->known[id] == GT_STR_NONE) t->known[id] = gt_interner_add_from(t->to, t->from, id);
    return t->known[id];
}

/* ---- calls and their ops ---- */

static bool is_call(uint8_t kind)
{
    return kind == GT_KIND_RUNTIME || kind == GT_KIND_DRIVER;
}

/* Calls, and for each the event of its op (the call itself if no op made it), its module and what it reads.
 */
typedef struct call_facts {
    uint32_t *ops, *modules;
    gt_op_reads *reads;
} call_facts;

static call_facts find_facts(const gt_linked_view *trace, gt_values *values, const gt_module_frames *modules,
                             const uint32_t *calls, size_t count)
{
    call_facts facts = {gt_alloc(count * sizeof *facts.ops), gt_alloc(count * sizeof *facts.modules),
                        gt_alloc(count * sizeof *facts.reads)};
    for (size_t i = 0; i < count; i++) {
        uint32_t op = gt_pytorch_cpu_op_above(trace, calls[i]);
        facts.ops[i] = op != GT_NO_EVENT ? op : calls[i];
        facts.reads[i] = gt_op_reads_around(trace, trace->events.strings, values, calls[i]);
    }
    gt_module_frames_around(modules, &trace->events, calls, count, facts.modules);
    return facts;
}

static void free_facts(call_facts *facts)
{
    gt_free_all(facts->ops, facts->modules, facts->reads);
}

/* Sets the arguments of tokens whose events are set. */
static void read_arguments(gt_graph_references *references, const gt_linked_view *trace, translation *t,
                           gt_graph_token *tokens, size_t count)
{
    static const size_t columns[] = {GT_EVENT_INPUT_DIMS, GT_EVENT_INPUT_TYPES, GT_EVENT_INPUT_STRIDES,
                                     GT_EVENT_CONCRETE_INPUTS};
    enum { COLUMNS = GT_LENGTH(columns) };
    uint32_t *rows = gt_alloc(count * sizeof *rows), *cells = gt_alloc(COLUMNS * count * sizeof *cells);
    for (size_t i = 0; i < count; i++) rows[i] = tokens[i].event;
    for (size_t c = 0; c < COLUMNS; c++)
        gt_store_string_ids_at(trace->store, columns[c], rows, count, cells + c * count);
    for (size_t i = 0; i < count; i++)
        tokens[i].arguments = gt_graph_add_arguments(
            references,
            (gt_graph_arguments){translate(t, cells[i]), translate(t, cells[count + i]),
                                 translate(t, cells[2 * count + i]), translate(t, cells[3 * count + i])});
    gt_free_all(rows, cells);
}

/* ---- eager steps ---- */

typedef struct step_reader {
    gt_graph_references *references;
    gt_graph_names *names;
    const gt_linked_view *trace;
    const gt_step_list *steps;
    translation strings;
    gt_values *values;
    const gt_module_frames *modules;
    uint32_t *ops; /* of the current step: indexes of steps->ops */
    size_t count;
} step_reader;

static int by_call(const void *left, const void *right, void *context)
{
    const gt_step_list *steps = context;
    uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
    const gt_listed_op *a = &steps->ops[i], *b = &steps->ops[j];
    if (a->call_ns != b->call_ns) return a->call_ns < b->call_ns ? -1 : 1;
    return i < j ? -1 : i > j; /* they are by start */
}

/* Lists the ops of a step whose calls are known, by call. False if it replays graphs. */
static bool list_ops(step_reader *r, const uint32_t *ops, size_t count)
{
    size_t in_graphs = 0;
    r->count = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t index = ops ? ops[i] : (uint32_t)i;
        const gt_listed_op *op = &r->steps->ops[index];
        in_graphs += op->in_graph;
        if (!op->in_graph && op->call != GT_NO_EVENT) r->ops[r->count++] = index;
    }
    if (in_graphs * 10 > count) return false;
    if (r->count) qsort_r(r->ops, r->count, sizeof *r->ops, by_call, (void *)(uintptr_t)r->steps);
    return r->count > 0;
}

/* Norms have a block per row, so most of them tell the batch. -1: there are none. */
static int64_t batch_of(const step_reader *r)
{
    gt_map counts = {0};
    uint32_t best = GT_STR_NONE, most = 0;
    for (size_t i = 0; i < r->count; i++) {
        const gt_listed_op *op = &r->steps->ops[r->ops[i]];
        if (op->class != GT_CLASS_NORM || op->grid == GT_STR_NONE) continue;
        uint32_t *count = gt_map_put(&counts, op->grid, 0);
        *count = *count == GT_MAP_NONE ? 1 : *count + 1;
        if (*count > most) {
            most = *count;
            best = op->grid;
        }
    }
    gt_map_free(&counts);
    gt_str grid = gt_interner_get(r->trace->strings, best);
    return grid.len > 1 && grid.bytes[0] == '[' ? strtoll(grid.bytes + 1, NULL, 10) : -1;
}

static void add_step(step_reader *r, bool generates)
{
    gt_graph_reference made = {.count = r->count, .padded = generates ? batch_of(r) : -1};
    made.tokens = gt_alloc(made.count * sizeof *made.tokens);
    uint32_t *calls = gt_alloc(made.count * sizeof *calls);
    for (size_t i = 0; i < made.count; i++) calls[i] = r->steps->ops[r->ops[i]].call;
    call_facts facts = find_facts(r->trace, r->values, r->modules, calls, made.count);
    for (size_t i = 0; i < made.count; i++) {
        const gt_listed_op *op = &r->steps->ops[r->ops[i]];
        made.tokens[i] = (gt_graph_token){.name = translate(&r->strings, op->name),
                                          .grid = translate(&r->strings, op->grid),
                                          .op = translate(&r->strings, r->trace->name[facts.ops[i]]),
                                          .module = translate(&r->strings, facts.modules[i]),
                                          .event = facts.ops[i],
                                          .reads = facts.reads[i],
                                          .is_memory = op->kind != GT_KIND_KERNEL};
    }
    if (made.padded >= 0) read_arguments(r->references, r->trace, &r->strings, made.tokens, made.count);
    gt_graph_add_eager(r->references, r->names, made);
    free_facts(&facts);
    gt_free(calls);
}

size_t gt_graph_add_steps(gt_graph_references *references, gt_graph_names *names, const gt_linked_view *trace,
                          const gt_step_list *steps, const gt_module_frames *modules)
{
    step_reader r = {references,
                     names,
                     trace,
                     steps,
                     translation_new(names->strings, trace->strings),
                     gt_values_new(trace->strings),
                     modules,
                     gt_alloc(steps->op_count * sizeof *r.ops),
                     0};
    size_t added = 0;
    for (size_t i = 0; i < steps->count; i++) {
        const gt_listed_step *step = &steps->steps[i];
        if (!list_ops(&r, steps->of_steps + step->first_op, step->op_count)) continue;
        add_step(&r, gt_phase_generates(step->phase));
        added++;
    }
    if (!steps->count && list_ops(&r, NULL, steps->op_count)) {
        add_step(&r, false);
        added++;
    }
    gt_free_all(r.ops, r.strings.known);
    gt_values_free(r.values);
    return added;
}

/* ---- captures ---- */

/* A launch, a copy or a memset. */
static bool is_graph_node(gt_str name)
{
    return gt_str_contains_nocase(name, "launch") || gt_str_contains_nocase(name, "memcpy") ||
           gt_str_contains_nocase(name, "memset");
}

/* The calls whose names contain `word`, by start. */
static gt_row_list list_calls(const gt_linked_view *trace, const char *word)
{
    gt_row_list rows = {0};
    for (uint32_t row = 0; row < trace->recorded; row++)
        if (is_call(trace->kind[row]) && gt_str_contains(gt_event_name(&trace->events, row), word))
            GT_PUSH(rows.items, rows.count, rows.capacity, row);
    gt_order_rows(rows.items, rows.count, trace->start_us);
    return rows;
}

/* The times in which graphs were captured: the n-th begin and the n-th end. */
typedef struct windows {
    gt_row_list begins, ends;
    size_t count;
} windows;

static windows find_windows(const gt_linked_view *trace)
{
    windows w = {list_calls(trace, "StreamBeginCapture"), list_calls(trace, "StreamEndCapture"), 0};
    w.count = w.begins.count < w.ends.count ? w.begins.count : w.ends.count;
    return w;
}

static void free_windows(windows *w)
{
    gt_free_all(w->begins.items, w->ends.items);
}

/* Whether an event is inside a window. Another thread of the process takes part in the capture, too: that of
 * autograd's engine launches the backward pass. */
static bool is_inside(const gt_linked_view *trace, const windows *w, size_t window, uint32_t row)
{
    uint32_t begin = w->begins.items[window], end = w->ends.items[window];
    return gt_event_process(&trace->events, row) == gt_event_process(&trace->events, begin) &&
           trace->start_us[row] >= gt_event_end_us(&trace->events, begin) &&
           gt_event_end_us(&trace->events, row) <= trace->start_us[end];
}

/* The window that an event may be in: the last one that begins before it. SIZE_MAX: none. */
static size_t window_of(const gt_linked_view *trace, const windows *w, uint32_t row)
{
    size_t low = 0, high = w->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trace->start_us[w->begins.items[middle]] <= trace->start_us[row])
            low = middle + 1;
        else
            high = middle;
    }
    return low && is_inside(trace, w, low - 1, row) ? low - 1 : SIZE_MAX;
}

/* By window: the calls that are nodes of its graph, by start. A call inside another one does not count. */
static gt_row_list *list_nodes(const gt_linked_view *trace, const windows *w)
{
    gt_row_list *nodes = gt_alloc_zero(w->count, sizeof *nodes);
    for (uint32_t row = 0; row < trace->recorded; row++) {
        if (!is_call(trace->kind[row]) || !is_graph_node(gt_event_name(&trace->events, row))) continue;
        uint32_t parent = trace->parent[row];
        if (parent != GT_NO_EVENT && is_call(trace->kind[parent])) continue;
        size_t window = window_of(trace, w, row);
        if (window == SIZE_MAX) continue;
        GT_PUSH(nodes[window].items, nodes[window].count, nodes[window].capacity, row);
    }
    for (size_t i = 0; i < w->count; i++) gt_order_rows(nodes[i].items, nodes[i].count, trace->start_us);
    return nodes;
}

static gt_graph_reference read_capture(gt_graph_references *references, const gt_linked_view *trace,
                                       gt_values *values, const gt_module_frames *modules,
                                       translation *strings, const gt_row_list *nodes)
{
    gt_graph_reference part = {.count = nodes->count, .padded = -1};
    part.tokens = gt_alloc(part.count * sizeof *part.tokens);
    uint32_t *kernels = gt_alloc(part.count * sizeof *kernels);
    gt_store_string_ids_at(trace->store, GT_EVENT_LAUNCHED, nodes->items, nodes->count, kernels);
    call_facts facts = find_facts(trace, values, modules, nodes->items, nodes->count);
    for (size_t i = 0; i < part.count; i++) {
        gt_str call = gt_event_name(&trace->events, nodes->items[i]);
        part.tokens[i] = (gt_graph_token){.name = translate(strings, kernels[i]),
                                          .op = translate(strings, trace->name[facts.ops[i]]),
                                          .module = translate(strings, facts.modules[i]),
                                          .event = facts.ops[i],
                                          .reads = facts.reads[i],
                                          .is_memory = !gt_str_contains_nocase(call, "launch")};
    }
    read_arguments(references, trace, strings, part.tokens, part.count);
    free_facts(&facts);
    gt_free(kernels);
    return part;
}

size_t gt_graph_add_captures(gt_graph_references *references, gt_graph_names *names,
                             const gt_linked_view *capture, const gt_module_frames *modules, int64_t batch)
{
    windows w = find_windows(capture);
    gt_row_list *nodes = list_nodes(capture, &w);
    translation strings = translation_new(names->strings, capture->strings);
    gt_values *values = gt_values_new(capture->strings);
    if (w.count) gt_graph_add_capture(references, batch);
    for (size_t i = 0; i < w.count; i++) {
        gt_graph_add_part(references,
                          read_capture(references, capture, values, modules, &strings, &nodes[i]));
        gt_free(nodes[i].items);
    }
    size_t count = w.count;
    gt_free_all(nodes, strings.known);
    gt_values_free(values);
    free_windows(&w);
    return count;
}
