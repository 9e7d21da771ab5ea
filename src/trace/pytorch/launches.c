/* Launches that the rules of TraceLens (links.c) get wrong. Two corrections:
 *
 * 1. A GPU event that is linked to several calls with its id keeps those that launch something: ROCm 7 gives
 *    one id to hipArray3DCreate and hipMemsetAsync. Where several processes use the same ids, it keeps the
 *    calls of its own process.
 *
 * 2. A GPU event without a link is linked to the call that launches it and has the same id. It has no link
 *    if its flow events are missing, in whole or in part (memsets of ROCm), if it is one of several that a
 *    call launched, or if the first launch of the trace made TraceLens compare the wrong kind of id. The id
 *    is the correlation. Where one of the two events has no correlation, or 0, it is the external id, which
 *    is that of the op: then all launches of an op have the same id, and the first one that fits is used.
 *
 * Ids are unique in a process only, and GPU events are in a process of their own, the device. In traces with
 * several processes, the calls of a GPU event are those with its rank (traces of `gputally fuse`). Without
 * ranks they are those of the process from which flow events lead to the device, else of the only process
 * that uses the id, else of the process with the device's own process id. If none of that decides, the GPU
 * event is not linked. */
#include "base/map.h"
#include "base/memory.h"
#include "trace/pytorch/gpu_events.h"
#include "trace/pytorch/state.h"

/* The kinds of common ids, each with a number space of its own. */
typedef enum id_kind {
    BY_CORRELATION,
    BY_EXTERNAL,      /* the GPU event has no correlation */
    BY_EXTERNAL_ONLY, /* the call has none */
    ID_KINDS
} id_kind;

typedef struct finder {
    gt_pytorch_state *trace;
    int64_t *correlation, *external, *rank; /* by row */
    bool several;                           /* calls have several groups; else all are in group 0 */
    gt_map wanted;                          /* (id, kind of id) that GPU events without a link have */
    gt_map group_of;       /* from (id, kind of id) to the only group with such a launch; only if several */
    gt_launch_calls calls; /* by id, and by group and kind of id */
} finder;

enum { SEVERAL_GROUPS = GT_MAP_NONE - 1, NO_GROUP = GT_MAP_NONE };

static bool is_call(const gt_pytorch_state *trace, uint32_t row)
{
    return trace->kind[row] == GT_KIND_RUNTIME || trace->kind[row] == GT_KIND_DRIVER;
}

static bool is_id(int64_t value)
{
    return value != GT_EVENT_NONE && value != 0;
}

/* ---- groups: ranks, or processes where there are no ranks ---- */

enum { RANK_BIT = 1 << 30 }; /* string ids are smaller */

static uint32_t group_of_call(const finder *f, uint32_t row)
{
    return f->rank[row] == GT_EVENT_NONE ? f->trace->process[row]
                                         : (uint32_t)RANK_BIT | (uint32_t)(f->rank[row] & (RANK_BIT - 1));
}

static bool has_several_groups(const finder *f)
{
    uint32_t first = NO_GROUP;
    for (uint32_t row = 0; row < f->trace->count; row++) {
        if (!is_call(f->trace, row)) continue;
        uint32_t group = group_of_call(f, row);
        if (first != NO_GROUP && group != first) return true;
        first = group;
    }
    return false;
}

/* The group of a GPU event as far as the event itself and flow events tell; NO_GROUP: they do not. */
static uint32_t known_group(const finder *f, uint32_t gpu)
{
    if (!f->several) return 0;
    if (f->rank[gpu] != GT_EVENT_NONE) return group_of_call(f, gpu);
    uint32_t owner = gt_map_get(&f->trace->owners, f->trace->process[gpu], 0);
    return owner == GT_MAP_NONE || owner == GT_NO_OWNER ? NO_GROUP : owner;
}

/* ---- 1. links of calls that launch nothing, or in another process ---- */

