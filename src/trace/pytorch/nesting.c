/* The stack pass of the call tree, on all threads.
 *
 * The rule is that of one pass over the events of a thread in order of their starts, with a stack of the open
 * events. At the start of an event, open events that have ended are closed. What is then on top of the stack
 * is the parent. If the event ends after it, the event is not in the tree, unless both overlap so little that
 * rounding explains it: then the one on top is closed, too (nest_event).
 *
 * To share that pass, the ordered events are cut into ranges:
 *
 * 1. Each range is nested on its own, without the events that are open when it begins (nest_range). What an
 *    event inside another event of the range does is then known. An event that finds the range's own stack
 *    empty meets those open events: it is noted in a list. It is taken to be in the tree.
 * 2. One thread carries the stack from range to range (join_range). It looks only at noted events that close
 *    something of the stack. If such an event is not in the tree after all, the range is nested again from
 *    there on, until the range's own stack is empty at an event for which it was empty in step 1.
 * 3. Each range sets the parents of its noted events.
 * 4. Each range numbers its events; how many are in the ranges before is known by then.
 *
 *     stack before the range   [ main                                                      ]
 *                                [ f                        ]
 *     events of the range           [ g    ]   [ h     ]        [ k         ]
 *                                     [ x ]                       [ y ]
 *     noted: g, h and k. Only k closes something, f; so the parent of g and h is f, and that of k is main.
 *
 * Until step 4, subtree_end holds the position (index in gt_thread_rows.rows) of the event that closed a row,
 * and GT_NO_EVENT for events that are not in the tree. */
#include "trace/pytorch/nesting.h"

#include "base/memory.h"
#include "base/team.h"

#include <math.h>
#include <string.h>

/* Profilers round times, so that an event may seem to start inside the event that ends just before it. If
 * both overlap by less than this, the earlier event counts as ended. */
static const double MAX_OVERLAP_US = 1.0;

typedef struct open_event {
    double end_us;
    uint32_t row;
} open_event;

typedef struct open_events {
    open_event *items;
    size_t count, capacity;
    size_t untouched; /* as many from the bottom have been there since this was last set */
} open_events;

/* An event that found the stack of its range empty. */
typedef struct noted_event {
    uint32_t position;
    bool after_overlap; /* it closed the only open event of the range because both overlap a little. That is
                           right only if events from before the range are open, and then it closes none of
                           these, however late it ends */
} noted_event;

/* From a noted event on, the parent is this row. */
typedef struct noted_parent {
    size_t first; /* index of the noted event */
    uint32_t row; /* GT_NO_EVENT: none */
    bool known;   /* join_range has set the parents already */
} noted_parent;

enum { NOTED_BLOCK = 64 };

/* Summary of NOTED_BLOCK noted events, to skip them at once. */
typedef struct noted_block {
    double latest_us; /* end or start */
    bool after_overlap;
} noted_block;

typedef struct range {
    noted_event *noted;
    size_t noted_count, noted_capacity;
    noted_block *blocks;
    noted_parent *parents;
    size_t parent_count, parent_capacity;
    size_t cut;       /* position of the first event of another thread, else the end of the range */
    open_events open; /* of the range's own at its end */
    uint32_t kept;    /* events in the tree; later the number of its first event */
    uint32_t dropped; /* events that are not in the tree */
    GT_APART;
} range;

typedef struct nesting {
    gt_pytorch_state *trace;
    const gt_thread_rows *threads;
    size_t grain;
    range *ranges;
} nesting;

/* ---- one event ---- */

static double end_of(const gt_pytorch_state *trace, uint32_t row)
{
    return trace->start_us[row] + trace->dur_us[row];
}

static void close_top(gt_pytorch_state *trace, open_events *open, size_t position)
{
    trace->subtree_end[open->items[--open->count].row] = (uint32_t)position;
    if (open->count < open->untouched) open->untouched = open->count;
}

static void close_ended(gt_pytorch_state *trace, open_events *open, double start_us, size_t position)
{
    while (open->count && start_us >= open->items[open->count - 1].end_us) close_top(trace, open, position);
}

