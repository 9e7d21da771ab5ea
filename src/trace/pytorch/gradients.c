/* Linking by sequence number: one pass finds the autograd events, one the ops that they belong to. */
#include "trace/pytorch/gradients.h"

#include "base/map.h"
#include "base/memory.h"
#include "trace/names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sequence number to its first autograd event. */
static gt_map find_autograd(const gt_linked_view *trace, const int64_t *sequences)
{
    gt_map found = {0};
    uint8_t *is_autograd = gt_names_with_prefix(trace->strings, "autograd::engine::evaluate_function:");
    for (uint32_t row = 0; is_autograd && row < trace->recorded; row++) {
        if (sequences[row] == GT_EVENT_NONE || !is_autograd[trace->name[row]]) continue;
        uint32_t *first = gt_map_put(&found, (uint64_t)sequences[row], 0);
        if (*first == GT_MAP_NONE) *first = row;
    }
    gt_free(is_autograd);
    return found;
}

/* The op is the innermost one of another thread than autograd's: the last to start. */
static void find_ops(gt_gradients *g, const int64_t *sequences, const gt_map *autograd)
{
    const gt_linked_view *trace = g->calls->trace;
    for (uint32_t row = 0; row < trace->recorded; row++) {
        if (sequences[row] == GT_EVENT_NONE) continue;
        uint32_t function = gt_map_get(autograd, (uint64_t)sequences[row], 0);
        if (function == GT_MAP_NONE || (trace->process[row] == trace->process[function] &&
                                        trace->thread[row] == trace->thread[function]))
            continue;
        uint32_t *op = &g->forward_of[function];
        double start_us = isnan(trace->start_us[row]) ? 0.0 : trace->start_us[row];
        double best_us = *op == GT_NO_EVENT ? -1.0 : isnan(trace->start_us[*op]) ? 0.0 : trace->start_us[*op];
        if (start_us > best_us) *op = row;
    }
}

/* The other way round, and in order of the tree. */
static void list_ops(gt_gradients *g)
{
    const gt_linked_view *trace = g->calls->trace;
    size_t capacity = 0;
    for (uint32_t row = 0; row < trace->count; row++)
        if (g->forward_of[row] != GT_NO_EVENT) g->backward_of[g->forward_of[row]] = row;
    for (uint32_t number = 0; number < trace->numbered; number++)
        if (g->backward_of[g->calls->row_of[number]] != GT_NO_EVENT)
            GT_PUSH(g->numbers, g->count, capacity, number);
}

gt_gradients *gt_gradients_link(const gt_calls *calls)
{
    const gt_linked_view *trace = calls->trace;
    gt_gradients *g = gt_alloc_zero(1, sizeof *g);
    g->calls = calls;
    g->forward_of = gt_no_events(trace->count);
    g->backward_of = gt_no_events(trace->count);
    int64_t *sequences = gt_store_ints(trace->store, GT_EVENT_SEQUENCE);
    gt_map autograd = find_autograd(trace, sequences);
    if (autograd.count) {
        find_ops(g, sequences, &autograd);
        list_ops(g);
    }
    gt_map_free(&autograd);
    gt_free(sequences);
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
        if (g->backward_of[row] != GT_NO_EVENT)
            GT_PUSH(list->items, list->count, list->capacity, g->backward_of[row]);
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
