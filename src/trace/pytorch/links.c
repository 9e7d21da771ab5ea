/* Launches: which runtime call launched which GPU event. Also which events a checkpoint computes again.
 *
 * A runtime call and the GPU event that it launches share an id (correlation or external id). Several GPU
 * events may share it, so a pair of flow events (category ac2g) with the same id selects one of them: it
 * leads from the call to the process and thread of the GPU event, that is, to its device and stream:
 *
 *     hipLaunchKernel  correlation 7
 *     flow events      id 7, from pid 100 tid 100 to pid 0 tid 3
 *     kernel           correlation 7, pid 0 tid 3             <- launched by the call
 *     kernel           correlation 7, pid 0 tid 5             <- not linked
 *
 * Graph launches have no flow events: they launch all GPU events with their id.
 *
 * These are the rules of TraceLens; launches.c links what they miss. */
#include "trace/pytorch/gpu_events.h"
#include "trace/pytorch/state.h"

enum { SHARED_LINKS_MAX = 1 << 24 }; /* see add_link */

static bool is_runtime(uint8_t kind)
{
    return kind == GT_KIND_RUNTIME || kind == GT_KIND_DRIVER;
}

/* All is kept by the slot of an id that GPU events have. Where several events compete for a slot, the last
 * one in the file wins. */
typedef struct linker {
    gt_pytorch_state *trace;
    size_t id_column; /* of the ids that calls and GPU events share */
    gt_id_slots slots;

    uint32_t *flow_process, *flow_thread; /* string ids, by flow event */
    uint8_t *has_start;                   /* 1: a flow with the id starts */
    uint32_t *flow_end;                   /* the last end of a flow with the id, plus 1; 0: none */
    uint32_t *target;                     /* the last GPU event where that flow ends, plus 1; 0: none */

    uint32_t graph_names[2]; /* string ids; UINT32_MAX if no event has the name */
    bool has_graphs;
    uint8_t *is_graph; /* 1: a graph launch has the id */
    uint32_t
        *graph_begin; /* where the GPU events of the id begin in graph_rows; two entries more than slots */
    uint32_t *graph_rows;

    uint8_t *is_launched; /* by row: 1 for GPU events that have a launch */
    size_t runtime_capacity, gpu_capacity, not_linked;
} linker;

/* ---- ids of rows ---- */

/* Correlation ids if the first launch has one, else external ids. */
static size_t find_id_column(const gt_pytorch_state *trace)
{
    uint32_t first = gt_first_launch(&trace->view.events);
    if (first == GT_NO_EVENT) return GT_EVENT_EXTERNAL_ID;
    int64_t correlation;
    gt_store_read_ints(trace->store, GT_EVENT_CORRELATION, first, first + 1, &correlation);
    return correlation != GT_EVENT_NONE ? GT_EVENT_CORRELATION : GT_EVENT_EXTERNAL_ID;
}

/* Calls use(l, row, slot) for the rows whose kind is wanted and whose id has a slot. */
static void each_row(linker *l, bool (*is_wanted)(uint8_t kind),
                     void (*use)(linker *l, uint32_t row, uint32_t slot))
{
    const gt_pytorch_state *trace = l->trace;
    int64_t ids[GT_ID_BATCH];
    for (size_t at = 0; at < trace->count; at += GT_ID_BATCH) {
        size_t stop = trace->count - at < GT_ID_BATCH ? trace->count : at + GT_ID_BATCH;
        gt_store_read_ints(trace->store, l->id_column, at, stop, ids);
        for (size_t row = at; row < stop; row++) {
            if (!is_wanted(trace->kind[row]) || ids[row - at] == GT_EVENT_NONE) continue;
            uint32_t slot = gt_id_slot(&l->slots, ids[row - at]);
            if (slot != GT_NO_SLOT) use(l, (uint32_t)row, slot);
        }
    }
}

static size_t ids_of_gpu_events(const void *context, size_t begin, size_t end, int64_t *ids)
{
    const linker *l = context;
    size_t count = 0;
    gt_store_read_ints(l->trace->store, l->id_column, begin, end, ids);
    for (size_t row = begin; row < end; row++)
        if (gt_kind_is_gpu(l->trace->kind[row]) && ids[row - begin] != GT_EVENT_NONE)
            ids[count++] = ids[row - begin];
    return count;
}

/* ---- flows ---- */

static void note_flows(linker *l)
{
    const gt_store *store = l->trace->flow_events;
    size_t count = gt_store_count(store);
    int64_t flows[GT_ID_BATCH], kinds[GT_ID_BATCH];
    for (size_t at = 0; at < count; at += GT_ID_BATCH) {
        size_t stop = count - at < GT_ID_BATCH ? count : at + GT_ID_BATCH;
        gt_store_read_ints(store, GT_EVENT_FLOW, at, stop, flows);
        gt_store_read_ints(store, GT_EVENT_KIND, at, stop, kinds);
        for (size_t i = at; i < stop; i++) {
            if (flows[i - at] == GT_EVENT_NONE) continue;
            uint32_t slot = gt_id_slot(&l->slots, flows[i - at]);
            if (slot == GT_NO_SLOT) continue;
            if (kinds[i - at] == GT_KIND_FLOW_START)
                l->has_start[slot] = 1;
            else
                l->flow_end[slot] = (uint32_t)i + 1;
        }
    }
}

