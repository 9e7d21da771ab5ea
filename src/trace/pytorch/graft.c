/* Putting captured graphs into a trace. New rows are collected graft by graft, and at the end appended at
 * once, because the tree is numbered as a whole (tree_parts.h).
 *
 * Few events of a graph are needed: ops, what launched a kernel, and all above these. The others, mostly
 * Python functions, only count in the uids. */
#include "trace/pytorch/graft.h"

#include "trace/pytorch/tree_parts.h"

typedef struct new_row {
    uint32_t name, launch;
    uint32_t parent; /* row; those of new rows continue the trace's */
    gt_lane_ids lane;
    uint8_t kind;
} new_row;

typedef struct new_link {
    uint32_t call, gpu;
} new_link;

struct gt_graft_list {
    gt_pytorch_state *trace;
    gt_store_writer *writer;
    new_row *rows; /* by place */
    size_t row_count, row_capacity;
    gt_row_list callees;          /* the same rows in the order in which their callers get them as children */
    gt_row_list roots;            /* ops that become late roots */
    gt_row_list launches, graphs; /* graphs: the row that stands for each */
    new_link *links;
    size_t link_count, link_capacity;
    size_t uids;
};

gt_graft_list *gt_graft_begin(gt_pytorch_linked *trace)
{
    gt_graft_list *list = gt_alloc_zero(1, sizeof *list);
    list->trace = trace->state;
    list->writer = gt_store_writer_new(gt_event_columns, GT_EVENT_COLUMNS, list->trace->strings);
    return list;
}

uint32_t gt_graft_name(const gt_graft *graft, gt_interner *strings, uint32_t id)
{
    uint32_t *known = &graft->names[id];
    if (*known == GT_STR_NONE) *known = gt_interner_add_from(strings, graft->capture->strings, id);
    return *known;
}

/* ---- one graft ---- */

/* By event: whether it is needed. */
static uint8_t *find_needed(const gt_graft *graft)
{
    const gt_captured_graph *g = graft->graph;
    uint8_t *needed = gt_alloc_zero(g->count, 1);
    needed[0] = 1;
    for (size_t i = 0; i < graft->pair_count; i++) needed[g->calls[graft->pairs[i].call].event] = 1;
    for (size_t i = 1; i < g->count; i++)
        if (graft->capture->kind[g->events[i].row] == GT_KIND_CPU_OP) needed[i] = 1;
    for (size_t i = g->count; i-- > 1;)
        if (needed[i]) needed[g->events[i].caller] = 1;
    return needed;
}

/* Only ops have arguments that somebody reads. Kind, name, thread and times are in the arrays of the trace.
 */
static void store_event(gt_graft_list *list, const gt_graft *graft, uint32_t row)
{
    static const uint64_t in_arrays = UINT64_C(1) << GT_EVENT_KIND | UINT64_C(1) << GT_EVENT_NAME |
                                      UINT64_C(1) << GT_EVENT_PROCESS | UINT64_C(1) << GT_EVENT_THREAD |
                                      UINT64_C(1) << GT_EVENT_START | UINT64_C(1) << GT_EVENT_DURATION |
                                      UINT64_C(1) << GT_EVENT_INTEGRAL;
    gt_store_cell cells[GT_EVENT_COLUMNS] = {0};
    uint64_t present = 0;
    if (row != GT_NO_EVENT && graft->capture->kind[row] == GT_KIND_CPU_OP) {
        gt_store_get(graft->capture->store, row, cells);
        for (size_t c = 0; c < GT_EVENT_COLUMNS; c++) {
            bool is_text = gt_event_columns[c].type == GT_STORE_STRING;
            if (in_arrays >> c & 1 || gt_event_columns[c].type == GT_STORE_TIME) continue;
            if (is_text ? cells[c].text == GT_STR_NONE : cells[c].integer == gt_event_columns[c].absent)
                continue;
            if (is_text) cells[c].text = gt_graft_name(graft, list->trace->strings, (uint32_t)cells[c].text);
            present |= UINT64_C(1) << c;
        }
    }
    gt_store_writer_add(list->writer, present, cells);
}

