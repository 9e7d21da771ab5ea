/* The parallel parts of building the call tree, compared with one simple pass over all events, for random
 * events, any size of the ranges and any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/team.h"
#include "trace/pytorch/nesting.h"
#include "trace/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const unsigned thread_counts[] = {1, 2, 3, 8, 16};

static uint64_t seed;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % limit);
}

/* ---- random events ---- */

typedef struct events {
    gt_pytorch_state state; /* only the fields that nesting reads and writes */
    gt_thread_rows threads;
} events;

static void allocate(events *e, size_t count)
{
    gt_pytorch_state *s = &e->state;
    s->count = count;
    s->start_us = gt_alloc(count * sizeof *s->start_us);
    s->dur_us = gt_alloc(count * sizeof *s->dur_us);
    s->parent = gt_no_events(count);
    s->preorder = gt_no_events(count);
    s->subtree_end = gt_no_events(count);
    e->threads.rows = gt_alloc(count * sizeof *e->threads.rows);
    e->threads.ends = gt_alloc((count + 1) * sizeof *e->threads.ends);
    e->threads.count = count;
}

static void release(events *e)
{
    gt_pytorch_state *s = &e->state;
    void *arrays[] = {s->start_us,    s->dur_us,       s->parent,      s->preorder,
                      s->subtree_end, e->threads.rows, e->threads.ends};
    for (size_t i = 0; i < GT_LENGTH(arrays); i++) gt_free(arrays[i]);
}

static void clear_tree(events *e)
{
    uint32_t *arrays[] = {e->state.parent, e->state.preorder, e->state.subtree_end};
    for (size_t i = 0; i < GT_LENGTH(arrays); i++) memset(arrays[i], 0xFF, e->state.count * sizeof **arrays);
    e->state.numbered = 0;
}

typedef enum flavour { ANY_TIMES, CALLS, CALLS_OF_ONE_ROOT, SIBLINGS, DEEP, FLAVOURS } flavour;

/* Events as a program makes them: calls within calls, whose ends are sometimes rounded too late. */
static void write_calls(gt_pytorch_state *s, size_t *next, double begin_us, double end_us, int depth)
{
    double at_us = begin_us;
    while (*next < s->count && at_us < end_us) {
        size_t row = (*next)++;
        double dur_us = random_below(8) ? random_below(1 + (uint32_t)(end_us - at_us)) : end_us - at_us;
        s->start_us[row] = at_us;
        s->dur_us[row] = dur_us;
        if (depth < 12 && random_below(3)) write_calls(s, next, at_us, at_us + dur_us, depth + 1);
        static const double late_us[] = {0.25, 0.5, 0.999, 1.0, 3, 50};
        if (!random_below(4)) s->dur_us[row] += late_us[random_below(GT_LENGTH(late_us))];
        at_us += dur_us + random_below(3);
    }
}

static void write_times(gt_pytorch_state *s, flavour how)
{
    size_t next = 0;
    if (how == CALLS_OF_ONE_ROOT) {
        s->start_us[0] = 0;
        s->dur_us[0] = 1e9;
        next = 1;
    }
    while ((how == CALLS || how == CALLS_OF_ONE_ROOT) && next < s->count)
        write_calls(s, &next, next ? 10.0 * (double)next : 0, 10.0 * (double)next + 400, 0);
    for (size_t i = 0; i < s->count; i++) {
        if (how == ANY_TIMES) {
            s->start_us[i] = random_below(200) / 4.0 - 5;
            s->dur_us[i] = (int)random_below(60) / 4.0 - (random_below(9) ? 0 : 3);
        } else if (how == SIBLINGS) {
            s->start_us[i] = (double)i * 2;
            s->dur_us[i] = i == 0 && random_below(2) ? 1e6 : 1 + random_below(12) / 4.0;
        } else if (how == DEEP) {
            s->start_us[i] = (double)i;
            s->dur_us[i] = 3.0 * (double)s->count - 2.0 * (double)i + random_below(8) / 4.0;
        }
    }
}

static int by_start(const void *left, const void *right, void *times)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    double x = ((const double *)times)[a], y = ((const double *)times)[b];
    if (isnan(x) != isnan(y)) return isnan(x) ? -1 : 1;
    if (x < y || x > y) return x < y ? -1 : 1;
    return (a > b) - (a < b);
}

static events random_events(size_t count, size_t threads, flavour how)
{
    events e = {0};
    allocate(&e, count);
    write_times(&e.state, how);
    for (size_t thread = 0, rows = 0; thread < threads; thread++) {
        size_t begin = rows;
        for (size_t row = 0; row < count; row++)
            if (row * threads / count == thread) e.threads.rows[rows++] = (uint32_t)row;
        if (rows == begin) continue;
        qsort_r(e.threads.rows + begin, rows - begin, sizeof *e.threads.rows, by_start, e.state.start_us);
        e.threads.ends[e.threads.thread_count++] = rows;
    }
    return e;
}

/* ---- the reference: one pass ---- */

typedef struct tree {
    uint32_t *parent, *preorder, *subtree_end, numbered;
} tree;

static double end_us(const gt_pytorch_state *s, uint32_t row)
{
    return s->start_us[row] + s->dur_us[row];
}