static void aim_at(linker *l, uint32_t row, uint32_t slot)
{
    if (!l->flow_end[slot] || !l->has_start[slot]) return;
    uint32_t flow = l->flow_end[slot] - 1;
    gt_lane_ids ids = gt_lane_ids_of(&l->trace->lanes, row);
    if (l->flow_process[flow] == ids.process && l->flow_thread[flow] == ids.thread) l->target[slot] = row + 1;
}

static void index_flows(linker *l)
{
    gt_pytorch_state *trace = l->trace;
    l->flow_process = gt_store_string_ids(trace->flow_events, GT_EVENT_PROCESS);
    l->flow_thread = gt_store_string_ids(trace->flow_events, GT_EVENT_THREAD);
    l->has_start = gt_alloc_zero(l->slots.count, sizeof *l->has_start);
    l->flow_end = gt_alloc_zero(l->slots.count, sizeof *l->flow_end);
    l->target = gt_alloc_zero(l->slots.count, sizeof *l->target);
    note_flows(l);
    each_row(l, gt_kind_is_gpu, aim_at);
}

/* ---- owners ---- */

static bool is_launched_by_several(const linker *l, const uint8_t *kinds, size_t count)
{
    size_t first = 0;
    while (first < count && kinds[first] != GT_KIND_FLOW_START) first++;
    for (size_t i = first; i < count; i++)
        if (kinds[i] == GT_KIND_FLOW_START && l->flow_process[i] != l->flow_process[first]) return true;
    return false;
}

static void note_owner(gt_map *owners, uint32_t gpu, uint32_t host)
{
    uint32_t *owner = gt_map_put(owners, gpu, 0);
    *owner = *owner == GT_MAP_NONE || *owner == host ? host : GT_NO_OWNER;
}

/* Notes which process launches the GPU events of which other one. In the file, each start of a flow is
 * followed by its end, even if processes use the same ids. One process needs no notes. */
static void note_owners(linker *l)
{
    gt_store *store = l->trace->flow_events;
    size_t count = gt_store_count(store);
    uint8_t *kinds = gt_store_small_ints(store, GT_EVENT_KIND);
    if (is_launched_by_several(l, kinds, count)) {
        int64_t *flows = gt_store_ints(store, GT_EVENT_FLOW);
        gt_map starts = {0}; /* from a flow id to the process of its last start */
        for (size_t i = 0; i < count; i++) {
            if (flows[i] == GT_EVENT_NONE) continue;
            if (kinds[i] == GT_KIND_FLOW_START) {
                *gt_map_put(&starts, (uint64_t)flows[i], 0) = l->flow_process[i];
                continue;
            }
            uint32_t from = gt_map_get(&starts, (uint64_t)flows[i], 0);
            if (from != GT_MAP_NONE) note_owner(&l->trace->owners, l->flow_process[i], from);
        }
        gt_map_free(&starts);
        gt_free(flows);
    }
    gt_free(kinds);
}

/* ---- graph launches ---- */

static bool is_graph_launch(const linker *l, uint32_t row)
{
    uint32_t name = l->trace->name[row];
    return name == l->graph_names[0] || name == l->graph_names[1];
}

static void note_graph(linker *l, uint32_t row, uint32_t slot)
{
    if (is_graph_launch(l, row)) l->is_graph[slot] = 1;
}

static void count_graph_event(linker *l, uint32_t row, uint32_t slot)
{
    (void)row;
    if (l->is_graph[slot]) l->graph_begin[slot + 1]++;
}

/* While events are placed, graph_begin[slot + 1] is where the next one of the slot goes: first where they
 * begin, at last where they end, which is where those of the next slot begin. */
static void place_graph_event(linker *l, uint32_t row, uint32_t slot)
{
    if (l->is_graph[slot]) l->graph_rows[l->graph_begin[slot + 1]++] = row;
}

/* Lists the GPU events of the ids that graph launches have. */
static void index_graphs(linker *l)
{
    static const char *const names[] = {"cudaGraphLaunch", "hipGraphLaunch"};
    for (size_t i = 0; i < GT_LENGTH(names); i++) {
        uint32_t name = gt_interner_find(l->trace->strings, names[i], strlen(names[i]));
        l->graph_names[i] = name == GT_STR_NONE ? UINT32_MAX : name;
        l->has_graphs |= name != GT_STR_NONE;
    }
    if (!l->has_graphs) return;
    size_t slots = l->slots.count;
    l->is_graph = gt_alloc_zero(slots, sizeof *l->is_graph);
    l->graph_begin = gt_alloc_zero(slots + 2, sizeof *l->graph_begin);
    each_row(l, is_runtime, note_graph);
    each_row(l, gt_kind_is_gpu, count_graph_event);
    gt_sums_before(l->graph_begin, slots + 2);
    l->graph_rows = gt_alloc(l->graph_begin[slots + 1] * sizeof *l->graph_rows);
    each_row(l, gt_kind_is_gpu, place_graph_event);
}

