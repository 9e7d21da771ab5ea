/* Gradients: which autograd event computes the gradient of which op. Both have the same sequence number.
 *
 * All that is known about a sequence number is kept by its slot, and all threads look at their rows at the
 * same time. So that the order does not matter, they keep the greatest or smallest value. */
#include "base/memory.h"
#include "base/team.h"
#include "trace/id_slots.h"
#include "trace/pytorch/calls.h"
#include "trace/pytorch/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct gradient_search {
    gt_gradients *gradients;
    const gt_linked_view *trace;
    const uint8_t *is_autograd; /* by name */
    gt_id_slots slots;          /* of the sequence numbers of autograd events */
    uint32_t *autograd;         /* by slot: the first autograd event, as first_row; 0: none */
    uint64_t *latest;           /* by slot: the latest start of an op, as start_rank; 0: none */
    uint32_t *op;               /* by slot: the first op with that start, as first_row */
} gradient_search;

/* The smallest row has the greatest number here, and 0 is none (gt_keep_greatest). Its own inverse. */
static uint32_t first_row(uint32_t row)
{
    return UINT32_MAX - row;
}

/* Reads the sequence numbers of the rows [begin, end), at most GT_ID_BATCH. */
static void read_sequences(const gradient_search *s, size_t begin, size_t end, int64_t *sequences)
{
    gt_store_read_ints(s->trace->store, GT_EVENT_SEQUENCE, begin, end, sequences);
}

static size_t sequences_of_autograd(const void *context, size_t begin, size_t end, int64_t *sequences)
{
    const gradient_search *s = context;
    size_t count = 0;
    read_sequences(s, begin, end, sequences);
    for (size_t row = begin; row < end; row++)
        if (sequences[row - begin] != GT_EVENT_NONE && s->is_autograd[s->trace->name[row]])
            sequences[count++] = sequences[row - begin];
    return count;
}

/* Calls use(s, row, slot) for the rows of a range that have a sequence number with a slot. */
static inline __attribute__((always_inline)) void each_row(gradient_search *s, size_t begin, size_t end,
                                                           void (*use)(gradient_search *s, uint32_t row,
                                                                       uint32_t slot))
{
    int64_t sequences[GT_ID_BATCH];
    for (size_t at = begin; at < end; at += GT_ID_BATCH) {
        size_t stop = end - at < GT_ID_BATCH ? end : at + GT_ID_BATCH;
        read_sequences(s, at, stop, sequences);
        for (size_t row = at; row < stop; row++) {
            if (sequences[row - at] == GT_EVENT_NONE) continue;
            uint32_t slot = gt_id_slot(&s->slots, sequences[row - at]);
            if (slot != GT_NO_SLOT) use(s, (uint32_t)row, slot);
        }
    }
}

static void note_autograd(gradient_search *s, uint32_t row, uint32_t slot)
{
    if (s->is_autograd[s->trace->name[row]]) gt_keep_greatest(&s->autograd[slot], first_row(row));
}

static void find_autograd(void *context, size_t begin, size_t end)
{
    each_row(context, begin, end, note_autograd);
}

/* The forward op is the innermost event with the sequence number that is not on the autograd thread: the one
 * that starts last, after -1. Returns a number that grows with the start; 0 for events that are none. */