static new_row row_of(gt_graft_list *list, const gt_graft *graft, uint32_t row)
{
    gt_interner *strings = list->trace->strings;
    if (row == GT_NO_EVENT)
        return (new_row){.kind = GT_KIND_RUNTIME, .name = gt_interner_add_cstr(strings, "CaptureRoot")};
    const gt_event_view *from = &graft->capture->events;
    return (new_row){.kind = from->kind[row],
                     .name = gt_graft_name(graft, strings, from->name[row]),
                     .lane = {gt_graft_name(graft, strings, gt_event_process(from, row)),
                              gt_graft_name(graft, strings, gt_event_thread(from, row))}};
}

/* Adds the needed events by place; rows[event] becomes the row of each, GT_NO_EVENT of the others. */
static void add_rows(gt_graft_list *list, const gt_graft *graft, const uint8_t *needed, uint32_t *rows)
{
    const gt_captured_graph *g = graft->graph;
    uint32_t *by_place = gt_alloc(g->count * sizeof *by_place);
    for (size_t i = 0; i < g->count; i++) by_place[g->events[i].place] = (uint32_t)i;
    for (size_t place = 0; place < g->count; place++) {
        uint32_t event = by_place[place], row = g->events[event].row;
        rows[event] = GT_NO_EVENT;
        if (!needed[event]) {
            gt_store_writer_skip(list->writer, 1);
            continue;
        }
        new_row added = row_of(list, graft, row);
        added.launch = graft->launch;
        rows[event] = (uint32_t)(list->trace->count + list->row_count);
        GT_PUSH(list->rows, list->row_count, list->row_capacity, added);
        store_event(list, graft, row);
    }
    list->uids += g->count;
    gt_free(by_place);
}

static void add_row(gt_row_list *list, uint32_t row)
{
    GT_PUSH(list->items, list->count, list->capacity, row);
}

void gt_graft_add(gt_graft_list *list, const gt_graft *graft)
{
    const gt_captured_graph *g = graft->graph;
    gt_pytorch_state *trace = list->trace;
    uint8_t *needed = find_needed(graft);
    uint32_t *rows = gt_alloc(g->count * sizeof *rows);
    add_rows(list, graft, needed, rows);
    for (size_t i = 0; i < g->count; i++) {
        if (!needed[i]) continue;
        new_row *row = &list->rows[rows[i] - trace->count];
        row->parent = i ? rows[g->events[i].caller] : graft->launch;
        add_row(&list->callees, rows[i]);
    }
    if (gt_pytorch_cpu_op_above(&trace->view, graft->launch) == GT_NO_EVENT)
        for (size_t i = 0; i < g->op_root_count; i++) add_row(&list->roots, rows[g->op_roots[i]]);
    for (size_t i = 0; i < graft->pair_count; i++) {
        new_link link = {rows[g->calls[graft->pairs[i].call].event], graft->pairs[i].gpu};
        GT_PUSH(list->links, list->link_count, list->link_capacity, link);
    }
    add_row(&list->launches, graft->launch);
    add_row(&list->graphs, rows[0]);
    gt_free_all(needed, rows);
}

/* ---- all of them ---- */

static void append_rows(gt_graft_list *list)
{
    gt_pytorch_state *trace = list->trace;
    size_t count = list->row_count;
    gt_lane_ids *lanes = gt_alloc(count * sizeof *lanes);
    for (size_t i = 0; i < count; i++) lanes[i] = list->rows[i].lane;
    gt_event_lanes_append(&trace->lanes, trace->count, lanes, count);
    gt_free(lanes);
    gt_store_append(trace->store, gt_store_writer_take(list->writer));
    if (!trace->grafted) trace->grafted = gt_alloc_zero(trace->count, 1);
    gt_state_resize(trace, trace->count + count);
    for (size_t i = 0; i < count; i++) {
        const new_row *from = &list->rows[i];
        size_t row = trace->count + i;
        trace->kind[row] = from->kind;
        trace->name[row] = from->name;
        trace->start_us[row] = trace->start_us[from->launch];
        trace->dur_us[row] = trace->dur_us[from->launch];
        trace->integral[row] = trace->integral[from->launch];
        trace->parent[row] = from->parent;
        trace->grafted[row] = GT_GRAFT_EVENT;
        if (from->kind == GT_KIND_CPU_OP) trace->gpu_only = false;
    }
    trace->count += count;
    trace->uid_count += list->uids;
}