/* 0: the call launches nothing; 1: it does; 2: and it is in the GPU event's group. */
static uint8_t weight_of(const finder *f, size_t link)
{
    uint32_t call = f->trace->link_runtime[link], gpu = f->trace->link_gpu[link];
    if (!gt_launch_fit(gt_state_name(f->trace, call), f->trace->kind[gpu])) return 0;
    if (!f->several) return 1;
    uint32_t group = known_group(f, gpu);
    if (group == NO_GROUP) group = f->trace->process[gpu];
    return group == group_of_call(f, call) ? 2 : 1;
}

static bool have_shared_events(const gt_pytorch_state *trace)
{
    uint8_t *linked = gt_alloc_zero(trace->count, 1);
    bool shared = false;
    for (size_t i = 0; i < trace->link_count && !shared; i++) {
        shared = linked[trace->link_gpu[i]];
        linked[trace->link_gpu[i]] = 1;
    }
    gt_free(linked);
    return shared;
}

static void drop_links(finder *f)
{
    gt_pytorch_state *trace = f->trace;
    size_t kept = 0;
    uint8_t *best = gt_alloc_zero(trace->count, 1); /* weight, by row of a GPU event */
    for (size_t i = 0; i < trace->link_count; i++) {
        uint8_t weight = weight_of(f, i), *of = &best[trace->link_gpu[i]];
        if (weight > *of) *of = weight;
    }
    for (size_t i = 0; i < trace->link_count; i++) {
        uint32_t runtime = trace->link_runtime[i], gpu = trace->link_gpu[i];
        if (weight_of(f, i) < best[gpu]) continue;
        trace->link_runtime[kept] = runtime;
        trace->link_gpu[kept++] = gpu;
        trace->parent[gpu] = runtime;
    }
    trace->link_count = kept;
    gt_free(best);
}

/* ---- 2. GPU events without a link ---- */

static bool is_unlinked(const gt_pytorch_state *trace, uint32_t row)
{
    return gt_kind_is_gpu(trace->kind[row]) && trace->parent[row] == GT_NO_EVENT;
}

static bool have_unlinked(const gt_pytorch_state *trace)
{
    for (uint32_t row = 0; row < trace->count; row++)
        if (is_unlinked(trace, row)) return true;
    return false;
}

static void want(finder *f, int64_t id, id_kind kind)
{
    if (is_id(id)) *gt_map_put(&f->wanted, (uint64_t)id, kind) = 1;
}

static void list_wanted(finder *f)
{
    for (uint32_t row = 0; row < f->trace->count; row++) {
        if (!is_unlinked(f->trace, row)) continue;
        want(f, f->correlation[row], BY_CORRELATION);
        want(f, f->external[row], is_id(f->correlation[row]) ? BY_EXTERNAL_ONLY : BY_EXTERNAL);
    }
}

static uint64_t key_of(uint32_t group, id_kind kind)
{
    return (uint64_t)group * ID_KINDS + kind;
}

static void add_call(finder *f, uint32_t row, int64_t id, id_kind kind)
{
    if (!is_id(id) || gt_map_get(&f->wanted, (uint64_t)id, kind) == GT_MAP_NONE) return;
    gt_str name = gt_state_name(f->trace, row);
    if (!gt_launch_fit(name, GT_KIND_KERNEL)) return;
    uint32_t group = f->several ? group_of_call(f, row) : 0;
    gt_launch_calls_add(&f->calls, id, key_of(group, kind), row, name);
    if (!f->several) return;
    uint32_t *only = gt_map_put(&f->group_of, (uint64_t)id, kind);
    *only = *only == GT_MAP_NONE || *only == group ? group : SEVERAL_GROUPS;
}

