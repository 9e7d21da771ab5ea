/* Reading captured graphs: windows are pairs of calls, and the events of a window are found in the call tree,
 * whose events are numbered by start on each thread. */
#include "trace/pytorch/capture.h"

/* ---- windows ---- */

static bool is_runtime_named(const gt_linked_view *trace, uint32_t row, const char *part)
{
    return trace->kind[row] == GT_KIND_RUNTIME && gt_str_contains(gt_event_name(&trace->events, row), part);
}

/* Per thread, a window is from one begin to the next end; a begin without an end is none. */
gt_graph_window *gt_graph_windows_find(const gt_linked_view *trace, size_t *count)
{
    gt_row_list bounds = {0};
    for (uint32_t row = 0; row < trace->count; row++)
        if (is_runtime_named(trace, row, "StreamBeginCapture") ||
            is_runtime_named(trace, row, "StreamEndCapture"))
            GT_PUSH(bounds.items, bounds.count, bounds.capacity, row);
    gt_order_rows(bounds.items, bounds.count, trace->start_us);
    uint32_t *open = gt_no_events(trace->lanes->count); /* by lane: the window that has no end yet */
    gt_graph_window *windows = NULL;
    size_t found = 0, capacity = 0, whole = 0;
    for (size_t i = 0; i < bounds.count; i++) {
        uint32_t row = bounds.items[i], *begun = &open[gt_event_lane(&trace->events, row)];
        bool begins = is_runtime_named(trace, row, "StreamBeginCapture");
        if (begins && *begun == GT_NO_EVENT) {
            *begun = (uint32_t)found;
            double start_us = gt_event_end_us(&trace->events, row);
            GT_PUSH(windows, found, capacity, ((gt_graph_window){row, start_us, -1}));
        } else if (!begins && *begun != GT_NO_EVENT) {
            windows[*begun].end_us = trace->start_us[row];
            *begun = GT_NO_EVENT;
        }
    }
    for (size_t i = 0; i < found; i++)
        if (windows[i].end_us >= windows[i].start_us) windows[whole++] = windows[i];
    gt_free_all(bounds.items, open);
    *count = whole;
    return windows;
}

/* ---- events ---- */

typedef struct reader {
    const gt_calls *calls;
    const gt_linked_view *trace;
    gt_captured_graph graph;
    size_t capacity, call_capacity, root_capacity;
} reader;

static bool is_call(const gt_linked_view *trace, uint32_t row)
{
    static const char *const parts[] = {"launch", "memcpy", "memset"};
    if (trace->kind[row] != GT_KIND_RUNTIME && trace->kind[row] != GT_KIND_DRIVER) return false;
    gt_str name = gt_event_name(&trace->events, row);
    for (size_t i = 0; i < GT_LENGTH(parts); i++)
        if (gt_str_contains_nocase(name, parts[i])) return true;
    return false;
}

static void add_event(reader *r, uint32_t row, uint32_t caller)
{
    gt_captured_graph *g = &r->graph;
    GT_PUSH(g->events, g->count, r->capacity, ((gt_captured_event){row, caller, 0}));
}

/* The outermost events of the window on its thread, whose numbers follow that of the call that began it. */
static void list_outermost(const reader *r, const gt_graph_window *w, gt_row_list *inner,
                           gt_row_list *outside)
{
    const gt_linked_view *trace = r->trace;
    uint32_t n = trace->preorder[w->begin], lane = gt_event_lane(&trace->events, w->begin);
    if (n == GT_NO_EVENT) return;
    while (n < trace->numbered) {
        uint32_t row = r->calls->row_of[n];
        if (gt_event_lane(&trace->events, row) != lane || trace->start_us[row] > w->end_us) break;
        if (trace->start_us[row] < w->start_us || gt_event_end_us(&trace->events, row) > w->end_us) {
            n++;
            continue;
        }
        bool is_inner = trace->parent[row] != GT_NO_EVENT &&
                        (trace->kind[row] == GT_KIND_CPU_OP || trace->kind[row] == GT_KIND_PYTHON);
        gt_row_list *list = is_inner ? inner : outside;
        GT_PUSH(list->items, list->count, list->capacity, row);
        n = trace->subtree_end[row];
    }
    if (inner->count) qsort(inner->items, inner->count, sizeof *inner->items, gt_by_row);
}

static void add_below(reader *r)
{
    for (size_t i = 1; i < r->graph.count; i++) {
        uint32_t row = r->graph.events[i].row;
        for (uint32_t child = gt_calls_first(r->calls, row); child != GT_NO_EVENT;
             child = gt_calls_next(r->calls, row, child))
            add_event(r, child, (uint32_t)i);
    }
}

/* ---- places and calls ---- */

/* By event: whether it is below a call. */
static uint8_t *find_nested(const reader *r)
{
    const gt_captured_event *events = r->graph.events;
    uint8_t *nested = gt_alloc_zero(r->graph.count, 1);
    for (size_t i = 1; i < r->graph.count; i++) {
        uint32_t up = events[i].caller;
        nested[i] = nested[up] || (up && is_call(r->trace, events[up].row));
    }
    return nested;
}

/* Places the events by start, and lists calls and outermost ops in this order. */
static void place_events(reader *r, double start_us)
{
    gt_captured_graph *g = &r->graph;
    double *starts = gt_alloc(g->count * sizeof *starts);
    uint32_t *order = gt_alloc(g->count * sizeof *order);
    uint8_t *nested = find_nested(r);
    for (size_t i = 0; i < g->count; i++) {
        order[i] = (uint32_t)i;
        starts[i] = i ? r->trace->start_us[g->events[i].row] : start_us;
    }
    gt_order_rows(order, g->count, starts);
    for (size_t i = 0; i < g->count; i++) {
        uint32_t event = order[i], row = g->events[event].row;
        g->events[event].place = (uint32_t)i;
        if (!event) continue;
        if (is_call(r->trace, row)) {
            gt_captured_call call = {event, nested[event] != 0};
            GT_PUSH(g->calls, g->call_count, r->call_capacity, call);
        }
        if (r->trace->kind[row] == GT_KIND_CPU_OP && gt_pytorch_cpu_op_above(r->trace, row) == GT_NO_EVENT)
            GT_PUSH(g->op_roots, g->op_root_count, r->root_capacity, event);
    }
    gt_free_all(starts, order, nested);
}

gt_captured_graph gt_captured_graph_read(const gt_calls *calls, const gt_graph_window *window,
                                         bool with_outside)
{
    reader r = {.calls = calls, .trace = calls->trace};
    gt_row_list inner = {0}, outside = {0};
    list_outermost(&r, window, &inner, &outside);
    add_event(&r, GT_NO_EVENT, GT_NO_EVENT);
    for (size_t i = 0; i < inner.count; i++) add_event(&r, inner.items[i], 0);
    for (size_t i = 0; with_outside && i < outside.count; i++) add_event(&r, outside.items[i], 0);
    add_below(&r);
    place_events(&r, window->start_us);
    gt_free_all(inner.items, outside.items);
    return r.graph;
}

void gt_captured_graph_free(gt_captured_graph *graph)
{
    gt_free_all(graph->events, graph->calls, graph->op_roots);
    *graph = (gt_captured_graph){0};
}
