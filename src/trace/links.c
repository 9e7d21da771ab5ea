/* Launches: from a runtime call to the GPU work that it sent off, and what runs again for a backward pass.
 *
 * A launch and its work share an id (correlation or external id); an arrow (ac2g flow) with that id leads from the
 * call to the work's process and thread, which are device and stream. Graph launches have no arrows: all work with
 * their id is theirs. */
#include "base/map.h"
#include "base/memory.h"
#include "trace/pytorch.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_runtime(uint8_t kind) { return kind == GT_KIND_RUNTIME || kind == GT_KIND_DRIVER; }

static bool names_a_launch(gt_text name)
{
    for (size_t i = 0; i + 6 <= name.len; i++)
        if (strncasecmp(name.bytes + i, "launch", 6) == 0) return true;
    return false;
}

/* The ids that link launches to work: correlation ids where the first launch has one, else external ids. */
static int64_t *link_ids(const gt_pytorch *trace)
{
    int64_t *correlations = gt_store_ints(trace->store, GT_EVENT_CORRELATION);
    for (size_t row = 0; row < trace->count; row++) {
        if (!is_runtime(trace->kind[row]) || !names_a_launch(gt_pytorch_name(trace, (uint32_t)row))) continue;
        if (correlations[row] != GT_EVENT_NONE) return correlations;
        break;
    }
    free(correlations);
    return gt_store_ints(trace->store, GT_EVENT_EXTERNAL_ID);
}

typedef struct lookup {
    gt_map arrow_starts; /* flow id to a row, the last one's */
    gt_map arrow_ends;
    gt_map work;      /* (process and thread, id) to the last GPU row */
    gt_map work_of;   /* id to the first GPU row ... */
    uint32_t *others; /* ... and from each to the next with that id */
} lookup;

static uint64_t track_key(const gt_pytorch *trace, uint32_t row)
{
    return (uint64_t)trace->process[row] << 32 | trace->thread[row];
}

static lookup index_events(const gt_pytorch *trace, const int64_t *ids)
{
    lookup l = {.others = gt_alloc(trace->count * sizeof *l.others)};
    gt_map last_of = {0};
    int64_t *flows = gt_store_ints(trace->store, GT_EVENT_FLOW);
    for (uint32_t row = 0; row < trace->count; row++) {
        uint8_t kind = trace->kind[row];
        if (kind == GT_KIND_FLOW_START) *gt_map_put(&l.arrow_starts, (uint64_t)flows[row], 0) = row;
        if (kind == GT_KIND_FLOW_END) *gt_map_put(&l.arrow_ends, (uint64_t)flows[row], 0) = row;
        if (!gt_kind_is_gpu(kind) || ids[row] == GT_EVENT_NONE) continue;
        *gt_map_put(&l.work, track_key(trace, row), (uint64_t)ids[row]) = row;
        uint32_t *first = gt_map_put(&l.work_of, (uint64_t)ids[row], 0);
        uint32_t *last = gt_map_put(&last_of, (uint64_t)ids[row], 0);
        if (*first == GT_MAP_NONE) *first = row;
        else l.others[*last] = row;
        *last = row;
        l.others[row] = GT_NO_EVENT;
    }
    free(flows);
    gt_map_free(&last_of);
    return l;
}

static void free_lookup(lookup *l)
{
    gt_map_free(&l->arrow_starts);
    gt_map_free(&l->arrow_ends);
    gt_map_free(&l->work);
    gt_map_free(&l->work_of);
    free(l->others);
}

static void link(gt_pytorch *trace, size_t *capacity, uint32_t runtime, uint32_t gpu)
{
    size_t other = *capacity, count = trace->link_count;
    GT_PUSH(trace->link_runtime, trace->link_count, *capacity, runtime);
    GT_PUSH(trace->link_gpu, count, other, gpu);
    trace->parent[gpu] = runtime;
}

static bool is_graph_launch(gt_text name)
{
    return strcmp(name.bytes, "cudaGraphLaunch") == 0 || strcmp(name.bytes, "hipGraphLaunch") == 0;
}

/* The work at the end of the arrow with this id, GT_NO_EVENT where there is none. */
static uint32_t follow_arrow(const gt_pytorch *trace, const lookup *l, int64_t id)
{
    uint32_t end = gt_map_get(&l->arrow_ends, (uint64_t)id, 0);
    if (end == GT_MAP_NONE || gt_map_get(&l->arrow_starts, (uint64_t)id, 0) == GT_MAP_NONE) return GT_NO_EVENT;
    return gt_map_get(&l->work, track_key(trace, end), (uint64_t)id);
}

void gt_pytorch_link_launches(gt_pytorch *trace)
{
    int64_t *ids = link_ids(trace);
    lookup l = index_events(trace, ids);
    size_t capacity = 0;
    for (uint32_t row = 0; row < trace->count; row++) {
        if (!is_runtime(trace->kind[row]) || ids[row] == GT_EVENT_NONE) continue;
        if (is_graph_launch(gt_pytorch_name(trace, row))) {
            uint32_t gpu = gt_map_get(&l.work_of, (uint64_t)ids[row], 0);
            for (; gpu != GT_NO_EVENT; gpu = l.others[gpu]) link(trace, &capacity, row, gpu);
        } else {
            uint32_t gpu = follow_arrow(trace, &l, ids[row]);
            if (gpu != GT_NO_EVENT) link(trace, &capacity, row, gpu);
        }
    }
    free_lookup(&l);
    free(ids);
}

/* ---- recompute ---- */

static bool is_recompute_root(gt_text name)
{
    return memmem(name.bytes, name.len, "torch/utils/checkpoint.py", 25) &&
           memmem(name.bytes, name.len, "recompute_fn", 12);
}

void gt_pytorch_mark_recompute(gt_pytorch *trace, size_t *regions, size_t *marked)
{
    size_t numbers = trace->numbered;
    int32_t *depth = gt_alloc_zero(numbers + 1, sizeof *depth); /* how many roots an event is below, by number */
    *regions = *marked = 0;
    for (size_t row = 0; row < trace->count; row++) {
        if (trace->kind[row] != GT_KIND_PYTHON || trace->preorder[row] == GT_NO_EVENT ||
            !is_recompute_root(gt_pytorch_name(trace, (uint32_t)row)))
            continue;
        depth[trace->preorder[row]]++;
        depth[trace->subtree_end[row]]--;
        ++*regions;
    }
    for (size_t i = 1; i < numbers; i++) depth[i] += depth[i - 1];
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
    free(depth);
}
