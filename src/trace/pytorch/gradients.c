/* Gradients: which autograd event computes the gradient of which op. Both have the same sequence number.
 *
 * All that is known about a sequence number is kept by its slot. */
#include "trace/id_slots.h"
#include "trace/pytorch/calls.h"
#include "trace/pytorch/state.h"

typedef struct gradient_search {
    gt_gradients *gradients;
    const gt_linked_view *trace;
    const uint8_t *is_autograd; /* by name */
    gt_id_slots slots;          /* of the sequence numbers of autograd events */
    uint32_t *autograd;         /* by slot: the first autograd event, plus 1; 0: none */
    double *latest_us;          /* by slot: the latest start of an op; -1: none */
    uint32_t *op;               /* by slot: the first op with that start */
} gradient_search;

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

/* Calls use(s, row, slot) for the rows that have a sequence number with a slot. */
static void each_row(gradient_search *s, void (*use)(gradient_search *s, uint32_t row, uint32_t slot))
{
    int64_t sequences[GT_ID_BATCH];
    size_t rows = s->trace->recorded;
    for (size_t at = 0; at < rows; at += GT_ID_BATCH) {
        size_t stop = rows - at < GT_ID_BATCH ? rows : at + GT_ID_BATCH;
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
    if (!s->autograd[slot] && s->is_autograd[s->trace->name[row]]) s->autograd[slot] = row + 1;
}

/* The forward op is the innermost event with the sequence number that is not on the autograd thread: the one
 * that starts last, after -1, and of several the first. */
static void note_op(gradient_search *s, uint32_t row, uint32_t slot)
{
    const gt_linked_view *trace = s->trace;
    if (!s->autograd[slot]) return;
    uint32_t function = s->autograd[slot] - 1;
    if (gt_event_lane(&trace->events, row) == gt_event_lane(&trace->events, function)) return;
    double start_us = isnan(trace->start_us[row]) ? 0.0 : trace->start_us[row];
    if (!(start_us > s->latest_us[slot])) return;
    s->latest_us[slot] = start_us;
    s->op[slot] = row;
}

static void link_ops(const gradient_search *s)
{
    for (size_t slot = 0; slot < s->slots.count; slot++) {
        if (s->latest_us[slot] == -1.0) continue;
        uint32_t function = s->autograd[slot] - 1, op = s->op[slot];
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
    size_t slots = s->slots.count;
    g->forward_of = gt_no_events(s->trace->count);
    g->backward_of = gt_no_events(s->trace->count);
    s->autograd = gt_alloc_zero(slots, sizeof *s->autograd);
    s->latest_us = gt_alloc(slots * sizeof *s->latest_us);
    for (size_t slot = 0; slot < slots; slot++) s->latest_us[slot] = -1.0;
    s->op = gt_alloc(slots * sizeof *s->op);
    each_row(s, note_autograd);
    each_row(s, note_op);
    link_ops(s);
    gt_row_list numbers = gt_rows_where(s->trace->numbered, has_gradient, g);
    g->numbers = numbers.items;
    g->count = numbers.count;
    gt_free_all(s->autograd, s->latest_us, s->op);
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
    gt_free_all(g->forward_of, g->backward_of, g->numbers, g);
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