static void list_calls(finder *f)
{
    for (uint32_t row = 0; row < f->trace->count; row++) {
        if (!is_call(f->trace, row)) continue;
        add_call(f, row, f->correlation[row], BY_CORRELATION);
        add_call(f, row, f->external[row], BY_EXTERNAL);
        if (!is_id(f->correlation[row])) add_call(f, row, f->external[row], BY_EXTERNAL_ONLY);
    }
}

static uint32_t find_call(const finder *f, uint32_t gpu, int64_t id, id_kind kind)
{
    if (!is_id(id)) return GT_NO_EVENT;
    uint32_t group = known_group(f, gpu);
    if (group == NO_GROUP) {
        group = gt_map_get(&f->group_of, (uint64_t)id, kind);
        if (group == SEVERAL_GROUPS) group = f->trace->process[gpu];
    }
    return gt_launch_calls_find(&f->calls, id, key_of(group, kind), f->trace->kind[gpu]);
}

static uint32_t find_launch(const finder *f, uint32_t gpu)
{
    if (!is_id(f->correlation[gpu])) return find_call(f, gpu, f->external[gpu], BY_EXTERNAL);
    uint32_t call = find_call(f, gpu, f->correlation[gpu], BY_CORRELATION);
    return call != GT_NO_EVENT ? call : find_call(f, gpu, f->external[gpu], BY_EXTERNAL_ONLY);
}

/* A stable counting sort of the links by `keys`, which is one of the two arrays. */
static void sort_links(gt_pytorch_state *trace, const uint32_t *keys)
{
    size_t count = trace->link_count, sum = 0;
    uint32_t *runtime = gt_alloc(count * sizeof *runtime), *gpu = gt_alloc(count * sizeof *gpu);
    size_t *next = gt_alloc_zero(trace->count, sizeof *next);
    for (size_t i = 0; i < count; i++) next[keys[i]]++;
    for (size_t row = 0; row < trace->count; row++) {
        size_t here = next[row];
        next[row] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++) {
        size_t place = next[keys[i]]++;
        runtime[place] = trace->link_runtime[i];
        gpu[place] = trace->link_gpu[i];
    }
    gt_free(next);
    gt_free(trace->link_runtime);
    gt_free(trace->link_gpu);
    trace->link_runtime = runtime;
    trace->link_gpu = gpu;
}

static void link_unlinked(finder *f)
{
    gt_pytorch_state *trace = f->trace;
    list_wanted(f);
    list_calls(f);
    size_t before = trace->link_count, capacity = before, other_capacity = before;
    for (uint32_t row = 0; row < trace->count; row++) {
        uint32_t call = is_unlinked(trace, row) ? find_launch(f, row) : GT_NO_EVENT;
        if (call == GT_NO_EVENT) continue;
        size_t count = trace->link_count;
        GT_PUSH(trace->link_runtime, trace->link_count, capacity, call);
        GT_PUSH(trace->link_gpu, count, other_capacity, row);
        trace->parent[row] = call;
    }
    if (trace->link_count == before) return;
    sort_links(trace, trace->link_gpu); /* by call, and by GPU event where a call has several */
    sort_links(trace, trace->link_runtime);
}

void gt_pytorch_correct_launches(gt_pytorch_linked *linked)
{
    gt_pytorch_state *trace = linked->state;
    bool shared = have_shared_events(trace);
    if (!shared && !have_unlinked(trace)) return;
    finder f = {.trace = trace,
                .correlation = gt_store_ints(trace->store, GT_EVENT_CORRELATION),
                .external = gt_store_ints(trace->store, GT_EVENT_EXTERNAL_ID),
                .rank = gt_store_ints(trace->store, GT_EVENT_RANK)};
    f.several = has_several_groups(&f);
    if (shared) drop_links(&f);
    link_unlinked(&f);
    gt_map_free(&f.wanted);
    gt_map_free(&f.group_of);
    gt_launch_calls_free(&f.calls);
    gt_free(f.correlation);
    gt_free(f.external);
    gt_free(f.rank);
    gt_state_publish(trace);
}
