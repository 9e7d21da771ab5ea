/* From an event to its children, its GPU events and its gradients.
 *
 * Launches are sorted by the preorder number of their runtime call, so that the launches of a subtree are one
 * range of that array. */
#include "trace/pytorch/calls.h"

/* ---- launches by number ---- */

/* The launches of one call are neighbours. Calls use(c, number, first, count) for the calls in the tree whose
 * launches begin in a range. */
static inline __attribute__((always_inline)) void each_call(gt_calls *c, size_t begin, size_t end,
                                                            void (*use)(gt_calls *c, uint32_t number,
                                                                        size_t first, size_t count))
{
    const uint32_t *calls = c->trace->link_runtime;
    size_t links = c->trace->link_count;
    while (begin && begin < end && calls[begin] == calls[begin - 1]) begin++;
    for (size_t first = begin; first < end;) {
        size_t next = first + 1;
        while (next < links && calls[next] == calls[first]) next++;
        uint32_t number = c->trace->preorder[calls[first]];
        if (number != GT_NO_EVENT) use(c, number, first, next - first);
        first = next;
    }
}

static void note_call(gt_calls *c, uint32_t number, size_t first, size_t count)
{
    (void)first;
    (void)count;
    gt_row_set_add_shared(&c->launching, number);
}

static void note_count(gt_calls *c, uint32_t number, size_t first, size_t count)
{
    (void)first;
    c->begins[gt_row_set_below(&c->launching, number)] = (uint32_t)count;
}

static void note_launches(gt_calls *c, uint32_t number, size_t first, size_t count)
{
    uint32_t begin = gt_calls_begin(c, number);
    for (size_t i = 0; i < count; i++) c->links[begin + i] = (uint32_t)(first + i);
}

static void find_launching(void *context, size_t begin, size_t end)
{
    each_call(context, begin, end, note_call);
}

static void count_launches(void *context, size_t begin, size_t end)
{
    each_call(context, begin, end, note_count);
}

static void list_launches(void *context, size_t begin, size_t end)
{
    each_call(context, begin, end, note_launches);
}

static void place_launches(gt_calls *c)
{
    size_t links = c->trace->link_count;
    c->launching = gt_row_set_new(c->trace->numbered);
    gt_parallel_ranges(links, GT_ROWS_GRAIN, find_launching, c);
    size_t calls = gt_row_set_finish(&c->launching);
    c->begins = gt_alloc((calls + 1) * sizeof *c->begins);
    c->begins[calls] = 0;
    gt_parallel_ranges(links, GT_ROWS_GRAIN, count_launches, c);
    gt_sums_before(c->begins, calls + 1);
    c->links = gt_alloc(links * sizeof *c->links);
    gt_parallel_ranges(links, GT_ROWS_GRAIN, list_launches, c);
}

static void place_rows(void *context, size_t begin, size_t end)
{
    const gt_calls *c = context;
    for (size_t row = begin; row < end; row++)
        if (c->trace->preorder[row] != GT_NO_EVENT) c->row_of[c->trace->preorder[row]] = (uint32_t)row;
}

gt_calls *gt_calls_new(const gt_linked_view *trace)
{
    gt_calls *c = gt_alloc_zero(1, sizeof *c);
    c->trace = trace;
    c->row_of = gt_alloc(trace->numbered * sizeof *c->row_of);
    gt_parallel_ranges(trace->count, GT_ROWS_GRAIN, place_rows, c);
    place_launches(c);
    return c;
}

void gt_calls_free(gt_calls *c)
{
    if (!c) return;
    gt_free(c->row_of);
    gt_row_set_free(&c->launching);
    gt_free_all(c->begins, c->links, c);
}

/* ---- children ---- */

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

/* ---- callers ----
 *
 * The caller of an event is the last event before it whose range of numbers it is in. Each range of numbers
 * finds the callers that are in the same range. The others are among the events that are open when the range
 * begins, a list that one thread carries from range to range. */

typedef struct caller_range {
    uint32_t *without; /* events whose caller is before the range */
    size_t without_count, without_capacity;
    uint32_t *open; /* events of the range that are open at its end, outermost first */
    size_t open_count, open_capacity;
    uint32_t around; /* the innermost event that is open when the range begins */
    GT_PADDING;
} caller_range;

typedef struct caller_search {
    const gt_calls *calls;
    uint32_t *callers; /* by number */
    caller_range *ranges;
} caller_search;

