/* The nearest events above that are not passed over, compared with walking up from each event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/team.h"
#include "trace/ancestors.h"

#include <string.h>

static const unsigned thread_counts[] = {1, 2, 3, 8, 16};

static uint64_t seed;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % limit);
}

typedef struct forest {
    uint32_t *parent;
    uint8_t *passed;
    size_t count;
    gt_ancestors found;
} forest;

static bool is_passed(const void *context, uint32_t row)
{
    return ((const forest *)context)->passed[row];
}

static void find(void *context)
{
    forest *f = context;
    f->found = gt_ancestors_find(f->parent, f->count, is_passed, f);
}

/* The parents of the i-th of some rows in any order are among those before it, so that there are no cycles.
 * `near`: how far before at most. */
static forest random_forest(uint32_t count, uint32_t near, uint32_t passed_of_ten)
{
    forest f = {gt_alloc(count * sizeof *f.parent), gt_alloc(count), count, {{0}, NULL}};
    uint32_t *rows = gt_alloc(count * sizeof *rows);
    for (uint32_t i = 0; i < count; i++) rows[i] = i;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = i + random_below(count - i), row = rows[other];
        rows[other] = rows[i];
        rows[i] = row;
        f.parent[row] = GT_NO_ANCESTOR;
        f.passed[row] = random_below(10) < passed_of_ten;
        if (i && random_below(20)) f.parent[row] = rows[i - 1 - random_below(i < near ? i : near)];
    }
    gt_free(rows);
    return f;
}

static void forest_free(forest *f)
{
    gt_ancestors_free(&f->found);
    gt_free(f->parent);
    gt_free(f->passed);
}

static void they_are_those_of_a_walk(void **unused)
{
    (void)unused;
    static const uint32_t sizes[] = {1, 2, 64, 65, 300, 40000}, nears[] = {1, 3, 1000};
    seed = 21;
    for (size_t i = 0; i < GT_LENGTH(sizes) * GT_LENGTH(nears) * 11; i++) {
        uint32_t size = sizes[i / 11 % GT_LENGTH(sizes)];
        forest f = random_forest(size, nears[i / 11 / GT_LENGTH(sizes)], (uint32_t)(i % 11));
        gt_team_run(thread_counts[i % GT_LENGTH(thread_counts)], find, &f);
        for (uint32_t row = 0; row < size; row++) {
            uint32_t up = f.parent[row];
            while (up != GT_NO_ANCESTOR && f.passed[up]) up = f.parent[up];
            assert_int_equal(gt_ancestor_of(&f.found, f.parent, row), up);
        }
        forest_free(&f);
    }
}

/* One chain whose last row in the file is the root: a walk from every row would take a minute. */
static void deep_chains_take_no_longer(void **unused)
{
    (void)unused;
    enum { ROWS = 500000 };
    forest f = {gt_alloc(ROWS * sizeof *f.parent), gt_alloc(ROWS), ROWS, {{0}, NULL}};
    for (uint32_t row = 0; row < ROWS; row++) f.parent[row] = row + 1 < ROWS ? row + 1 : GT_NO_ANCESTOR;
    for (int rooted = 0; rooted < 2; rooted++)
        for (size_t i = 0; i < GT_LENGTH(thread_counts); i++) {
            memset(f.passed, 1, ROWS);
            if (rooted) f.passed[ROWS - 1] = 0;
            gt_team_run(thread_counts[i], find, &f);
            for (uint32_t row = 0; row + 1 < ROWS; row++)
                assert_true(gt_ancestor_of(&f.found, f.parent, row) == (rooted ? ROWS - 1 : GT_NO_ANCESTOR));
            assert_true(gt_ancestor_of(&f.found, f.parent, ROWS - 1) == GT_NO_ANCESTOR);
            gt_ancestors_free(&f.found);
        }
    forest_free(&f);
}

static void nothing_is_kept_if_nothing_is_passed(void **unused)
{
    (void)unused;
    uint32_t parent[] = {GT_NO_ANCESTOR, 0, 1, 1};
    uint8_t passed[] = {0, 0, 1, 1}; /* these have nothing below them */
    forest f = {parent, passed, GT_LENGTH(parent), {{0}, NULL}};
    find(&f);
    assert_null(f.found.above);
    assert_null(f.found.passed.bits);
    assert_int_equal(gt_ancestor_of(&f.found, parent, 0), GT_NO_ANCESTOR);
    assert_int_equal(gt_ancestor_of(&f.found, parent, 3), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_those_of_a_walk),
        cmocka_unit_test(deep_chains_take_no_longer),
        cmocka_unit_test(nothing_is_kept_if_nothing_is_passed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
