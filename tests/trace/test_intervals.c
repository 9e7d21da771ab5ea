/* Interval arithmetic compared with a bitmap: every interval has whole numbers as ends, so a list is the set
 * of unit cells it covers, and unions, intersections and differences are those of the sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/team.h"
#include "trace/intervals.h"

#include <stdlib.h>

enum { CELLS = 4096 };

typedef struct cells {
    bool covered[CELLS];
} cells;

static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % limit);
}

/* A random list, and the cells it covers. `disorder` is how far from sorted the starts are. */
static gt_intervals random_list(size_t count, uint32_t range, uint32_t longest, uint32_t disorder, cells *set)
{
    gt_intervals list = {0};
    memset(set, 0, sizeof *set);
    for (size_t i = 0; i < count; i++) {
        uint32_t in_order = (uint32_t)(i * (range - disorder) / count);
        uint32_t start = in_order + random_below(disorder), end = start + random_below(longest + 1);
        gt_intervals_add(&list, start, end);
        for (uint32_t cell = start; cell < end; cell++) set->covered[cell] = true;
    }
    return list;
}

static size_t covered_count(const cells *set)
{
    size_t count = 0;
    for (size_t i = 0; i < CELLS; i++) count += set->covered[i];
    return count;
}

/* The list is merged and covers exactly these cells. */
static void assert_covers(const gt_intervals *list, const cells *set)
{
    cells found = {0};
    for (size_t i = 0; i < list->count; i++) {
        assert_true(list->items[i].start <= list->items[i].end);
        if (i) assert_true(list->items[i].start > list->items[i - 1].end);
        for (size_t cell = (size_t)list->items[i].start; cell < (size_t)list->items[i].end; cell++)
            found.covered[cell] = true;
    }
    assert_memory_equal(&found, set, sizeof found);
    assert_true(gt_intervals_length(list) == (double)covered_count(set));
}

static void combinations_agree_with_sets(void **state)
{
    (void)state;
    random_state = 1;
    for (int round = 0; round < 600; round++) {
        size_t counts[] = {0, 1, 2, 15, 16, 17, 33, 150, 700};
        uint32_t range = 50 + random_below(3500), longest = random_below(40);
        uint32_t disorder = round % 3 == 0 ? 1 : round % 3 == 1 ? 20 : range;
        cells in_a, in_b, expected;
        gt_intervals a = random_list(counts[random_below(9)], range, longest, disorder, &in_a);
        gt_intervals b = random_list(counts[random_below(9)], range, longest, disorder, &in_b);
        gt_intervals_merge(&a);
        gt_intervals_merge(&b);
        assert_covers(&a, &in_a);
        assert_covers(&b, &in_b);

        gt_intervals both = gt_intervals_union(&a, &b);
        for (size_t i = 0; i < CELLS; i++) expected.covered[i] = in_a.covered[i] || in_b.covered[i];
        assert_covers(&both, &expected);

        gt_intervals common = gt_intervals_intersect(&a, &b);
        for (size_t i = 0; i < CELLS; i++) expected.covered[i] = in_a.covered[i] && in_b.covered[i];
        assert_covers(&common, &expected);

        gt_intervals rest = gt_intervals_subtract(&a, &b);
        for (size_t i = 0; i < CELLS; i++) expected.covered[i] = in_a.covered[i] && !in_b.covered[i];
        assert_covers(&rest, &expected);

        gt_intervals_free(&a);
        gt_intervals_free(&b);
        gt_intervals_free(&both);
        gt_intervals_free(&common);
        gt_intervals_free(&rest);
    }
}

static void merging_again_changes_nothing(void **state)
{
    (void)state;
    random_state = 2;
    cells set;
    gt_intervals list = random_list(700, 4000, 10, 4000, &set);
    gt_intervals_merge(&list);
    size_t count = list.count;
    gt_intervals_merge(&list);
    assert_int_equal(list.count, count);
    assert_covers(&list, &set);
    gt_intervals_free(&list);
}

static void touching_intervals_join(void **state)
{
    (void)state;
    gt_intervals list = {0};
    gt_intervals_add(&list, 5, 7);
    gt_intervals_add(&list, 1, 3);
    gt_intervals_add(&list, 3, 5);
    gt_intervals_add(&list, 8, 9);
    gt_intervals_merge(&list);
    assert_int_equal(list.count, 2);
    assert_true(list.items[0].start == 1 && list.items[0].end == 7);
    assert_true(list.items[1].start == 8 && list.items[1].end == 9);
    gt_intervals_free(&list);
}

static void an_interval_inside_another_does_not_shorten_it(void **state)
{
    (void)state;
    gt_intervals list = {0};
    gt_intervals_add(&list, 0, 100);
    gt_intervals_add(&list, 10, 20);
    gt_intervals_add(&list, 50, 101);
    gt_intervals_merge(&list);
    assert_int_equal(list.count, 1);
    assert_true(gt_intervals_length(&list) == 101);
    gt_intervals_free(&list);
}

/* Damaged records end before they start: alone, such an interval counts with its negative length; covered by
 * another, it does not count. */
