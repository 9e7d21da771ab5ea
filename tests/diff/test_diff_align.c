/* The alignment of two lists, compared with a full table of costs, and its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/diff/internal.h"
#include "base/memory.h"

static uint16_t smallest(int a, int b, int c)
{
    int least = a < b ? a : b;
    return (uint16_t)(least < c ? least : c);
}

/* Wagner and Fischer's table, and the way back through it as diff_align.h describes it; from the end to the
 * front. */
static gt_diff_ops plain(const uint32_t *first, size_t m, const uint32_t *second, size_t n)
{
    size_t width = n + 1;
    uint16_t *cost = gt_alloc((m + 1) * width * sizeof *cost);
    for (size_t i = 0; i <= m; i++)
        for (size_t j = 0; j <= n; j++)
            cost[i * width + j] =
                !i || !j ? (uint16_t)(i + j)
                         : smallest(cost[(i - 1) * width + j] + 1, cost[i * width + j - 1] + 1,
                                    cost[(i - 1) * width + j - 1] + (first[i - 1] != second[j - 1]));
    gt_diff_ops ops = {0};
    for (size_t i = m, j = n; i || j;) {
        gt_diff_op op = {GT_NO_INDEX, GT_NO_INDEX};
        if (i && j && first[i - 1] == second[j - 1]) {
            op = (gt_diff_op){(uint32_t)--i, (uint32_t)--j};
        } else if (i && (!j || cost[i * width + j] == cost[(i - 1) * width + j] + 1)) {
            op.i = (uint32_t)--i;
        } else {
            op.j = (uint32_t)--j;
        }
        GT_PUSH(ops.items, ops.count, ops.capacity, op);
    }
    free(cost);
    return ops;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static uint32_t *random_list(uint32_t *state, size_t count, uint32_t kinds)
{
    uint32_t *list = gt_alloc(count * sizeof *list);
    for (size_t i = 0; i < count; i++) list[i] = 2 + next_random(state) % kinds;
    return list;
}

static void expect_plain(uint64_t *cells_left, const uint32_t *first, size_t m, const uint32_t *second,
                         size_t n)
{
    gt_diff_ops ops = {0}, expected = plain(first, m, second, n);
    assert_true(gt_align(cells_left, first, m, second, n, &ops));
    assert_int_equal(ops.count, expected.count);
    for (size_t k = 0; k < ops.count; k++) {
        assert_int_equal(ops.items[k].i, expected.items[ops.count - 1 - k].i);
        assert_int_equal(ops.items[k].j, expected.items[ops.count - 1 - k].j);
    }
    free(ops.items);
    free(expected.items);
}

static void short_lists(void **state)
{
    (void)state;
    uint32_t seed = 1;
    uint64_t cells_left = UINT64_MAX;
    for (int round = 0; round < 4000; round++) {
        size_t m = next_random(&seed) % 12, n = next_random(&seed) % 12;
        uint32_t kinds = 1 + next_random(&seed) % 5;
        uint32_t *first = random_list(&seed, m, kinds), *second = random_list(&seed, n, kinds);
        expect_plain(&cells_left, first, m, second, n);
        free(first);
        free(second);
    }
}

/* More rows than bits in a word; frequent and rare items. */
static void long_lists(void **state)
{
    (void)state;
    uint32_t seed = 2;
    uint64_t cells_left = UINT64_MAX;
    static const uint32_t kinds[] = {2, 3, 40, 1000};
    for (size_t round = 0; round < 40; round++) {
        size_t m = 1 + next_random(&seed) % 400, n = 1 + next_random(&seed) % 400;
        uint32_t *first = random_list(&seed, m, kinds[round % 4]),
                 *second = random_list(&seed, n, kinds[round % 4]);
        expect_plain(&cells_left, first, m, second, n);
        free(first);
        free(second);
    }
}

/* One list is the other with a few changes: the usual case. */
static void changed_lists(void **state)
{
    (void)state;
    uint32_t seed = 3;
    uint64_t cells_left = UINT64_MAX;
    for (int round = 0; round < 200; round++) {
        size_t m = 200, n = 0;
        uint32_t *first = random_list(&seed, m, 6), second[400];
        for (size_t i = 0; i < m; i++) {
            uint32_t change = next_random(&seed) % 20;
            if (change == 0) continue;
            second[n++] = change == 1 ? 1 : first[i];
            if (change == 2) second[n++] = first[next_random(&seed) % m];
        }
        expect_plain(&cells_left, first, m, second, n);
        free(first);
    }
}

/* Enough columns to be computed in blocks: over 2^20 words. */
static void blocks(void **state)
{
    (void)state;
    uint32_t seed = 4;
    size_t m = 8000, n = 9000;
    uint64_t cells_left = UINT64_MAX;
    uint32_t *first = random_list(&seed, m, 30), *second = random_list(&seed, n, 30);
    first[0] = 100;
    first[m - 1] = 101;
    expect_plain(&cells_left, first, m, second, n);
    free(first);
    free(second);
}

/* Deletions and insertions that depend on ties, computed by hand: "ab" and "bc". */
static void by_hand(void **state)
{
    (void)state;
    uint64_t cells_left = 100;
    gt_diff_ops ops = {0};
    assert_true(gt_align(&cells_left, (uint32_t[]){10, 11}, 2, (uint32_t[]){11, 12}, 2, &ops));
    static const gt_diff_op expected[] = {{0, GT_NO_INDEX}, {1, 0}, {GT_NO_INDEX, 1}};
    assert_int_equal(ops.count, 3);
    assert_memory_equal(ops.items, expected, sizeof expected);
    assert_int_equal(cells_left, 96);
    free(ops.items);
}

/* A common beginning and end cost nothing; oversized lists are rejected. */
static void limits(void **state)
{
    (void)state;
    uint64_t cells_left = 3;
    gt_diff_ops ops = {0};
    assert_true(gt_align(&cells_left, (uint32_t[]){5, 6, 7, 8}, 4, (uint32_t[]){5, 9, 8}, 3, &ops));
    assert_int_equal(cells_left, 1);
    assert_true(gt_align(&cells_left, (uint32_t[]){5, 6, 7, 8}, 4, (uint32_t[]){5, 8}, 2, &ops));
    assert_int_equal(cells_left, 1);
    assert_false(gt_align(&cells_left, (uint32_t[]){5, 6}, 2, (uint32_t[]){7}, 1, &ops));
    free(ops.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_lists), cmocka_unit_test(long_lists), cmocka_unit_test(changed_lists),
        cmocka_unit_test(blocks),      cmocka_unit_test(by_hand),    cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