static void reference_thread(const gt_pytorch_state *s, const uint32_t *rows, size_t count, tree *t)
{
    uint32_t *open = gt_alloc((count + 1) * sizeof *open);
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        while (depth && s->start_us[row] >= end_us(s, open[depth - 1]))
            t->subtree_end[open[--depth]] = t->numbered;
        if (depth && end_us(s, row) > end_us(s, open[depth - 1])) {
            if (depth < 2 || end_us(s, open[depth - 1]) - s->start_us[row] >= 1.0) continue;
            t->subtree_end[open[--depth]] = t->numbered;
        }
        t->preorder[row] = t->numbered++;
        if (depth) t->parent[row] = open[depth - 1];
        open[depth++] = row;
    }
    while (depth) t->subtree_end[open[--depth]] = t->numbered;
    gt_free(open);
}

static tree reference_tree(const events *e)
{
    size_t count = e->state.count;
    tree t = {gt_no_events(count), gt_no_events(count), gt_no_events(count), 0};
    for (size_t i = 0, begin = 0; i < e->threads.thread_count; begin = e->threads.ends[i++])
        reference_thread(&e->state, e->threads.rows + begin, e->threads.ends[i] - begin, &t);
    return t;
}

static void free_tree(tree *t)
{
    gt_free(t->parent);
    gt_free(t->preorder);
    gt_free(t->subtree_end);
}

static void expect_tree(const gt_pytorch_state *s, const tree *t)
{
    assert_int_equal(s->numbered, t->numbered);
    for (size_t row = 0; row < s->count; row++) {
        assert_int_equal(s->parent[row], t->parent[row]);
        assert_int_equal(s->preorder[row], t->preorder[row]);
        assert_int_equal(s->subtree_end[row], t->subtree_end[row]);
    }
}

/* ---- tests ---- */

typedef struct nest_call {
    events *e;
    size_t grain;
} nest_call;

static void nest(void *context)
{
    nest_call *call = context;
    gt_state_nest(&call->e->state, &call->e->threads, call->grain);
}

static void the_tree_is_that_of_one_pass(void **unused)
{
    (void)unused;
    static const size_t grains[] = {1, 2, 3, 7, 32, 1000};
    seed = 14;
    for (int round = 0; round < 600; round++) {
        size_t count = 1 + random_below(round % 10 ? 80 : 700);
        events e = random_events(count, 1 + random_below(3), (flavour)(round % FLAVOURS));
        tree expected = reference_tree(&e);
        for (size_t g = 0; g < GT_LENGTH(grains); g++) {
            clear_tree(&e);
            nest_call call = {&e, grains[g]};
            gt_team_run(thread_counts[round % (int)GT_LENGTH(thread_counts)], nest, &call);
            expect_tree(&e.state, &expected);
        }
        free_tree(&expected);
        release(&e);
    }
}

static void large_traces_are_nested_alike_on_any_number_of_threads(void **unused)
{
    (void)unused;
    for (int how = 0; how < FLAVOURS; how++) {
        seed = 140 + (uint64_t)how;
        events e = random_events(60000, 3, (flavour)how);
        clear_tree(&e);
        nest_call once = {&e, 60000};
        nest(&once);
        gt_pytorch_state *s = &e.state;
        tree expected = {s->parent, s->preorder, s->subtree_end, s->numbered};
        s->parent = gt_no_events(s->count);
        s->preorder = gt_no_events(s->count);
        s->subtree_end = gt_no_events(s->count);
        for (size_t i = 0; i < GT_LENGTH(thread_counts); i++) {
            clear_tree(&e);
            nest_call call = {&e, 512};
            gt_team_run(thread_counts[i], nest, &call);
            expect_tree(s, &expected);
        }
        free_tree(&expected);
        release(&e);
    }
}

typedef struct order_call {
    uint32_t *rows;
    size_t count, grain;
    const double *times;
} order_call;

static void order(void *context)
{
    order_call *call = context;
    gt_order_rows_by_ranges(call->rows, call->count, call->times, call->grain);
}

/* The sort is stable, and NaN comes first. */
static void rows_are_ordered_as_by_qsort(void **unused)
{
    (void)unused;
    static const size_t grains[] = {1, 2, 5, 64, 5000};
    seed = 3;
    for (int round = 0; round < 300; round++) {
        size_t count = random_below(round % 10 ? 100 : 3000);
        uint32_t spread = round % 3 == 0 ? 1 : round % 3 == 1 ? 40 : 1000000; /* sorted, nearly, random */
        uint32_t *rows = gt_alloc(count * sizeof *rows), *expected = gt_alloc(count * sizeof *expected);
        double *times = gt_alloc(count * sizeof *times);
        for (uint32_t i = 0; i < count; i++) {
            times[i] = random_below(50) || spread == 1 ? i / 2 + random_below(spread) : (double)NAN;
            expected[i] = i;
        }
        qsort_r(expected, count, sizeof *expected, by_start, times);
        for (size_t g = 0; g < GT_LENGTH(grains); g++) {
            for (uint32_t i = 0; i < count; i++) rows[i] = i;
            order_call call = {rows, count, grains[g], times};
            gt_team_run(thread_counts[round % (int)GT_LENGTH(thread_counts)], order, &call);
            assert_memory_equal(rows, expected, count * sizeof *rows);
        }
        gt_free(rows);
        gt_free(expected);
        gt_free(times);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_is_that_of_one_pass),
        cmocka_unit_test(large_traces_are_nested_alike_on_any_number_of_threads),
        cmocka_unit_test(rows_are_ordered_as_by_qsort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