/* ---- links ---- */

/* The GPU events that a call launches: *count of them. */
static const uint32_t *launched_by(const linker *l, uint32_t row, uint32_t slot, uint32_t *one, size_t *count)
{
    if (l->has_graphs && is_graph_launch(l, row)) {
        *count = l->graph_begin[slot + 1] - l->graph_begin[slot];
        return l->graph_rows + l->graph_begin[slot];
    }
    *count = l->target[slot] != 0;
    *one = l->target[slot] - 1;
    return one;
}

/* Graph launches with the same id share their GPU events, so a broken trace could have a quadratic number of
 * links. Above SHARED_LINKS_MAX, GPU events that already have a launch get no more. */
static void add_link(linker *l, uint32_t row, uint32_t slot)
{
    gt_pytorch_state *trace = l->trace;
    size_t count;
    uint32_t one;
    const uint32_t *gpu = launched_by(l, row, slot, &one, &count);
    if (trace->link_count > SHARED_LINKS_MAX && is_graph_launch(l, row) && count && l->is_launched[gpu[0]]) {
        l->not_linked++;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t other = trace->link_count;
        GT_PUSH(trace->link_runtime, trace->link_count, l->runtime_capacity, row);
        GT_PUSH(trace->link_gpu, other, l->gpu_capacity, gpu[i]);
        l->is_launched[gpu[i]] = 1;
    }
}

static void make_links(linker *l)
{
    l->is_launched = gt_alloc_zero(l->trace->count, 1);
    each_row(l, is_runtime, add_link);
    gt_free(l->is_launched);
    if (l->not_linked)
        gt_warn("%zu graph launches that share an id with earlier ones are not linked (limit: %d links)",
                l->not_linked, SHARED_LINKS_MAX);
}

void gt_state_find_links(gt_pytorch_state *trace)
{
    linker l = {.trace = trace, .id_column = find_id_column(trace)};
    l.slots = gt_id_slots_new(trace->count, ids_of_gpu_events, &l);
    index_flows(&l);
    note_owners(&l);
    gt_free_all(l.flow_process, l.flow_thread, l.has_start, l.flow_end);
    gt_store_free(trace->flow_events);
    trace->flow_events = NULL;
    index_graphs(&l);
    make_links(&l);
    gt_free_all(l.target, l.is_graph, l.graph_begin, l.graph_rows);
    gt_id_slots_free(&l.slots);
}

static void note_parents(void *context, size_t begin, size_t end)
{
    gt_pytorch_state *trace = context;
    for (size_t i = begin; i < end; i++) gt_state_launch(trace, trace->link_runtime[i], trace->link_gpu[i]);
}

gt_pytorch_linked *gt_pytorch_link(gt_pytorch_tree *tree)
{
    gt_pytorch_state *trace = tree->state;
    gt_free(tree);
    gt_parallel_ranges(trace->link_count, GT_ROWS_GRAIN, note_parents, trace);
    gt_state_publish(trace);
    gt_pytorch_linked *linked = gt_alloc(sizeof *linked);
    linked->state = trace;
    return linked;
}

/* ---- recompute ---- */

static bool is_recompute_root(gt_str name)
{
    return gt_str_contains(name, "torch/utils/checkpoint.py") && gt_str_contains(name, "recompute_fn");
}

void gt_pytorch_mark_recompute(gt_pytorch_linked *linked, size_t *regions, size_t *marked)
{
    gt_pytorch_state *trace = linked->state;
    size_t numbers = trace->numbered;
    /* By preorder number: how many recompute functions an event is in. Each function adds 1 at its first
     * event and subtracts 1 after its last; the running sum is the depth. */
    int32_t *depth = gt_alloc_zero(numbers + 1, sizeof *depth);
    *regions = *marked = 0;
    for (size_t row = 0; row < trace->count; row++) {
        if (trace->kind[row] != GT_KIND_PYTHON || trace->preorder[row] == GT_NO_EVENT ||
            !is_recompute_root(gt_state_name(trace, (uint32_t)row)))
            continue;
        depth[trace->preorder[row]]++;
        depth[trace->subtree_end[row]]--;
        ++*regions;
    }
    for (size_t i = 1; i < numbers; i++) depth[i] += depth[i - 1];
    gt_free(trace->recompute);
    trace->recompute = gt_alloc_zero(trace->count, 1);
    for (size_t row = 0; row < trace->count; row++) {
        if (trace->preorder[row] == GT_NO_EVENT || !depth[trace->preorder[row]]) continue;
        trace->recompute[row] = 1;
        *marked += (size_t)depth[trace->preorder[row]];
    }
    for (size_t i = 0; i < trace->link_count; i++) {
        uint32_t runtime = trace->link_runtime[i];
        if (!trace->recompute[runtime]) continue;
        trace->recompute[trace->link_gpu[i]] = 1;
        *marked += (size_t)depth[trace->preorder[runtime]];
    }
    gt_free(depth);
    gt_state_publish(trace);
}
