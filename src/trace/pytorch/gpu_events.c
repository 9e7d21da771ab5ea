/* What a GPU event does, and which of several calls launched it. */
#include "trace/pytorch/gpu_events.h"

#include "trace/copy_names.h"

/* ---- types ---- */

gt_gpu_type gt_gpu_type_of(const gt_event_view *trace, uint32_t row)
{
    if (trace->kind[row] == GT_KIND_MEMCPY || gt_is_copy_kernel(gt_event_name(trace, row)))
        return GT_GPU_MEMCPY;
    return gt_event_communicates(trace, row) ? GT_GPU_COMMUNICATION : GT_GPU_COMPUTATION;
}

/* ---- launches ---- */

/* Part of a call's name, in any case, and the kind of GPU event that such calls start. */
static const struct {
    const char *part;
    gt_event_kind kind;
} launching[] = {
    {"launch", GT_KIND_KERNEL},
    {"memcpy", GT_KIND_MEMCPY},
    {"memset", GT_KIND_MEMSET},
};

int gt_launch_fit(gt_str call, uint8_t gpu_kind)
{
    /* cudaGraphAddMemcpyNode and the like only describe a graph; cudaGraphLaunch starts it. */
    if (gt_str_contains(call, "Graph") && !gt_str_contains(call, "GraphLaunch")) return 0;
    for (size_t i = 0; i < GT_LENGTH(launching); i++)
        if (gt_str_contains_nocase(call, launching[i].part)) return launching[i].kind == gpu_kind ? 2 : 1;
    return 0;
}

uint32_t gt_first_launch(const gt_event_view *trace)
{
    for (uint32_t row = 0; row < trace->recorded; row++)
        if ((trace->kind[row] == GT_KIND_RUNTIME || trace->kind[row] == GT_KIND_DRIVER) &&
            gt_str_contains_nocase(gt_event_name(trace, row), "launch"))
            return row;
    return GT_NO_EVENT;
}

static const struct gt_launch_candidates no_candidates = {
    .rows = {GT_NO_EVENT, GT_NO_EVENT, GT_NO_EVENT},
    .fits = {-1, -1, -1},
};

gt_launch_calls gt_launch_calls_of_slots(gt_id_slots slots)
{
    gt_launch_calls calls = {.slots = slots, .count = slots.count};
    calls.items = gt_alloc(slots.count * sizeof *calls.items);
    for (size_t i = 0; i < slots.count; i++) calls.items[i] = no_candidates;
    return calls;
}

/* The index of an id's candidates, which are added. */
static uint32_t place_of(gt_launch_calls *calls, int64_t id, uint64_t group)
{
    if (calls->slots.count) return gt_id_slot(&calls->slots, id);
    uint32_t *place = gt_map_put(&calls->places, (uint64_t)id, group);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)calls->count;
        GT_PUSH(calls->items, calls->count, calls->capacity, no_candidates);
    }
    return *place;
}

void gt_launch_calls_add(gt_launch_calls *calls, int64_t id, uint64_t group, uint32_t row, gt_str name)
{
    uint32_t place = place_of(calls, id, group);
    if (place == GT_NO_SLOT) return;
    if (calls->last_name.bytes != name.bytes || calls->last_name.len != name.len) {
        calls->last_name = name;
        for (uint8_t i = 0; i < GT_GPU_KINDS; i++)
            calls->last_fits[i] = (int8_t)gt_launch_fit(name, (uint8_t)(GT_KIND_KERNEL + i));
    }
    struct gt_launch_candidates *best = &calls->items[place];
    for (uint8_t i = 0; i < GT_GPU_KINDS; i++) {
        if (calls->last_fits[i] <= best->fits[i]) continue;
        best->rows[i] = row;
        best->fits[i] = calls->last_fits[i];
    }
}

uint32_t gt_launch_calls_find(const gt_launch_calls *calls, int64_t id, uint64_t group, uint8_t gpu_kind)
{
    uint32_t place =
        calls->slots.count ? gt_id_slot(&calls->slots, id) : gt_map_get(&calls->places, (uint64_t)id, group);
    if (place == GT_MAP_NONE) return GT_NO_EVENT;
    return calls->items[place].rows[gt_kind_is_gpu(gpu_kind) ? gpu_kind - GT_KIND_KERNEL : 0];
}

void gt_launch_calls_free(gt_launch_calls *calls)
{
    gt_map_free(&calls->places);
    gt_id_slots_free(&calls->slots);
    gt_free(calls->items);
    *calls = (gt_launch_calls){0};
}
