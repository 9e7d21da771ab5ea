/* Finding launchers: one pass over the GPU events assigns each to its launcher, a counting sort groups the
 * kernels by launcher, and the call tree gives everything launched below a launcher. */
#include "analysis/pytorch/launchers.h"

#include "base/memory.h"
#include "base/team.h"
#include "trace/pytorch/calls.h"
#include "trace/pytorch/gpu_ranges.h"
#include "trace/rows.h"

#include <stdlib.h>
#include <string.h>

uint32_t gt_launcher_of(const gt_linked_view *trace, uint32_t gpu_row)
{
    uint32_t runtime = trace->parent[gpu_row];
    uint32_t op = trace->launch_op[runtime];
    return op == GT_NO_EVENT ? runtime : op;
}

/* ---- communication kernels, checked once per name ---- */

typedef struct name_cache {
    uint8_t *known; /* by name: 0 not checked, 1 no, 2 yes */
} name_cache;

static bool is_communication(name_cache *cache, const gt_linked_view *trace, uint32_t row)
{
    uint8_t *known = &cache->known[trace->name[row]];
    if (!*known) *known = gt_event_communicates(&trace->events, row) ? 2 : 1;
    return *known == 2;
}

/* ---- launchers and their kernels ---- */

/* Lists the launchers in the order of their first kernels, with the number of kernels of each. Returns the
 * launcher of each GPU event. */
static uint32_t *assign_kernels(const gt_linked_view *trace, gt_launchers *l, size_t *kernel_count)
{
    uint32_t *index_of =
        gt_alloc(trace->count * sizeof *index_of); /* by row: its index if it is a launcher */
    uint32_t *launcher_of = gt_alloc(trace->count * sizeof *launcher_of); /* by row of a GPU event */
    name_cache cache = {gt_alloc_zero(gt_interner_count(trace->strings), 1)};
    size_t capacity = 0;
    memset(index_of, 0xFF, trace->count * sizeof *index_of);
    *kernel_count = 0;
    for (uint32_t row = 0; row < trace->count; row++) {
        launcher_of[row] = GT_NO_EVENT;
        if (!gt_kind_is_gpu(trace->kind[row]) || trace->parent[row] == GT_NO_EVENT ||
            is_communication(&cache, trace, row))
            continue;
        uint32_t op = gt_launcher_of(trace, row);
        if (index_of[op] == GT_NO_EVENT) {
            index_of[op] = (uint32_t)l->count;
            GT_PUSH(l->items, l->count, capacity, (gt_launcher){.row = op});
        }
        launcher_of[row] = index_of[op];
        l->items[index_of[op]].count++;
        ++*kernel_count;
    }
    gt_free(index_of);
    gt_free(cache.known);
    return launcher_of;
}

static void place_kernels(const gt_linked_view *trace, gt_launchers *l, const uint32_t *launcher_of,
                          size_t kernel_count)
{
    size_t *next = gt_alloc(l->count * sizeof *next), sum = 0;
    for (size_t i = 0; i < l->count; i++) {
        l->items[i].first = next[i] = sum;
        sum += l->items[i].count;
    }
    l->kernels = gt_alloc(kernel_count * sizeof *l->kernels);
    for (uint32_t row = 0; row < trace->count; row++)
        if (launcher_of[row] != GT_NO_EVENT) l->kernels[next[launcher_of[row]]++] = row;
    for (size_t i = 0; i < l->count; i++)
        gt_order_rows(l->kernels + l->items[i].first, l->items[i].count, trace->start_us);
    gt_free(next);
}

static void sort_launchers(const gt_linked_view *trace, gt_launchers *l)
{
    uint32_t *order = gt_alloc(l->count * sizeof *order);
    double *starts = gt_alloc(l->count * sizeof *starts);
    gt_launcher *items = gt_alloc(l->count * sizeof *items);
    for (size_t i = 0; i < l->count; i++) {
        order[i] = (uint32_t)i;
        starts[i] = trace->start_us[l->items[i].row];
    }
    gt_order_rows(order, l->count, starts);
    for (size_t i = 0; i < l->count; i++) items[i] = l->items[order[i]];
    gt_free(l->items);
    l->items = items;
    gt_free(order);
    gt_free(starts);
}

/* ---- times ---- */

typedef struct measuring {
    const gt_linked_view *trace;
    gt_launchers *launchers;
    const gt_busy *below; /* by launcher */
} measuring;

static void measure_range(void *context, size_t begin, size_t end)
{
    const measuring *m = context;
    gt_intervals spare = {0};
    for (size_t i = begin; i < end; i++) {
        gt_launcher *item = &m->launchers->items[i];
        gt_busy direct =
            gt_busy_time(&m->trace->events, m->launchers->kernels + item->first, item->count, &spare);
        item->direct_us = direct.us;
        item->direct_integral = direct.integral;
        item->subtree_us = m->below[i].us;
        item->subtree_integral = m->below[i].integral;
    }
    gt_intervals_free(&spare);
}

static void measure(const gt_linked_view *trace, gt_launchers *l)
{
    gt_calls *calls = gt_calls_new(trace);
    uint32_t *rows = gt_alloc(l->count * sizeof *rows);
    gt_busy *below = gt_alloc(l->count * sizeof *below);
    for (size_t i = 0; i < l->count; i++) rows[i] = l->items[i].row;
    gt_busy_below(calls, rows, l->count, below);
    gt_parallel_ranges(l->count, GT_OPS_GRAIN, measure_range, &(measuring){trace, l, below});
    gt_free(rows);
    gt_free(below);
    gt_calls_free(calls);
}

gt_launchers gt_launchers_find(const gt_linked_view *trace)
{
    gt_launchers l = {0};
    size_t kernel_count;
    uint32_t *launcher_of = assign_kernels(trace, &l, &kernel_count);
    place_kernels(trace, &l, launcher_of, kernel_count);
    gt_free(launcher_of);
    sort_launchers(trace, &l);
    measure(trace, &l);
    return l;
}

void gt_launchers_free(gt_launchers *l)
{
    gt_free(l->items);
    gt_free(l->kernels);
    *l = (gt_launchers){0};
}