static void an_inverted_interval_keeps_its_sign(void **state)
{
    (void)state;
    gt_intervals list = {0};
    gt_intervals_add(&list, 0, 10);
    gt_intervals_add(&list, 5, 2);
    gt_intervals_add(&list, 20, 17);
    gt_intervals_merge(&list);
    assert_true(gt_intervals_length(&list) == 10 - 3);
    gt_intervals a = {0};
    gt_intervals_add(&a, 0, 30);
    gt_intervals rest = gt_intervals_subtract(&a, &list); /* [10, 30): the inverted one cuts nothing */
    assert_int_equal(rest.count, 1);
    assert_true(gt_intervals_length(&rest) == 20);
    gt_intervals_free(&a);
    gt_intervals_free(&rest);
    gt_intervals_free(&list);
}

static void lengths_are_added_first_to_last(void **state)
{
    (void)state;
    gt_intervals list = {0};
    gt_intervals_add(&list, 0, 1e16);
    gt_intervals_add(&list, 2e16, 2e16 + 4);
    gt_intervals_add(&list, 3e16, 3e16 + 4);
    gt_intervals_merge(&list);
    assert_int_equal(list.count, 3);
    assert_true(gt_intervals_length(&list) == (1e16 + 4) + 4);
    gt_intervals_free(&list);
}

static void many_intervals_backwards(void **state)
{
    (void)state;
    gt_intervals list = {0};
    gt_intervals_reserve(&list, 200000);
    for (int i = 200000; i-- > 0;) gt_intervals_add(&list, 2.0 * i, 2.0 * i + 1);
    gt_intervals_merge(&list);
    assert_int_equal(list.count, 200000);
    for (size_t i = 0; i < list.count; i++) assert_true(list.items[i].start == 2.0 * (double)i);
    gt_intervals_free(&list);
}

/* ---- many intervals, on several threads ---- */

enum { MANY = 120000 };

/* The reference: sorts the starts with their positions, then joins. */
typedef struct placed {
    gt_interval interval;
    size_t place;
} placed;

static int by_start(const void *left, const void *right)
{
    const placed *a = left, *b = right;
    if (a->interval.start != b->interval.start) return a->interval.start < b->interval.start ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static size_t merge_plainly(const gt_interval *items, size_t count, gt_interval *merged)
{
    placed *sorted = malloc(count * sizeof *sorted);
    size_t last = 0;
    for (size_t i = 0; i < count; i++) sorted[i] = (placed){items[i], i};
    qsort(sorted, count, sizeof *sorted, by_start);
    merged[0] = sorted[0].interval;
    for (size_t i = 1; i < count; i++) {
        gt_interval next = sorted[i].interval;
        if (next.start > merged[last].end)
            merged[++last] = next;
        else if (next.end > merged[last].end)
            merged[last].end = next.end;
    }
    free(sorted);
    return last + 1;
}

typedef struct merge_case {
    const gt_interval *items, *expected;
    size_t expected_count;
} merge_case;

static void merge_and_compare(void *context)
{
    const merge_case *c = context;
    gt_intervals list = {0};
    for (size_t i = 0; i < MANY; i++) gt_intervals_add(&list, c->items[i].start, c->items[i].end);
    gt_intervals_merge(&list);
    assert_int_equal(list.count, c->expected_count);
    assert_memory_equal(list.items, c->expected, list.count * sizeof *list.items);
    gt_intervals_free(&list);
}

/* Sorted, nearly sorted and in no order; gaps, overlaps, a few that cover thousands of others, and some that
 * end before they start. */
static void threads_merge_as_one(void **state)
{
    (void)state;
    static const unsigned teams[] = {1, 2, 3, 8, 16};
    static const uint32_t disorder[] = {1, 30, 5000, MANY * 10};
    gt_interval *items = malloc(MANY * sizeof *items), *expected = malloc(MANY * sizeof *expected);
    random_state = 3;
    for (size_t d = 0; d < GT_LENGTH(disorder); d++) {
        for (size_t i = 0; i < MANY; i++) {
            double start = (double)i * 10 + random_below(disorder[d]);
            double length = random_below(30000) == 0 ? 400000 : (double)random_below(12) - 1;
            items[i] = (gt_interval){start, start + length};
        }
        merge_case c = {items, expected, merge_plainly(items, MANY, expected)};
        assert_true(c.expected_count < MANY);
        for (size_t t = 0; t < GT_LENGTH(teams); t++) gt_team_run(teams[t], merge_and_compare, &c);
    }
    free(items);
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(combinations_agree_with_sets),
        cmocka_unit_test(merging_again_changes_nothing),
        cmocka_unit_test(touching_intervals_join),
        cmocka_unit_test(an_interval_inside_another_does_not_shorten_it),
        cmocka_unit_test(an_inverted_interval_keeps_its_sign),
        cmocka_unit_test(lengths_are_added_first_to_last),
        cmocka_unit_test(many_intervals_backwards),
        cmocka_unit_test(threads_merge_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