static void close_all(gt_pytorch_state *trace, open_events *open, size_t position)
{
    while (open->count) close_top(trace, open, position);
}

static uint32_t top_row(const open_events *open)
{
    return open->count ? open->items[open->count - 1].row : GT_NO_EVENT;
}

static void push_event(open_events *open, uint32_t row, double end_us)
{
    GT_PUSH(open->items, open->count, open->capacity, ((open_event){end_us, row}));
}

/* Whether an event that ends after the one on top may close it. */
static bool overlaps_little(const open_events *open, double start_us)
{
    return open->items[open->count - 1].end_us - start_us < MAX_OVERLAP_US;
}

static bool outlasts_top(const open_events *open, double end_us)
{
    return open->count && end_us > open->items[open->count - 1].end_us;
}

static void drop_event(gt_pytorch_state *trace, uint32_t row)
{
    trace->parent[row] = trace->subtree_end[row] = GT_NO_EVENT;
}

/* The rule, where all open events are known. */
static void nest_event(gt_pytorch_state *trace, open_events *open, uint32_t row, size_t position)
{
    double start_us = trace->start_us[row], end_us = end_of(trace, row);
    close_ended(trace, open, start_us, position);
    if (outlasts_top(open, end_us)) {
        if (!(overlaps_little(open, start_us) && open->count >= 2)) {
            drop_event(trace, row);
            return;
        }
        close_top(trace, open, position);
    }
    trace->parent[row] = top_row(open);
    push_event(open, row, end_us);
}

/* ---- 1. a range on its own ---- */

static void note_event(range *r, open_events *open, uint32_t row, double end_us, noted_event noted)
{
    GT_PUSH(r->noted, r->noted_count, r->noted_capacity, noted);
    push_event(open, row, end_us);
}

/* Events [begin, r->cut), where unknown events are open. */
static void nest_first_thread(nesting *n, range *r, open_events *open, size_t begin)
{
    gt_pytorch_state *trace = n->trace;
    for (size_t at = begin; at < r->cut; at++) {
        uint32_t row = n->threads->rows[at];
        double start_us = trace->start_us[row], end_us = end_of(trace, row);
        bool after_overlap = false;
        close_ended(trace, open, start_us, at);
        if (outlasts_top(open, end_us)) {
            if (!overlaps_little(open, start_us)) {
                drop_event(trace, row);
                continue;
            }
            close_top(trace, open, at);
            after_overlap = true;
        }
        if (open->count) {
            trace->parent[row] = top_row(open);
            push_event(open, row, end_us);
        } else {
            note_event(r, open, row, end_us, (noted_event){(uint32_t)at, after_overlap});
        }
    }
}

