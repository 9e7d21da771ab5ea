/* The host call tree: on each thread, the parent of an event is the innermost event that is open when it
 * starts.
 *
 * The events of each thread are put in order of their starts, and a stack of open events gives their parents.
 * Events are numbered in preorder, so that later questions about a subtree are questions about a range of
 * numbers and need no walk:
 *
 *     time ─────────────────────►      preorder  subtree_end
 *     [ a                        ]     a  0      4
 *       [ b         ]   [ d   ]        b  1      3
 *         [ c   ]                      c  2      3
 *                                      d  3      4 */
#include "trace/pytorch/state.h"

/* ---- rows by thread ----
 *
 * A counting sort. Each range of rows counts its host events by thread; these counts, in order of the ranges,
 * tell where the rows of each range belong. Threads are in order of their first event in the file. */

/* Rows of host events: grouped by thread, and each group in order of the starts. */
typedef struct thread_rows {
    uint32_t *rows;
    size_t count;
    size_t *ends; /* by thread: index after its last row */
    size_t thread_count;
} thread_rows;

typedef struct thread_part {
    uint32_t lane;
    uint32_t id;  /* of the thread */
    size_t place; /* first the number of its rows in the range, then the index of the next one */
} thread_part;

typedef struct range_threads {
    gt_map ids; /* from lanes to indexes into parts */
    thread_part *parts;
    size_t count, capacity;
    GT_PADDING;
} range_threads;

typedef struct thread_sort {
    gt_pytorch_state *trace;
    range_threads *ranges;
    thread_rows *threads;
} thread_sort;

/* Neighbouring events are mostly of the same thread: `last` is the thread of the event before. */
static thread_part *part_of(const gt_pytorch_state *trace, range_threads *r, uint32_t row, size_t *last)
{
    uint32_t lane = gt_lane_of(&trace->lanes, row);
    if (*last < r->count && r->parts[*last].lane == lane) return &r->parts[*last];
    uint32_t *index = gt_map_put(&r->ids, lane, 0);
    if (*index == GT_MAP_NONE) {
        *index = (uint32_t)r->count;
        GT_PUSH(r->parts, r->count, r->capacity, (thread_part){.lane = lane});
    }
    *last = *index;
    return &r->parts[*index];
}

static void fill_none(uint32_t *items, size_t begin, size_t end)
{
    memset(items + begin, 0xFF, (end - begin) * sizeof *items);
}

/* Also the first to write to the arrays of the tree, so that their memory is made ready by all threads. */
static void count_threads(void *context, size_t begin, size_t end)
{
    thread_sort *s = context;
    gt_pytorch_state *trace = s->trace;
    range_threads *r = &s->ranges[begin / GT_ROWS_GRAIN];
    uint32_t *arrays[] = {trace->parent, trace->preorder, trace->subtree_end};
    for (size_t i = 0; i < GT_LENGTH(arrays); i++) fill_none(arrays[i], begin, end);
    size_t last = 0;
    for (size_t row = begin; row < end; row++)
        if (gt_kind_is_host(trace->kind[row])) part_of(trace, r, (uint32_t)row, &last)->place++;
}

/* Gives the rows of each range and thread their place. */
static void place_parts(range_threads *ranges, size_t range_count, size_t lane_count, thread_rows *t)
{
    uint32_t *ids = gt_no_events(lane_count); /* by lane: of its thread */
    size_t capacity = 0;
    for (size_t i = 0; i < range_count; i++)
        for (size_t k = 0; k < ranges[i].count; k++) {
            thread_part *part = &ranges[i].parts[k];
            uint32_t *id = &ids[part->lane];
            if (*id == GT_NO_EVENT) {
                *id = (uint32_t)t->thread_count;
                GT_PUSH(t->ends, t->thread_count, capacity, 0);
            }
            part->id = *id;
            t->ends[*id] += part->place;
        }
    for (size_t i = 0; i < t->thread_count; i++) { /* `ends` holds where each thread begins ... */
        size_t rows = t->ends[i];
        t->ends[i] = t->count;
        t->count += rows;
    }
    for (size_t i = 0; i < range_count; i++) /* ... and becomes its end as its parts are placed */
        for (size_t k = 0; k < ranges[i].count; k++) {
            thread_part *part = &ranges[i].parts[k];
            size_t rows = part->place;
            part->place = t->ends[part->id];
            t->ends[part->id] += rows;
        }
    gt_free(ids);
}

static void place_rows(void *context, size_t begin, size_t end)
{
    thread_sort *s = context;
    range_threads *r = &s->ranges[begin / GT_ROWS_GRAIN];
    size_t last = 0;
    for (size_t row = begin; row < end; row++)
        if (gt_kind_is_host(s->trace->kind[row]))
            s->threads->rows[part_of(s->trace, r, (uint32_t)row, &last)->place++] = (uint32_t)row;
    gt_map_free(&r->ids);
    gt_free(r->parts);
}

static void order_thread(void *context, size_t index)
{
    const thread_sort *s = context;
    size_t begin = index ? s->threads->ends[index - 1] : 0;
    gt_order_rows(s->threads->rows + begin, s->threads->ends[index] - begin, s->trace->start_us);
}

