/* For each communication [b, e): computation is gone through in the order it begins. Of what begins before b,
 * only what still runs at b adds anything, and what has ended by then never does again, so it is left out of
 * a chain for good. What begins from b on and ends by e adds all of its time: a difference of running totals.
 * The first computation that ends behind e adds its share and ends the walk; it is found by the latest end of
 * each block of events. */
#include "analysis/pftrace/overlap.h"
#include "base/memory.h"

#include <stdlib.h>

enum { BLOCK = 64 };

typedef struct walk {
    const gt_pftrace_event *items;
    size_t count;
    uint32_t *next;    /* the chain: from each event to itself where it may still run, else further on */
    int64_t *total_ns; /* durations before each event; modulo 2^64 */
    int64_t *latest;   /* the latest end of each block */
} walk;

static int64_t end_of(const gt_pftrace_event *event)
{
    return event->begin_ns + event->dur_ns;
}

static walk begin_walk(const gt_pftrace_list *compute)
{
    walk w = {.items = compute->items, .count = compute->count};
    w.next = gt_alloc((w.count + 1) * sizeof *w.next);
    w.total_ns = gt_alloc((w.count + 1) * sizeof *w.total_ns);
    w.latest = gt_alloc((w.count / BLOCK + 1) * sizeof *w.latest);
    uint64_t total = 0;
    for (size_t i = 0; i <= w.count; i++) {
        w.next[i] = (uint32_t)i;
        w.total_ns[i] = (int64_t)total;
        if (i == w.count) break;
        total += (uint64_t)w.items[i].dur_ns;
        int64_t *latest = &w.latest[i / BLOCK];
        if (i % BLOCK == 0 || end_of(&w.items[i]) > *latest) *latest = end_of(&w.items[i]);
    }
    return w;
}

static size_t first_alive(walk *w, size_t from, int64_t time_ns)
{
    size_t at = from;
    for (;;) {
        while (w->next[at] != at) at = w->next[at];
        if (at == w->count || end_of(&w->items[at]) > time_ns) break;
        w->next[at] = (uint32_t)at + 1;
    }
    while (from != at) { /* shortens the chain */
        size_t step = w->next[from];
        w->next[from] = (uint32_t)at;
        from = step;
    }
    return at;
}

static size_t first_from(const walk *w, int64_t time_ns)
{
    size_t low = 0, high = w->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->items[middle].begin_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first event from `at` on that ends behind the time; `until` where none before it does. */
static size_t first_ending_behind(const walk *w, size_t at, size_t until, int64_t time_ns)
{
    while (at < until) {
        if (at % BLOCK == 0 && w->latest[at / BLOCK] <= time_ns)
            at += BLOCK;
        else if (end_of(&w->items[at]) > time_ns)
            return at;
        else
            at++;
    }
    return until;
}

static int64_t overlap_with(walk *w, int64_t begin_ns, int64_t end_ns)
{
    uint64_t sum = 0;
    size_t from = first_from(w, begin_ns), until = first_from(w, end_ns);
    for (size_t at = first_alive(w, 0, begin_ns); at < from; at = first_alive(w, at + 1, begin_ns)) {
        int64_t end = end_of(&w->items[at]);
        sum += (uint64_t)((end < end_ns ? end : end_ns) - begin_ns);
        if (end > end_ns) return (int64_t)sum;
    }
    size_t last = first_ending_behind(w, from, until, end_ns);
    sum += (uint64_t)w->total_ns[last] - (uint64_t)w->total_ns[from];
    if (last < until) sum += (uint64_t)(end_ns - w->items[last].begin_ns);
    return (int64_t)sum;
}

int64_t gt_pftrace_overlap(const gt_pftrace_list *compute, const gt_pftrace_list *communication)
{
    walk w = begin_walk(compute);
    uint64_t sum = 0;
    for (size_t i = 0; i < communication->count; i++)
        sum += (uint64_t)overlap_with(&w, communication->items[i].begin_ns, end_of(&communication->items[i]));
    gt_free(w.next);
    gt_free(w.total_ns);
    gt_free(w.latest);
    return (int64_t)sum;
}
