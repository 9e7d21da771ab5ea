/* Exclusive time of ops: class by class, each op gets what no op before it has.
 *
 * Ops are ordered by start. So inside a class an op gets the time from its start, or from the latest end so
 * far, to its end: these shares are disjoint and in order. From them the time that earlier classes cover is
 * subtracted, with one pointer that only moves on. */
#include "findings/exclusive.h"

typedef struct span {
    int64_t start_ns, end_ns;
} span;

/* Disjoint and in order of time. */
typedef struct span_list {
    span *items;
    size_t count, capacity;
} span_list;

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Adds a span that begins after the last one; spans that touch become one. */
static void add_span(span_list *list, span added)
{
    if (list->count && list->items[list->count - 1].end_ns == added.start_ns)
        list->items[list->count - 1].end_ns = added.end_ns;
    else
        GT_PUSH(list->items, list->count, list->capacity, added);
}

/* Who receives the shares of time. */
typedef struct visitor {
    gt_exclusive_visit *visit;
    void *context;
} visitor;

/* Visits the parts of a span that `covered` lacks. `next` is the first covered span that may matter to this
 * one and those after it. */
static void visit_uncovered(const visitor *v, size_t op, span share, const span_list *covered, size_t *next)
{
    int64_t from = share.start_ns;
    while (*next < covered->count && covered->items[*next].end_ns <= share.start_ns) ++*next;
    for (size_t i = *next; i < covered->count && covered->items[i].start_ns < share.end_ns; i++) {
        const span *cover = &covered->items[i];
        if (cover->start_ns > from) v->visit(v->context, op, from, cover->start_ns);
        from = cover->end_ns;
        if (cover->end_ns <= share.end_ns) *next = i + 1;
    }
    if (from < share.end_ns) v->visit(v->context, op, from, share.end_ns);
}

/* Gives the ops of a class their time in `all`, and lists the spans in which any of them runs. */
static void serve_class(const gt_schedule *schedule, gt_op_class served, span all, const span_list *covered,
                        span_list *own, const visitor *v)
{
    int64_t latest_ns = all.start_ns;
    size_t next = 0;
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        span share = {larger(op->start_ns, latest_ns), smaller(op->end_ns, all.end_ns)};
        if (gt_op_class_of(op) != served || share.start_ns >= share.end_ns) continue;
        latest_ns = share.end_ns;
        visit_uncovered(v, i, share, covered, &next);
        add_span(own, share);
    }
}

static span_list merge(const span_list *a, const span_list *b)
{
    span_list merged = {0};
    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {
        bool first = j == b->count || (i < a->count && a->items[i].start_ns <= b->items[j].start_ns);
        span added = first ? a->items[i++] : b->items[j++];
        if (merged.count && added.start_ns <= merged.items[merged.count - 1].end_ns) {
            span *last = &merged.items[merged.count - 1];
            last->end_ns = larger(last->end_ns, added.end_ns);
        } else {
            GT_PUSH(merged.items, merged.count, merged.capacity, added);
        }
    }
    return merged;
}

void gt_ops_exclusive_visit(const gt_schedule *schedule, int64_t start_ns, int64_t end_ns,
                            gt_exclusive_visit *visit, void *context)
{
    visitor v = {visit, context};
    span_list covered = {0};
    for (gt_op_class served = 0; served < GT_OP_CLASSES; served++) {
        span_list own = {0};
        serve_class(schedule, served, (span){start_ns, end_ns}, &covered, &own, &v);
        span_list all = merge(&covered, &own);
        gt_free_all(covered.items, own.items);
        covered = all;
    }
    gt_free(covered.items);
}

static void add_share(void *context, size_t op, int64_t start_ns, int64_t end_ns)
{
    int64_t *exclusive_ns = context;
    exclusive_ns[op] += end_ns - start_ns;
}

int64_t *gt_ops_exclusive_ns(const gt_schedule *schedule)
{
    const gt_step_window *window = &schedule->window;
    int64_t *exclusive_ns = gt_alloc_zero(schedule->op_count, sizeof *exclusive_ns);
    gt_ops_exclusive_visit(schedule, window->start_ns, window->end_ns, add_share, exclusive_ns);
    return exclusive_ns;
}