static thread_rows rows_by_thread(gt_pytorch_state *trace)
{
    thread_rows t = {0};
    size_t range_count = gt_range_count(trace->count, GT_ROWS_GRAIN);
    thread_sort s = {trace, gt_alloc_zero(range_count, sizeof *s.ranges), &t};
    gt_parallel_ranges(trace->count, GT_ROWS_GRAIN, count_threads, &s);
    place_parts(s.ranges, range_count, trace->lanes.count, &t);
    t.rows = gt_alloc(t.count * sizeof *t.rows);
    gt_parallel_ranges(trace->count, GT_ROWS_GRAIN, place_rows, &s);
    gt_parallel_each(t.thread_count, order_thread, &s);
    gt_free(s.ranges);
    return t;
}

/* ---- nesting ----
 *
 * One pass over the events of each thread with a stack of the open events. At the start of an event, open
 * events that have ended are closed. What is then on top of the stack is the parent. If the event ends after
 * it, the event is not in the tree, unless both overlap so little that rounding explains it: then the one on
 * top is closed, too. */

/* Profilers round times, so that an event may seem to start inside the event that ends just before it. If
 * both overlap by less than this, the earlier event counts as ended. */
static const double MAX_OVERLAP_US = 1.0;

typedef struct open_event {
    double end_us;
    uint32_t row;
} open_event;

typedef struct nesting {
    gt_pytorch_state *trace;
    open_event *open;
    size_t count, capacity;
} nesting;

static void close_top(nesting *n)
{
    n->trace->subtree_end[n->open[--n->count].row] = n->trace->numbered;
}

static void nest_event(nesting *n, uint32_t row)
{
    gt_pytorch_state *trace = n->trace;
    double start_us = trace->start_us[row], end_us = start_us + trace->dur_us[row];
    while (n->count && start_us >= n->open[n->count - 1].end_us) close_top(n);
    if (n->count && end_us > n->open[n->count - 1].end_us) {
        if (n->count < 2 || !(n->open[n->count - 1].end_us - start_us < MAX_OVERLAP_US)) return;
        close_top(n);
    }
    if (n->count) trace->parent[row] = n->open[n->count - 1].row;
    trace->preorder[row] = trace->numbered++;
    GT_PUSH(n->open, n->count, n->capacity, ((open_event){end_us, row}));
}

/* Fills parent, preorder and subtree_end, which are GT_NO_EVENT before. */
static void nest_threads(gt_pytorch_state *trace, const thread_rows *threads)
{
    nesting n = {.trace = trace};
    trace->numbered = 0;
    for (size_t thread = 0, at = 0; thread < threads->thread_count; thread++) {
        while (at < threads->ends[thread]) nest_event(&n, threads->rows[at++]);
        while (n.count) close_top(&n);
    }
    gt_free(n.open);
}

/* ---- the tree ---- */

static bool is_no_op(const void *context, uint32_t row)
{
    const gt_pytorch_state *trace = context;
    return trace->kind[row] != GT_KIND_CPU_OP;
}

void gt_state_find_ops_above(gt_pytorch_state *trace)
{
    gt_ancestors_free(&trace->ops_above);
    trace->ops_above = gt_ancestors_find(trace->parent, trace->count, is_no_op, trace);
}

/* At the same time, because the system clears their memory. count_threads fills them. */
static void allocate_array(void *context, size_t index)
{
    gt_pytorch_state *trace = context;
    uint32_t **arrays[] = {&trace->parent, &trace->preorder, &trace->subtree_end};
    *arrays[index] = gt_alloc(trace->count * sizeof **arrays[index]);
}
enum { TREE_ARRAYS = 3 };

static void nest_rows(gt_pytorch_state *trace)
{
    gt_parallel_each(TREE_ARRAYS, allocate_array, trace);
    thread_rows threads = rows_by_thread(trace);
    nest_threads(trace, &threads);
    gt_free_all(threads.rows, threads.ends);
    gt_state_find_ops_above(trace);
}

static void nest_or_link(void *context, size_t index)
{
    if (index == 0)
        nest_rows(context);
    else
        gt_state_find_links(context);
}

gt_pytorch_tree *gt_pytorch_build_tree(gt_pytorch_read *read)
{
    gt_pytorch_state *trace = read->state;
    gt_free(read);
    /* Both are many short loops, which leave threads without work. */
    if (gt_team_threads() >= GT_MANY_THREADS)
        gt_parallel_each(2, nest_or_link, trace);
    else
        for (size_t i = 0; i < 2; i++) nest_or_link(trace, i);
    gt_state_publish(trace);
    gt_pytorch_tree *tree = gt_alloc(sizeof *tree);
    tree->state = trace;
    return tree;
}

uint32_t gt_pytorch_cpu_op_above(const gt_linked_view *trace, uint32_t row)
{
    if (gt_kind_is_gpu(trace->kind[row])) row = trace->parent[row];
    return row == GT_NO_EVENT ? GT_NO_EVENT : gt_ancestor_of(&trace->ops_above, trace->parent, row);
}
