/* Which call launched an op? The one with the same correlation id.
 *
 * Ids are unique in one process only. In a trace of several ranks, only the events of the device's rank
 * count. Where several processes make calls, an id that one of them uses is that one's; an id that several
 * use is the one's with most ids of its own. */
#include "findings/schedule/launch_ids.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct op_ids {
    int64_t *items; /* by op; GT_EVENT_NONE if it has none */
} op_ids;

/* The correlation, or the external id of ops without one. */
static op_ids ids_of_ops(const gt_schedule *schedule)
{
    size_t count = schedule->op_count;
    uint32_t *rows = gt_alloc(count * sizeof *rows);
    int64_t *external = gt_alloc(count * sizeof *external);
    op_ids ids = {gt_alloc(count * sizeof *ids.items)};
    for (size_t i = 0; i < count; i++) rows[i] = schedule->ops[i].row;
    gt_store_ints_at(schedule->trace->store, GT_EVENT_CORRELATION, rows, count, ids.items);
    gt_store_ints_at(schedule->trace->store, GT_EVENT_EXTERNAL_ID, rows, count, external);
    for (size_t i = 0; i < count; i++)
        if (ids.items[i] == GT_EVENT_NONE) ids.items[i] = external[i];
    gt_free(rows);
    gt_free(external);
    return ids;
}

static size_t list_ids(const void *context, size_t begin, size_t end, int64_t *out)
{
    const op_ids *ids = context;
    size_t count = 0;
    for (size_t i = begin; i < end; i++)
        if (ids->items[i] != GT_EVENT_NONE) out[count++] = ids->items[i];
    return count;
}

/* Puts the ops of each id together. */
static void group_ops(gt_schedule *schedule, gt_launch_ids *ids, const op_ids *of_ops)
{
    size_t slots = ids->slots.count;
    uint32_t *next = gt_alloc_zero(slots + 1, sizeof *next); /* by slot: the number, then the place of ops */
    ids->first_op = gt_alloc(((size_t)slots + 1) * sizeof *ids->first_op);
    for (size_t i = 0; i < schedule->op_count; i++)
        if (of_ops->items[i] != GT_EVENT_NONE) next[gt_id_slot(&ids->slots, of_ops->items[i])]++;
    uint32_t sum = 0;
    for (size_t slot = 0; slot <= slots; slot++) {
        uint32_t count = slot < slots ? next[slot] : 0;
        ids->first_op[slot] = next[slot] = sum;
        sum += count;
    }
    schedule->point_op_count = sum;
    schedule->point_ops = gt_alloc(sum * sizeof *schedule->point_ops);
    for (uint32_t i = 0; i < schedule->op_count; i++)
        if (of_ops->items[i] != GT_EVENT_NONE)
            schedule->point_ops[next[gt_id_slot(&ids->slots, of_ops->items[i])]++] = i;
    gt_free(next);
}

static bool is_call(const gt_event_view *trace, uint32_t row)
{
    return trace->kind[row] == GT_KIND_RUNTIME || trace->kind[row] == GT_KIND_DRIVER;
}

static bool have_several_processes(const gt_launch_ids *ids)
{
    const gt_event_view *trace = ids->trace;
    uint32_t first = GT_STR_NONE;
    for (uint32_t row = 0; row < trace->recorded; row++) {
        if (!is_call(trace, row) || !gt_launch_ids_counts(ids, row)) continue;
        if (first != GT_STR_NONE && gt_event_process(trace, row) != first) return true;
        first = gt_event_process(trace, row);
    }
    return false;
}

/* Decides which process's calls launch the ops of each id, and which processes do so at all. */
static void find_owners(gt_launch_ids *ids)
{
    enum { SEVERAL = UINT32_MAX };
    const gt_event_view *trace = ids->trace;
    uint32_t strings = gt_interner_count(trace->strings), most = GT_STR_NONE;
    uint32_t *owners = gt_alloc_zero(ids->slots.count, sizeof *owners);
    uint32_t *own = gt_alloc_zero(strings, sizeof *own); /* by process: ids that no other one uses */
    for (uint32_t row = 0; row < trace->recorded; row++) {
        if (!is_call(trace, row) || !gt_launch_ids_counts(ids, row)) continue;
        uint32_t slot = gt_launch_ids_slot(ids, row), process = gt_event_process(trace, row);
        if (slot == GT_NO_SLOT) continue;
        owners[slot] = owners[slot] == GT_STR_NONE || owners[slot] == process ? process : (uint32_t)SEVERAL;
        if (most == GT_STR_NONE) most = process;
    }
    for (size_t slot = 0; slot < ids->slots.count; slot++)
        if (owners[slot] != GT_STR_NONE && owners[slot] != SEVERAL) own[owners[slot]]++;
    for (uint32_t process = 0; process < strings; process++)
        if (own[process] > own[most]) most = process;
    if (most != GT_STR_NONE) {
        ids->is_used = gt_alloc_zero(strings, 1);
        for (size_t slot = 0; slot < ids->slots.count; slot++) {
            if (owners[slot] == SEVERAL) owners[slot] = most;
            if (owners[slot] != GT_STR_NONE) ids->is_used[owners[slot]] = 1;
        }
    }
    ids->owners = owners;
    gt_free(own);
}

gt_launch_ids gt_launch_ids_new(gt_schedule *schedule)
{
    const gt_event_view *trace = schedule->trace;
    gt_launch_ids ids = {.trace = trace, .rank = GT_EVENT_NONE};
    op_ids of_ops = ids_of_ops(schedule);
    ids.slots = gt_id_slots_new(schedule->op_count, list_ids, &of_ops);
    group_ops(schedule, &ids, &of_ops);
    gt_free(of_ops.items);
    ids.ids = gt_store_ints(trace->store, GT_EVENT_CORRELATION);
    if (schedule->op_count)
        gt_store_ints_at(trace->store, GT_EVENT_RANK, &schedule->ops[0].row, 1, &ids.rank);
    if (ids.rank != GT_EVENT_NONE) ids.ranks = gt_store_ints(trace->store, GT_EVENT_RANK);
    if (have_several_processes(&ids)) find_owners(&ids);
    return ids;
}

void gt_launch_ids_free(gt_launch_ids *ids)
{
    gt_id_slots_free(&ids->slots);
    gt_free(ids->first_op);
    gt_free(ids->ids);
    gt_free(ids->ranks);
    gt_free(ids->owners);
    gt_free(ids->is_used);
}
