/* From an event to its children, its GPU events and its gradients.
 *
 * Launches are sorted by the preorder number of their runtime call, so that the launches of a subtree are one
 * range of that array. */
#include "trace/pytorch/calls.h"

#include "base/map.h"
#include "base/memory.h"
#include "trace/pytorch/state.h"
#include "trace/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void place_rows(gt_calls *c)
{
    const gt_linked_view *trace = c->trace;
    c->row_of = gt_alloc(trace->numbered * sizeof *c->row_of);
    c->caller = gt_alloc(trace->numbered * sizeof *c->caller);
    for (uint32_t row = 0; row < trace->count; row++)
        if (trace->preorder[row] != GT_NO_EVENT) c->row_of[trace->preorder[row]] = row;
    /* A stack of open events without a stack: `caller` leads from each open event to the one around it. */
    uint32_t open = GT_NO_EVENT;
    for (uint32_t n = 0; n < trace->numbered; n++) {
        while (open != GT_NO_EVENT && trace->subtree_end[c->row_of[open]] <= n) open = c->caller[open];
        c->caller[n] = open;
        open = n;
    }
}

static void place_launches(gt_calls *c)
{
    const gt_linked_view *trace = c->trace;
    size_t numbers = trace->numbered;
    c->begin = gt_alloc_zero(numbers + 2, sizeof *c->begin);
    c->links = gt_alloc(trace->link_count * sizeof *c->links);
    for (size_t i = 0; i < trace->link_count; i++) {
        uint32_t number = trace->preorder[trace->link_runtime[i]];
        if (number != GT_NO_EVENT) c->begin[number + 2]++;
    }
    for (size_t n = 2; n < numbers + 2; n++) c->begin[n] += c->begin[n - 1];
    for (uint32_t i = 0; i < trace->link_count; i++) {
        uint32_t number = trace->preorder[trace->link_runtime[i]];
        if (number != GT_NO_EVENT) c->links[c->begin[number + 1]++] = i;
    }
}

gt_calls *gt_calls_new(const gt_linked_view *trace)
{
    gt_calls *c = gt_alloc_zero(1, sizeof *c);
    c->trace = trace;
    place_rows(c);
    place_launches(c);
    return c;
}

void gt_calls_free(gt_calls *c)
{
    if (!c) return;
    gt_free(c->row_of);
    gt_free(c->caller);
    gt_free(c->begin);
    gt_free(c->links);
    gt_free(c);
}

uint32_t gt_calls_first(const gt_calls *c, uint32_t row)
{
    uint32_t number = c->trace->preorder[row];
    if (number == GT_NO_EVENT || number + 1 == c->trace->subtree_end[row]) return GT_NO_EVENT;
    return c->row_of[number + 1];
}

uint32_t gt_calls_next(const gt_calls *c, uint32_t row, uint32_t child)
{
    uint32_t number = c->trace->subtree_end[child];
    return number < c->trace->subtree_end[row] ? c->row_of[number] : GT_NO_EVENT;
}

/* ---- launches ---- */

/* The first launch of a runtime call that is not in the tree, and so not in c->links. Binary search, because
 * launches are in file order of the calls. */
static size_t first_launch(const gt_linked_view *trace, uint32_t row)
{
    size_t low = 0, high = trace->link_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trace->link_runtime[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool gt_calls_use_gpu(const gt_calls *c, uint32_t row)
{
    const gt_linked_view *trace = c->trace;
    uint32_t number = trace->preorder[row];
    if (number != GT_NO_EVENT) return c->begin[number] < c->begin[trace->subtree_end[row]];
    size_t first = first_launch(trace, row);
    return first < trace->link_count && trace->link_runtime[first] == row;
}

static void add_below(const gt_calls *c, uint32_t row, gt_row_list *list)
{
    uint32_t begin = c->begin[c->trace->preorder[row]], end = c->begin[c->trace->subtree_end[row]];
    if (begin == end) return;
    bool sorted = true;
    list->items = gt_grow(list->items, &list->capacity, list->count + (end - begin), sizeof *list->items);
    uint32_t *added = list->items + list->count;
    for (uint32_t i = begin; i < end; i++) {
        added[i - begin] = c->links[i];
        sorted &= i == begin || c->links[i - 1] < c->links[i];
    }
    if (!sorted) qsort(added, end - begin, sizeof *added, gt_by_row);
    for (uint32_t i = 0; i < end - begin; i++) added[i] = c->trace->link_gpu[added[i]];
    list->count += end - begin;
}

void gt_calls_add_gpu_events(const gt_calls *c, uint32_t row, gt_row_list *list)
{
    const gt_linked_view *trace = c->trace;
    if (trace->preorder[row] != GT_NO_EVENT) {
        add_below(c, row, list);
        return;
    }
    for (size_t i = first_launch(trace, row); i < trace->link_count && trace->link_runtime[i] == row; i++)
        GT_PUSH(list->items, list->count, list->capacity, trace->link_gpu[i]);
}

gt_row_list gt_calls_cpu_roots(const gt_calls *c)
{
    const gt_linked_view *trace = c->trace;
    gt_row_list roots = {0};
    for (uint32_t row = 0; row < trace->recorded; row++)
        if (trace->kind[row] == GT_KIND_CPU_OP && trace->preorder[row] != GT_NO_EVENT &&
            trace->cpu_op_above[row] == GT_NO_EVENT)
            GT_PUSH(roots.items, roots.count, roots.capacity, row);
    gt_order_rows(roots.items, roots.count, trace->start_us);
    for (size_t i = 0; i < trace->late_root_count; i++)
        GT_PUSH(roots.items, roots.count, roots.capacity, trace->late_roots[i]);
    return roots;
}

/* ---- gradients ---- */

/* From a sequence number to its first autograd event. */
static gt_map find_autograd(const gt_linked_view *trace, const int64_t *sequences)
{
    gt_map found = {0};
    uint8_t *is_autograd = gt_name_set_with_prefix(trace->strings, "autograd::engine::evaluate_function:");
    for (uint32_t row = 0; is_autograd && row < trace->recorded; row++) {
        if (sequences[row] == GT_EVENT_NONE || !is_autograd[trace->name[row]]) continue;
        uint32_t *first = gt_map_put(&found, (uint64_t)sequences[row], 0);
        if (*first == GT_MAP_NONE) *first = row;
    }
    gt_free(is_autograd);
    return found;
}

/* The forward op is the innermost event with the sequence number that is not on the autograd thread: the one
 * that starts last. */
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

/* Fills backward_of, and lists the ops in preorder. */
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