/* Index of the first thread that ends after a position. */
static size_t thread_at(const gt_thread_rows *threads, size_t position)
{
    size_t low = 0, high = threads->thread_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (threads->ends[middle] <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void sum_up_noted(const nesting *n, range *r)
{
    size_t blocks = gt_range_count(r->noted_count, NOTED_BLOCK);
    r->blocks = gt_alloc(blocks * sizeof *r->blocks);
    for (size_t i = 0; i < r->noted_count; i++) {
        noted_block *block = &r->blocks[i / NOTED_BLOCK];
        uint32_t row = n->threads->rows[r->noted[i].position];
        double latest_us = fmax(n->trace->start_us[row], end_of(n->trace, row));
        if (i % NOTED_BLOCK == 0) *block = (noted_block){latest_us, false};
        block->latest_us = fmax(block->latest_us, latest_us);
        block->after_overlap |= r->noted[i].after_overlap;
    }
}

static void nest_range(void *context, size_t begin, size_t end)
{
    nesting *n = context;
    const gt_thread_rows *threads = n->threads;
    range *r = &n->ranges[begin / n->grain];
    size_t thread = thread_at(threads, begin);
    bool is_new = begin == (thread ? threads->ends[thread - 1] : 0);
    r->cut = is_new ? begin : threads->ends[thread] < end ? threads->ends[thread] : end;
    nest_first_thread(n, r, &r->open, begin);
    if (!is_new) thread++;
    for (size_t at = r->cut; at < end; thread++) {
        size_t thread_end = threads->ends[thread] < end ? threads->ends[thread] : end;
        close_all(n->trace, &r->open, at);
        for (; at < thread_end; at++) nest_event(n->trace, &r->open, threads->rows[at], at);
    }
    sum_up_noted(n, r);
}

/* ---- 2. range after range ---- */

static void set_noted_parent(range *r, size_t first, uint32_t row, bool known)
{
    if (r->parent_count && r->parents[r->parent_count - 1].first == first) r->parent_count--;
    GT_PUSH(r->parents, r->parent_count, r->parent_capacity, ((noted_parent){first, row, known}));
}

/* The first noted event from `from` on that may change the stack, or for which it was guessed wrongly that
 * the stack is not empty. */
static size_t next_to_join(const nesting *n, const range *r, const open_events *open, size_t from)
{
    double end_us = open->count ? open->items[open->count - 1].end_us : 0;
    for (size_t i = from; i < r->noted_count;) {
        const noted_block *block = &r->blocks[i / NOTED_BLOCK];
        if (open->count ? block->latest_us < end_us : !block->after_overlap) {
            i = (i / NOTED_BLOCK + 1) * NOTED_BLOCK;
            continue;
        }
        uint32_t row = n->threads->rows[r->noted[i].position];
        bool after_overlap = r->noted[i].after_overlap;
        if (!open->count
                ? after_overlap
                : !after_overlap && (n->trace->start_us[row] >= end_us || end_of(n->trace, row) > end_us))
            return i;
        i++;
    }
    return r->noted_count;
}

/* Nests the events again from a noted one on, now that all open events are known. Returns the noted event at
 * which the range's own events are closed, as they were in step 1, so that all after it is right;
 * r->noted_count if there is none. The range's own events are those above open->untouched. */
static size_t nest_again(nesting *n, range *r, open_events *open, size_t from)
{
    size_t next = from;
    set_noted_parent(r, from, GT_NO_EVENT, true);
    for (size_t at = r->noted[from].position; at < r->cut; at++) {
        uint32_t row = n->threads->rows[at];
        if (next < r->noted_count && r->noted[next].position == at) {
            if (next > from && !r->noted[next].after_overlap) {
                close_ended(n->trace, open, n->trace->start_us[row], at);
                if (open->count == open->untouched) return next;
            }
            next++;
        }
        nest_event(n->trace, open, row, at);
    }
    return r->noted_count;
}

/* Carries the stack over the noted events of a range. Returns false if the range's open events are now on the
 * stack, because it was nested again up to the end. */
static bool join_noted(nesting *n, range *r, open_events *open)
{
    gt_pytorch_state *trace = n->trace;
    set_noted_parent(r, 0, top_row(open), false);
    for (size_t i = next_to_join(n, r, open, 0); i < r->noted_count; i = next_to_join(n, r, open, i)) {
        size_t at = r->noted[i].position;
        uint32_t row = n->threads->rows[at];
        double start_us = trace->start_us[row], end_us = end_of(trace, row);
        bool again = r->noted[i].after_overlap;
        open->untouched = open->count;
        if (again) { /* nothing is open but the event that it was to close: the noted one before */
            uint32_t closed = n->threads->rows[r->noted[i - 1].position];
            push_event(open, closed, end_of(trace, closed));
        } else {
            close_ended(trace, open, start_us, at);
            if (outlasts_top(open, end_us)) {
                again = !(overlaps_little(open, start_us) && open->count >= 2);
                if (!again) close_top(trace, open, at);
            }
        }
        if (again && (i = nest_again(n, r, open, i)) == r->noted_count) return false;
        set_noted_parent(r, i, top_row(open), false);
        if (!again) i++;
    }
    return true;
}

/* Puts the range's open events on the stack. */
static void join_range(nesting *n, range *r, open_events *open)
{
    gt_pytorch_state *trace = n->trace;
    size_t end = (size_t)(r - n->ranges + 1) * n->grain;
    if (end > n->threads->count) end = n->threads->count;
    bool joined = join_noted(n, r, open);
    if (r->cut < end)
        close_all(trace, open, r->cut);
    else if (joined && r->open.count)
        trace->parent[r->open.items[0].row] = top_row(open);
    if (joined || r->cut < end)
        for (size_t i = 0; i < r->open.count; i++)
            push_event(open, r->open.items[i].row, r->open.items[i].end_us);
}

/* ---- 3. and 4. parents and numbers ---- */

static void set_parents(const nesting *n, const range *r)
{
    for (size_t p = 0; p < r->parent_count; p++) {
        size_t end = p + 1 < r->parent_count ? r->parents[p + 1].first : r->noted_count;
        if (r->parents[p].known) continue;
        for (size_t i = r->parents[p].first; i < end; i++)
            n->trace->parent[n->threads->rows[r->noted[i].position]] = r->parents[p].row;
    }
}

static void finish_range(void *context, size_t begin, size_t end)
{
    nesting *n = context;
    range *r = &n->ranges[begin / n->grain];
    set_parents(n, r);
    r->kept = 0;
    for (size_t at = begin; at < end; at++)
        r->kept += n->trace->subtree_end[n->threads->rows[at]] != GT_NO_EVENT;
    r->dropped = (uint32_t)(end - begin) - r->kept;
    gt_free(r->noted);
    gt_free(r->blocks);
    gt_free(r->parents);
    gt_free(r->open.items);
}

/* Events that are not in the tree get the number of the next event for now: they may have closed others. */
static void number_range(void *context, size_t begin, size_t end)
{
    const nesting *n = context;
    uint32_t number = n->ranges[begin / n->grain].kept;
    for (size_t at = begin; at < end; at++) {
        uint32_t row = n->threads->rows[at];
        n->trace->preorder[row] = number;
        number += n->trace->subtree_end[row] != GT_NO_EVENT;
    }
}

static void end_range(void *context, size_t begin, size_t end)
{
    const nesting *n = context;
    gt_pytorch_state *trace = n->trace;
    for (size_t at = begin; at < end; at++) {
        uint32_t *ends = &trace->subtree_end[n->threads->rows[at]];
        if (*ends == GT_NO_EVENT) continue;
        *ends = *ends == n->threads->count ? trace->numbered : trace->preorder[n->threads->rows[*ends]];
    }
}

static void forget_dropped(void *context, size_t begin, size_t end)
{
    const nesting *n = context;
    if (!n->ranges[begin / n->grain].dropped) return;
    for (size_t at = begin; at < end; at++) {
        uint32_t row = n->threads->rows[at];
        if (n->trace->subtree_end[row] == GT_NO_EVENT) n->trace->preorder[row] = GT_NO_EVENT;
    }
}

void gt_state_nest(gt_pytorch_state *trace, const gt_thread_rows *threads, size_t grain)
{
    size_t range_count = gt_range_count(threads->count, grain);
    nesting n = {trace, threads, grain, gt_alloc_zero(range_count, sizeof(range))};
    open_events open = {0};
    uint32_t dropped = 0;
    gt_parallel_ranges(threads->count, grain, nest_range, &n);
    for (size_t i = 0; i < range_count; i++) join_range(&n, &n.ranges[i], &open);
    close_all(trace, &open, threads->count);
    gt_free(open.items);
    gt_parallel_ranges(threads->count, grain, finish_range, &n);
    trace->numbered = 0;
    for (size_t i = 0; i < range_count; i++) {
        uint32_t kept = n.ranges[i].kept;
        n.ranges[i].kept = trace->numbered;
        trace->numbered += kept;
        dropped += n.ranges[i].dropped;
    }
    gt_parallel_ranges(threads->count, grain, number_range, &n);
    gt_parallel_ranges(threads->count, grain, end_range, &n);
    if (dropped) gt_parallel_ranges(threads->count, grain, forget_dropped, &n);
    gt_free(n.ranges);
}
