/* Finding launchers, on all threads of the team: the GPU events are assigned to their launchers, each
 * launcher learns which event is its first, which gives the launchers an order, a sort groups the events by
 * launcher, and the call tree gives everything launched below a launcher. */
#include "analysis/pytorch/launchers.h"

#include "table/operations.h"
#include "trace/pytorch/event_rows.h"
#include "trace/pytorch/gpu_ranges.h"

/* ---- launchers and their kernels ---- */

static const char EXECUTE[] = "execute";

typedef struct finder {
    const gt_linked_view *trace;
    gt_launchers *l;
    uint32_t execute;      /* string id of the name; GT_STR_NONE: no event has it */
    gt_ancestors callers;  /* python functions and ops with that name are passed over */
    uint8_t *communicates; /* by name: 0 not checked, 1 no, 2 yes */
    uint32_t *rows;        /* the GPU events that make launchers, in file order */
    size_t count;
    uint32_t *ops; /* of each: its launcher */
    uint32_t
        *first_of;    /* by row of a launcher: the index of its first GPU event; then the launcher's index */
    uint32_t *firsts; /* the indexes of GPU events that are the first of their launchers */
    uint32_t *index_of; /* of each GPU event: the index of its launcher */
    uint32_t *order;    /* the GPU events by launcher, then in file order */
} finder;

/* Communication is checked once per name, or more often if several threads meet it at the same time. */
static bool makes_launcher(const void *context, size_t row)
{
    const finder *f = context;
    if (!gt_kind_is_gpu(f->trace->kind[row]) || f->trace->parent[row] == GT_NO_EVENT) return false;
    uint8_t *known = &f->communicates[f->trace->name[row]], found = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (!found) {
        found = gt_event_communicates(&f->trace->events, (uint32_t)row) ? 2 : 1;
        __atomic_store_n(known, found, __ATOMIC_RELAXED);
    }
    return found == 1;
}

static bool is_passed(const void *context, uint32_t row)
{
    const finder *f = context;
    uint8_t kind = f->trace->kind[row];
    if (kind == GT_KIND_PYTHON) return true;
    return f->execute != GT_STR_NONE && kind == GT_KIND_CPU_OP && f->trace->name[row] == f->execute;
}

static gt_ancestors find_callers(finder *f)
{
    f->execute = gt_interner_find(f->trace->strings, EXECUTE, strlen(EXECUTE));
    if (!f->trace->has_python && f->execute == GT_STR_NONE) return (gt_ancestors){0};
    return gt_ancestors_find(f->trace->parent, f->trace->count, is_passed, f);
}

static uint32_t launcher_of(const finder *f, uint32_t gpu_row)
{
    uint32_t runtime = f->trace->parent[gpu_row];
    uint32_t caller = gt_ancestor_of(&f->callers, f->trace->parent, runtime);
    return caller == GT_NO_EVENT || f->trace->kind[caller] != GT_KIND_CPU_OP ? runtime : caller;
}

static void find_ops(void *context, size_t begin, size_t end)
{
    const finder *f = context;
    for (size_t i = begin; i < end; i++) {
        uint32_t op = launcher_of(f, f->rows[i]), *first = &f->first_of[op];
        f->ops[i] = op;
        uint32_t before = __atomic_load_n(first, __ATOMIC_RELAXED);
        while (before > i && !__atomic_compare_exchange_n(first, &before, (uint32_t)i, true, __ATOMIC_RELAXED,
                                                          __ATOMIC_RELAXED)) {
        }
    }
}

static bool is_first(const void *context, size_t i)
{
    const finder *f = context;
    return f->first_of[f->ops[i]] == i;
}

static void number_launchers(void *context, size_t begin, size_t end)
{
    const finder *f = context;
    for (size_t i = begin; i < end; i++) {
        uint32_t op = f->ops[f->firsts[i]];
        f->l->items[i] = (gt_launcher){.row = op};
        f->first_of[op] = (uint32_t)i;
    }
}

static void number_kernels(void *context, size_t begin, size_t end)
{
    const finder *f = context;
    for (size_t i = begin; i < end; i++) f->index_of[i] = f->first_of[f->ops[i]];
}

/* Finds where the kernels of each launcher begin and end. */
static void place_kernels(void *context, size_t begin, size_t end)
{
    const finder *f = context;
    for (size_t i = begin; i < end; i++) {
        uint32_t launcher = f->index_of[f->order[i]];
        f->l->kernels[i] = f->rows[f->order[i]];
        if (i == 0 || f->index_of[f->order[i - 1]] != launcher) f->l->items[launcher].first = (uint32_t)i;
        if (i + 1 == f->count || f->index_of[f->order[i + 1]] != launcher)
            f->l->items[launcher].count = (uint32_t)i + 1; /* for now, its end */
    }
}

static void sort_kernels(void *context, size_t begin, size_t end)
{
    const finder *f = context;
    for (size_t i = begin; i < end; i++) {
        gt_launcher *item = &f->l->items[i];
        item->count -= item->first;
        if (item->count > 1) gt_order_rows(f->l->kernels + item->first, item->count, f->trace->start_us);
    }
}