static uint32_t end_of_number(const gt_calls *c, uint32_t number)
{
    return c->trace->subtree_end[c->row_of[number]];
}

/* A stack of open events without a stack: `callers` leads from each open event to the one around it. */
static void find_callers(void *context, size_t begin, size_t end)
{
    const caller_search *s = context;
    const gt_calls *c = s->calls;
    caller_range *r = &s->ranges[begin / GT_ROWS_GRAIN];
    uint32_t open = GT_NO_EVENT;
    for (uint32_t n = (uint32_t)begin; n < end; n++) {
        while (open != GT_NO_EVENT && end_of_number(c, open) <= n) open = s->callers[open];
        if (open == GT_NO_EVENT) GT_PUSH(r->without, r->without_count, r->without_capacity, n);
        s->callers[n] = open;
        open = n;
    }
    for (; open != GT_NO_EVENT; open = s->callers[open])
        if (end_of_number(c, open) > end) GT_PUSH(r->open, r->open_count, r->open_capacity, open);
    for (size_t i = 0; i < r->open_count / 2; i++) {
        uint32_t other = r->open[i];
        r->open[i] = r->open[r->open_count - 1 - i];
        r->open[r->open_count - 1 - i] = other;
    }
}

static void carry_open_events(caller_search *s, size_t range_count)
{
    const gt_calls *c = s->calls;
    uint32_t open = GT_NO_EVENT;
    for (size_t i = 0; i < range_count; i++) {
        caller_range *r = &s->ranges[i];
        size_t end = (i + 1) * (size_t)GT_ROWS_GRAIN;
        r->around = open;
        while (open != GT_NO_EVENT && end_of_number(c, open) <= end) open = s->callers[open];
        if (!r->open_count) continue;
        s->callers[r->open[0]] = open; /* its caller is not in the range: that would be open, too */
        open = r->open[r->open_count - 1];
    }
}

static void find_callers_before(void *context, size_t begin, size_t end)
{
    const caller_search *s = context;
    const gt_calls *c = s->calls;
    caller_range *r = &s->ranges[begin / GT_ROWS_GRAIN];
    uint32_t open = r->around;
    (void)end;
    for (size_t i = 0; i < r->without_count; i++) {
        uint32_t n = r->without[i];
        while (open != GT_NO_EVENT && end_of_number(c, open) <= n) open = s->callers[open];
        if (r->open_count && n == r->open[0]) continue; /* others read it now, and it has its caller */
        s->callers[n] = open;
    }
    gt_free_all(r->without, r->open);
}

uint32_t *gt_calls_callers(const gt_calls *c)
{
    size_t numbers = c->trace->numbered, range_count = gt_range_count(numbers, GT_ROWS_GRAIN);
    caller_search s = {c, gt_alloc(numbers * sizeof *s.callers),
                       gt_alloc_zero(range_count, sizeof *s.ranges)};
    gt_parallel_ranges(numbers, GT_ROWS_GRAIN, find_callers, &s);
    carry_open_events(&s, range_count);
    gt_parallel_ranges(numbers, GT_ROWS_GRAIN, find_callers_before, &s);
    gt_free(s.ranges);
    return s.callers;
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
    if (number != GT_NO_EVENT)
        return gt_row_set_below(&c->launching, number) <
               gt_row_set_below(&c->launching, trace->subtree_end[row]);
    size_t first = first_launch(trace, row);
    return first < trace->link_count && trace->link_runtime[first] == row;
}

static void add_below(const gt_calls *c, uint32_t row, gt_row_list *list)
{
    uint32_t begin = gt_calls_begin(c, c->trace->preorder[row]),
             end = gt_calls_begin(c, c->trace->subtree_end[row]);
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

static bool is_cpu_root(const void *context, size_t row)
{
    const gt_linked_view *trace = context;
    return trace->kind[row] == GT_KIND_CPU_OP && trace->preorder[row] != GT_NO_EVENT &&
           gt_pytorch_cpu_op_above(trace, (uint32_t)row) == GT_NO_EVENT;
}

gt_row_list gt_calls_cpu_roots(const gt_calls *c)
{
    const gt_linked_view *trace = c->trace;
    gt_row_list roots = gt_rows_where(trace->recorded, is_cpu_root, trace);
    gt_order_rows(roots.items, roots.count, trace->start_us);
    for (size_t i = 0; i < trace->late_root_count; i++)
        GT_PUSH(roots.items, roots.count, roots.capacity, trace->late_roots[i]);
    return roots;
}