/* What the launches called before is no longer in the tree. */
static void replace_children(gt_graft_list *list, gt_child_lists *children)
{
    for (size_t i = 0; i < list->launches.count; i++) {
        uint32_t launch = list->launches.items[i];
        while (children->first[launch] != GT_NO_EVENT)
            gt_child_lists_remove(children, children->first[launch]);
    }
    for (size_t i = 0; i < list->callees.count; i++) {
        uint32_t row = list->callees.items[i];
        gt_child_lists_append(children, list->trace->parent[row], row);
    }
}

/* By row: the calls whose links are replaced, which are the launches and what was below them. */
static uint8_t *find_replaced(const gt_graft_list *list)
{
    const gt_pytorch_state *trace = list->trace;
    gt_calls *calls = gt_calls_new(&trace->view);
    uint8_t *replaced = gt_alloc_zero(trace->count, 1);
    for (size_t i = 0; i < list->launches.count; i++) {
        uint32_t launch = list->launches.items[i];
        replaced[launch] = 1;
        if (trace->preorder[launch] == GT_NO_EVENT) continue;
        for (uint32_t n = trace->preorder[launch]; n < trace->subtree_end[launch]; n++)
            replaced[calls->row_of[n]] = 1;
    }
    gt_calls_free(calls);
    return replaced;
}

/* New links come last: they are in the order of their rows, as all links are, but for those of one graph,
 * which are in the order in which its GPU events were found. */
static void replace_links(gt_graft_list *list, const uint8_t *replaced)
{
    gt_pytorch_state *trace = list->trace;
    size_t kept = 0;
    for (size_t i = 0; i < trace->link_count; i++) {
        if (replaced[trace->link_runtime[i]]) continue;
        trace->link_runtime[kept] = trace->link_runtime[i];
        trace->link_gpu[kept++] = trace->link_gpu[i];
    }
    size_t count = kept + list->link_count;
    trace->link_runtime = gt_realloc(trace->link_runtime, (count + 1) * sizeof *trace->link_runtime);
    trace->link_gpu = gt_realloc(trace->link_gpu, (count + 1) * sizeof *trace->link_gpu);
    for (size_t i = 0; i < list->link_count; i++) {
        trace->link_runtime[kept + i] = list->links[i].call;
        trace->link_gpu[kept + i] = list->links[i].gpu;
        trace->parent[list->links[i].gpu] = list->links[i].call;
    }
    trace->link_count = count;
}

static void make_changes(gt_graft_list *list)
{
    gt_pytorch_state *trace = list->trace;
    uint8_t *replaced = find_replaced(list);
    gt_child_lists children = gt_child_lists_new(&trace->view, trace->count + list->row_count);
    append_rows(list);
    replace_children(list, &children);
    replace_links(list, replaced);
    for (size_t i = 0; i < list->launches.count; i++)
        trace->grafted[list->launches.items[i]] = trace->grafted[list->graphs.items[i]] = GT_GRAFT_PASSAGE;
    for (size_t i = 0; i < list->roots.count; i++) gt_state_add_late_root(trace, list->roots.items[i]);
    gt_child_lists_number(&children, trace);
    gt_child_lists_free(&children);
    gt_free(replaced);
    gt_state_publish(trace);
}

size_t gt_graft_finish(gt_graft_list *list)
{
    size_t launches = list->launches.count;
    if (launches) make_changes(list);
    gt_store_writer_free(list->writer);
    gt_free_all(list->rows, list->callees.items, list->roots.items, list->launches.items, list->graphs.items,
                list->links, list);
    return launches;
}