/* Lists the launchers in the order of their first kernels, with the kernels of each by start. */
static void find_launchers(const gt_linked_view *trace, gt_launchers *l)
{
    finder f = {.trace = trace, .l = l};
    f.communicates = gt_alloc_zero(gt_interner_count(trace->strings), 1);
    f.rows = gt_numbers_where(trace->count, makes_launcher, &f, &f.count);
    gt_free(f.communicates);
    f.ops = gt_alloc(f.count * sizeof *f.ops);
    f.callers = find_callers(&f);
    f.first_of = gt_no_events(trace->count);
    gt_parallel_ranges(f.count, GT_ROWS_GRAIN, find_ops, &f);
    gt_ancestors_free(&f.callers);
    f.firsts = gt_numbers_where(f.count, is_first, &f, &l->count);
    l->items = gt_alloc(l->count * sizeof *l->items);
    gt_parallel_ranges(l->count, GT_ROWS_GRAIN, number_launchers, &f);
    gt_free(f.firsts);
    f.index_of = gt_alloc(f.count * sizeof *f.index_of);
    gt_parallel_ranges(f.count, GT_ROWS_GRAIN, number_kernels, &f);
    gt_free_all(f.ops, f.first_of);
    f.order = gt_order_by_numbers(f.index_of, f.count);
    l->kernels = gt_alloc(f.count * sizeof *l->kernels);
    gt_parallel_ranges(f.count, GT_ROWS_GRAIN, place_kernels, &f);
    gt_parallel_ranges(l->count, GT_ROWS_GRAIN, sort_kernels, &f);
    gt_free_all(f.rows, f.index_of, f.order);
}

typedef struct item_sort {
    const gt_linked_view *trace;
    const gt_launcher *from;
    gt_launcher *to;
    uint32_t *order;
    double *starts;
} item_sort;

static void list_starts(void *context, size_t begin, size_t end)
{
    const item_sort *s = context;
    for (size_t i = begin; i < end; i++) {
        s->order[i] = (uint32_t)i;
        s->starts[i] = s->trace->start_us[s->from[i].row];
    }
}

static void move_items(void *context, size_t begin, size_t end)
{
    const item_sort *s = context;
    for (size_t i = begin; i < end; i++) s->to[i] = s->from[s->order[i]];
}

static void sort_launchers(const gt_linked_view *trace, gt_launchers *l)
{
    item_sort s = {trace, l->items, gt_alloc(l->count * sizeof *s.to), gt_alloc(l->count * sizeof *s.order),
                   gt_alloc(l->count * sizeof *s.starts)};
    gt_parallel_ranges(l->count, GT_ROWS_GRAIN, list_starts, &s);
    gt_order_rows(s.order, l->count, s.starts);
    gt_parallel_ranges(l->count, GT_ROWS_GRAIN, move_items, &s);
    gt_free(l->items);
    l->items = s.to;
    gt_free_all(s.order, s.starts);
}

/* ---- times ---- */

typedef struct measuring {
    const gt_linked_view *trace;
    gt_launchers *launchers;
    uint32_t *rows; /* by launcher, like the next one */
    gt_busy *below;
} measuring;

static void list_rows(void *context, size_t begin, size_t end)
{
    const measuring *m = context;
    for (size_t i = begin; i < end; i++) m->rows[i] = m->launchers->items[i].row;
}

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
    measuring m = {trace, l, gt_alloc(l->count * sizeof *m.rows), gt_alloc(l->count * sizeof *m.below)};
    gt_parallel_ranges(l->count, GT_OPS_GRAIN, list_rows, &m);
    gt_busy_below(l->calls, m.rows, l->count, m.below);
    gt_parallel_ranges(l->count, GT_OPS_GRAIN, measure_range, &m);
    gt_free_all(m.rows, m.below);
}

typedef struct launcher_search {
    const gt_linked_view *trace;
    gt_launchers *l;
} launcher_search;

static void find_launchers_or_calls(void *context, size_t index)
{
    const launcher_search *s = context;
    if (index == 0) {
        find_launchers(s->trace, s->l);
        sort_launchers(s->trace, s->l);
    } else {
        s->l->calls = gt_calls_new(s->trace);
    }
}

gt_launchers gt_launchers_find(const gt_linked_view *trace)
{
    gt_launchers l = {0};
    launcher_search search = {trace, &l};
    if (gt_team_threads() >= GT_MANY_THREADS)
        gt_parallel_each(2, find_launchers_or_calls, &search);
    else
        for (size_t i = 0; i < 2; i++) find_launchers_or_calls(&search, i);
    measure(trace, &l);
    return l;
}

void gt_launchers_free(gt_launchers *l)
{
    gt_free_all(l->items, l->kernels);
    gt_calls_free(l->calls);
    *l = (gt_launchers){0};
}
