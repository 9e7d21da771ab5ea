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
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "trace/rows.h"
#include "trace/pytorch/gpu_events.h"
#include "trace/pytorch/state.h"

#include <stdlib.h>
#include <string.h>

enum { SHARED_LINKS_MAX = 1 << 24 }; /* see link_graph */

static bool is_runtime(uint8_t kind)
{
    return kind == GT_KIND_RUNTIME || kind == GT_KIND_DRIVER;
}

/* The ids that calls and GPU events share: correlation ids if the first launch has one, else external ids. */
static int64_t *link_ids(const gt_pytorch_state *trace)
{
    int64_t *correlations = gt_store_ints(trace->store, GT_EVENT_CORRELATION);
    uint32_t first = gt_first_launch(&trace->view.events);
    if (first != GT_NO_EVENT && correlations[first] != GT_EVENT_NONE) return correlations;
    gt_free(correlations);
    return gt_store_ints(trace->store, GT_EVENT_EXTERNAL_ID);
}

/* A table for the ids of the rows whose kind is in [first, last]. */
static gt_id_table new_table(const int64_t *ids, const uint8_t *kinds, size_t rows, uint8_t first,
                             uint8_t last)
{
    size_t count = 0, runs = 0;
    uint64_t page = UINT64_MAX;
    for (size_t row = 0; row < rows; row++) {
        if (kinds[row] < first || kinds[row] > last || ids[row] == GT_EVENT_NONE) continue;
        runs += gt_id_begins_page(ids[row], &page);
        count++;
    }
    return gt_id_table_new(count, runs);
}

enum { MAX_CHAIN = 64 }; /* longest list of GPU events with one id that find_gpu_event searches */

typedef struct lookup {
    gt_id_table flow_starts; /* from a flow id to the last flow start with it */
    gt_id_table flow_ends;
    uint64_t *flow_tracks; /* by flow event: process and thread */
    gt_id_table first_gpu; /* from an id to its first GPU row ... */
    uint32_t *next_gpu;    /* ... and from each of its rows to the next */
    gt_map by_track;       /* from (process and thread, id) to the last GPU row; only if long_chains */
    bool long_chains;      /* an id has more than MAX_CHAIN GPU rows */
} lookup;

static uint64_t track_key(uint32_t process, uint32_t thread)
{
    return (uint64_t)process << 32 | thread;
}

static uint64_t track_of(const gt_pytorch_state *trace, uint32_t row)
{
    return track_key(trace->process[row], trace->thread[row]);
}

/* Notes which process launches the GPU events of which other one. In the file, each start of a flow is
 * followed by its end, even if processes use the same ids. One process needs no notes. */
static void note_owners(gt_pytorch_state *trace, const uint8_t *kinds, const int64_t *flows,
                        const uint32_t *processes, size_t count)
{
    gt_map starts = {0}; /* from a flow id to the process of its last start */
    uint32_t first = GT_STR_NONE;
    bool several = false;
    for (size_t i = 0; i < count && !several; i++) {
        if (kinds[i] != GT_KIND_FLOW_START) continue;
        several = first != GT_STR_NONE && processes[i] != first;
        first = processes[i];
    }
    for (size_t i = 0; i < count && several; i++) {
        if (flows[i] == GT_EVENT_NONE) continue;
        if (kinds[i] == GT_KIND_FLOW_START) {
            *gt_map_put(&starts, (uint64_t)flows[i], 0) = processes[i];
            continue;
        }
        uint32_t from = gt_map_get(&starts, (uint64_t)flows[i], 0);
        if (from != GT_MAP_NONE) gt_owners_note(&trace->owners, processes[i], from);
    }
    gt_map_free(&starts);
}

static void index_flows(gt_pytorch_state *trace, lookup *l)
{
    size_t count = gt_store_count(trace->flow_events);
    int64_t *flows = gt_store_ints(trace->flow_events, GT_EVENT_FLOW),
            *wide = gt_store_ints(trace->flow_events, GT_EVENT_KIND);
    uint32_t *processes = gt_store_string_ids(trace->flow_events, GT_EVENT_PROCESS);
    uint32_t *threads = gt_store_string_ids(trace->flow_events, GT_EVENT_THREAD);
    uint8_t *kinds = gt_alloc(count);
    l->flow_tracks = gt_alloc(count * sizeof *l->flow_tracks);
    for (size_t i = 0; i < count; i++) kinds[i] = (uint8_t)wide[i];
    l->flow_starts = new_table(flows, kinds, count, GT_KIND_FLOW_START, GT_KIND_FLOW_START);
    l->flow_ends = new_table(flows, kinds, count, GT_KIND_FLOW_END, GT_KIND_FLOW_END);
    for (uint32_t i = 0; i < count; i++) {
        l->flow_tracks[i] = track_key(processes[i], threads[i]);
        if (flows[i] != GT_EVENT_NONE)
            *gt_id_put(kinds[i] == GT_KIND_FLOW_START ? &l->flow_starts : &l->flow_ends, flows[i]) = i;
    }
    note_owners(trace, kinds, flows, processes, count);
    gt_free(flows);
    gt_free(wide);
    gt_free(processes);
    gt_free(threads);
    gt_free(kinds);
}

/* Makes a list of the GPU rows of each id. Goes backwards through the rows, so that lists are in file order.
 */
