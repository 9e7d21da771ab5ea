/* The list of free pages. There are seldom more than a few hundred runs, so a linear search is fast enough.
 */
#include "base/pages/runs.h"

#include <string.h>

/* The first run at or after an address. */
static size_t position_of(const gt_page_runs *runs, const char *address)
{
    size_t low = 0, high = runs->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (runs->items[middle].begin < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void remove_at(gt_page_runs *runs, size_t at)
{
    runs->count--;
    memmove(&runs->items[at], &runs->items[at + 1], (runs->count - at) * sizeof *runs->items);
}

static bool adjacent(const gt_page_run *before, const gt_page_run *after)
{
    return before->fresh == after->fresh && after->joins && before->begin + before->bytes == after->begin;
}

bool gt_page_runs_add(gt_page_runs *runs, gt_page_run run)
{
    gt_page_run *items = runs->items;
    size_t at = position_of(runs, run.begin);
    bool joins_before = at > 0 && adjacent(&items[at - 1], &run);
    bool joins_after = at < runs->count && adjacent(&run, &items[at]);
    if (!joins_before && !joins_after && runs->count == GT_PAGE_RUNS) return false;
    if (!run.fresh) runs->used_bytes += run.bytes;
    if (joins_after) {
        items[at].begin = run.begin;
        items[at].bytes += run.bytes;
        items[at].joins = run.joins;
    }
    if (joins_before) {
        items[at - 1].bytes += joins_after ? items[at].bytes : run.bytes;
        if (joins_after) remove_at(runs, at);
    }
    if (joins_before || joins_after) return true;
    memmove(&items[at + 1], &items[at], (runs->count - at) * sizeof *items);
    items[at] = run;
    runs->count++;
    return true;
}

static void take_from(gt_page_runs *runs, size_t at, size_t bytes, gt_page_run *taken)
{
    gt_page_run *run = &runs->items[at];
    *taken = *run;
    taken->bytes = bytes;
    run->begin += bytes;
    run->bytes -= bytes;
    run->joins = true;
    if (!taken->fresh) runs->used_bytes -= bytes;
    if (!run->bytes) remove_at(runs, at);
}

bool gt_page_runs_take(gt_page_runs *runs, size_t bytes, bool fresh, gt_page_run *taken)
{
    size_t best = runs->count;
    for (size_t i = 0; i < runs->count; i++) {
        const gt_page_run *run = &runs->items[i];
        if (run->fresh != fresh || run->bytes < bytes) continue;
        if (best == runs->count || run->bytes < runs->items[best].bytes) best = i;
    }
    if (best == runs->count) return false;
    take_from(runs, best, bytes, taken);
    return true;
}

bool gt_page_runs_take_at(gt_page_runs *runs, const char *begin, size_t bytes, gt_page_run *taken)
{
    size_t at = position_of(runs, begin);
    if (at == runs->count) return false;
    const gt_page_run *run = &runs->items[at];
    if (run->begin != begin || !run->joins || run->bytes < bytes) return false;
    take_from(runs, at, bytes, taken);
    return true;
}

bool gt_page_runs_take_largest(gt_page_runs *runs, size_t bytes, gt_page_run *taken)
{
    gt_page_run *largest = NULL;
    for (size_t i = 0; i < runs->count; i++) {
        gt_page_run *run = &runs->items[i];
        if (!run->fresh && (!largest || run->bytes > largest->bytes)) largest = run;
    }
    if (!largest) return false;
    if (largest->bytes <= bytes) {
        take_from(runs, (size_t)(largest - runs->items), largest->bytes, taken);
        return true;
    }
    largest->bytes -= bytes;
    runs->used_bytes -= bytes;
    *taken = (gt_page_run){.begin = largest->begin + largest->bytes, .bytes = bytes, .joins = true};
    return true;
}

bool gt_page_runs_pop(gt_page_runs *runs, gt_page_run *taken)
{
    if (!runs->count) return false;
    take_from(runs, runs->count - 1, runs->items[runs->count - 1].bytes, taken);
    return true;
}