static uint64_t start_rank(const gradient_search *s, uint32_t row, uint32_t slot)
{
    const gt_linked_view *trace = s->trace;
    if (!s->autograd[slot]) return 0;
    uint32_t function = first_row(s->autograd[slot]);
    if (gt_event_lane(&trace->events, row) == gt_event_lane(&trace->events, function)) return 0;
    double start_us = isnan(trace->start_us[row]) ? 0.0 : trace->start_us[row] + 0.0; /* -0 becomes 0 */
    if (!(start_us > -1.0)) return 0;
    uint64_t bits;
    memcpy(&bits, &start_us, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static void note_latest(gradient_search *s, uint32_t row, uint32_t slot)
{
    uint64_t rank = start_rank(s, row, slot), old = __atomic_load_n(&s->latest[slot], __ATOMIC_RELAXED);
    while (old < rank && !__atomic_compare_exchange_n(&s->latest[slot], &old, rank, true, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)) {
    }
}

static void find_latest(void *context, size_t begin, size_t end)
{
    each_row(context, begin, end, note_latest);
}

static void note_op(gradient_search *s, uint32_t row, uint32_t slot)
{
    uint64_t rank = start_rank(s, row, slot);
    if (rank && rank == s->latest[slot]) gt_keep_greatest(&s->op[slot], first_row(row));
}

static void find_ops(void *context, size_t begin, size_t end)
{
    each_row(context, begin, end, note_op);
}

static void link_ops(void *context, size_t begin, size_t end)
{
    const gradient_search *s = context;
    for (size_t slot = begin; slot < end; slot++) {
        if (!s->op[slot]) continue;
        uint32_t function = first_row(s->autograd[slot]), op = first_row(s->op[slot]);
        s->gradients->forward_of[function] = op;
        s->gradients->backward_of[op] = function;
    }
}

static bool has_gradient(const void *context, size_t number)
{
    const gt_gradients *g = context;
    return g->backward_of[g->calls->row_of[number]] != GT_NO_EVENT;
}

static void find_gradients(gradient_search *s)
{
    gt_gradients *g = s->gradients;
    size_t rows = s->trace->recorded, slots = s->slots.count;
    g->forward_of = gt_no_events(s->trace->count);
    g->backward_of = gt_no_events(s->trace->count);
    s->autograd = gt_alloc_zero(slots, sizeof *s->autograd);
    s->latest = gt_alloc_zero(slots, sizeof *s->latest);
    s->op = gt_alloc_zero(slots, sizeof *s->op);
    gt_parallel_ranges(rows, GT_ROWS_GRAIN, find_autograd, s);
    gt_parallel_ranges(rows, GT_ROWS_GRAIN, find_latest, s);
    gt_parallel_ranges(rows, GT_ROWS_GRAIN, find_ops, s);
    gt_parallel_ranges(slots, GT_ROWS_GRAIN, link_ops, s);
    gt_row_list numbers = gt_rows_where(s->trace->numbered, has_gradient, g);
    g->numbers = numbers.items;
    g->count = numbers.count;
    gt_free(s->autograd);
    gt_free(s->latest);
    gt_free(s->op);
}

gt_gradients *gt_gradients_link(const gt_calls *calls)
{
    gt_gradients *g = gt_alloc_zero(1, sizeof *g);
    g->calls = calls;
    uint8_t *is_autograd =
        gt_name_set_with_prefix(calls->trace->strings, "autograd::engine::evaluate_function:");
    if (!is_autograd) return g;
    gradient_search s = {.gradients = g, .trace = calls->trace, .is_autograd = is_autograd};
    s.slots = gt_id_slots_new(calls->trace->recorded, sequences_of_autograd, &s);
    if (s.slots.count) find_gradients(&s);
    gt_id_slots_free(&s.slots);
    gt_free(is_autograd);
    return g;
}

void gt_gradients_free(gt_gradients *g)
{
    if (!g) return;
    gt_free(g->forward_of);
    gt_free(g->backward_of);
    gt_free(g->numbers);
    gt_free(g);
}

void gt_gradients_add_below(const gt_gradients *g, uint32_t row, gt_row_list *list)
{
    const gt_linked_view *trace = g->calls->trace;
    uint32_t number = trace->preorder[row];
    if (number == GT_NO_EVENT) {
        uint32_t function = gt_gradient_function(g, row);
        if (function != GT_NO_EVENT) GT_PUSH(list->items, list->count, list->capacity, function);
        return;
    }
    size_t low = 0, high = g->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (g->numbers[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < g->count && g->numbers[low] < trace->subtree_end[row]; low++)
        GT_PUSH(list->items, list->count, list->capacity, g->backward_of[g->calls->row_of[g->numbers[low]]]);
}