static void index_gpu_events(const gt_pytorch_state *trace, const int64_t *ids, lookup *l)
{
    l->first_gpu = new_table(ids, trace->kind, trace->count, GT_KIND_KERNEL, GT_KIND_MEMSET);
    l->next_gpu = gt_alloc(trace->count * sizeof *l->next_gpu);
    for (uint32_t row = (uint32_t)trace->count; row-- > 0;) {
        if (!gt_kind_is_gpu(trace->kind[row]) || ids[row] == GT_EVENT_NONE) continue;
        uint32_t *first = gt_id_put(&l->first_gpu, ids[row]);
        l->next_gpu[row] = *first;
        *first = row;
    }
}

static void index_tracks(const gt_pytorch_state *trace, const int64_t *ids, lookup *l)
{
    for (uint32_t row = 0; row < trace->count; row++)
        if (gt_kind_is_gpu(trace->kind[row]) && ids[row] != GT_EVENT_NONE)
            *gt_map_put(&l->by_track, track_of(trace, row), (uint64_t)ids[row]) = row;
    l->long_chains = true;
}

static void free_lookup(lookup *l)
{
    gt_id_table_free(&l->flow_starts);
    gt_id_table_free(&l->flow_ends);
    gt_id_table_free(&l->first_gpu);
    gt_map_free(&l->by_track);
    gt_free(l->flow_tracks);
    gt_free(l->next_gpu);
}

static void link(gt_pytorch_state *trace, size_t *capacity, uint32_t runtime, uint32_t gpu)
{
    size_t other = *capacity, count = trace->link_count;
    GT_PUSH(trace->link_runtime, trace->link_count, *capacity, runtime);
    GT_PUSH(trace->link_gpu, count, other, gpu);
    trace->parent[gpu] = runtime;
}

static bool is_graph_launch(gt_str name)
{
    return strcmp(name.bytes, "cudaGraphLaunch") == 0 || strcmp(name.bytes, "hipGraphLaunch") == 0;
}

/* The last GPU event with this id on a track, GT_NO_EVENT if there is none. */
static uint32_t find_gpu_event(const gt_pytorch_state *trace, const int64_t *ids, lookup *l, int64_t id,
                               uint64_t track)
{
    uint32_t found = GT_NO_EVENT, steps = 0;
    if (!l->long_chains) {
        for (uint32_t gpu = gt_id_get(&l->first_gpu, id); gpu != GT_NO_EVENT; gpu = l->next_gpu[gpu]) {
            if (track_of(trace, gpu) == track) found = gpu;
            if (++steps > MAX_CHAIN) {
                index_tracks(trace, ids, l);
                break;
            }
        }
    }
    return l->long_chains ? gt_map_get(&l->by_track, track, (uint64_t)id) : found;
}

/* The GPU event at the end of the flow with this id, GT_NO_EVENT if there is none. */
static uint32_t follow_flow(const gt_pytorch_state *trace, const int64_t *ids, lookup *l, int64_t id)
{
    uint32_t end = gt_id_get(&l->flow_ends, id);
    if (end == GT_NO_EVENT || gt_id_get(&l->flow_starts, id) == GT_NO_EVENT) return GT_NO_EVENT;
    return find_gpu_event(trace, ids, l, id, l->flow_tracks[end]);
}

/* Links all GPU events with the id to a graph launch. Graph launches with the same id share their GPU events,
 * so a broken trace could have a quadratic number of links. Above SHARED_LINKS_MAX, GPU events that already
 * have a launch get no more: returns false. */
static bool link_graph(gt_pytorch_state *trace, lookup *l, size_t *capacity, uint32_t row, int64_t id)
{
    uint32_t gpu = gt_id_get(&l->first_gpu, id);
    if (gpu != GT_NO_EVENT && trace->parent[gpu] != GT_NO_EVENT && trace->link_count > SHARED_LINKS_MAX)
        return false;
    for (; gpu != GT_NO_EVENT; gpu = l->next_gpu[gpu]) link(trace, capacity, row, gpu);
    return true;
}

gt_pytorch_linked *gt_pytorch_link(gt_pytorch_tree *tree)
{
    gt_pytorch_state *trace = tree->state;
    gt_free(tree);
    int64_t *ids = link_ids(trace);
    lookup l = {0};
    size_t capacity = 0, not_linked = 0;
    index_flows(trace, &l);
    index_gpu_events(trace, ids, &l);
    for (uint32_t row = 0; row < trace->count; row++) {
        if (!is_runtime(trace->kind[row]) || ids[row] == GT_EVENT_NONE) continue;
        if (is_graph_launch(gt_state_name(trace, row))) {
            not_linked += !link_graph(trace, &l, &capacity, row, ids[row]);
        } else {
            uint32_t gpu = follow_flow(trace, ids, &l, ids[row]);
            if (gpu != GT_NO_EVENT) link(trace, &capacity, row, gpu);
        }
    }
    if (not_linked)
        gt_warn("%zu graph launches that share an id with earlier ones are not linked (limit: %d links)",
                not_linked, SHARED_LINKS_MAX);
    free_lookup(&l);
    gt_free(ids);
    gt_store_free(trace->flow_events);
    trace->flow_events = NULL;
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
