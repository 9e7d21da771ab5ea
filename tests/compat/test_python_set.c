/* The iteration order of a Python set, compared with that of CPython 3.11 after the same operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compat/python_set.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Slots hold the value + 2; 0 and 1 mean no value. */
static void expect_order(const gt_python_set *set, const uint32_t *expected, size_t count)
{
    size_t next = 0;
    assert_int_equal(set->used, count);
    for (size_t i = 0; i <= set->mask; i++) {
        if (set->slots[i] < 2) continue;
        assert_in_range(next, 0, count - 1);
        assert_int_equal(set->slots[i] - 2, expected[next]);
        assert_int_equal(gt_python_set_slot(set, expected[next]), i);
        next++;
    }
    assert_int_equal(next, count);
}

#define EXPECT(set, ...)                                                                                     \
    expect_order(set, (const uint32_t[]){__VA_ARGS__}, LENGTH(((const uint32_t[]){__VA_ARGS__})))

static void values_are_in_the_order_of_cpython(void **unused)
{
    (void)unused;
    gt_python_set set = {0};
    gt_python_set_discard(&set, 5); /* from an empty set */
    gt_python_set_add(&set, 1003);
    gt_python_set_add(&set, 998);
    EXPECT(&set, 1003, 998);

    gt_python_set_clear(&set);
    assert_int_equal(set.used, 0);
    static const uint32_t colliding[] = {8, 16, 24, 0, 32};
    for (size_t i = 0; i < LENGTH(colliding); i++) gt_python_set_add(&set, colliding[i]);
    gt_python_set_add(&set, 24); /* adding it again changes nothing */
    EXPECT(&set, 32, 0, 8, 16, 24);
    gt_python_set_discard(&set, 16);
    gt_python_set_discard(&set, 17);
    gt_python_set_add(&set, 40); /* into the freed slot */
    EXPECT(&set, 32, 0, 8, 40, 24);
    for (uint32_t value = 100; value > 40; value -= 7) gt_python_set_add(&set, value);
    EXPECT(&set, 32, 0, 65, 100, 8, 40, 72, 44, 79, 51, 86, 24, 58, 93);
    gt_python_set_free(&set);
}

static uint32_t next_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Steps: v = next % bound * factor; next % 100 < keep ? s.add(v) : s.discard(v). `order`: for v in s: h = h *
 * 1000003 + v. */
static const struct {
    uint64_t seed;
    size_t steps;
    uint32_t bound, keep, factor;
    size_t count;
    uint64_t order;
} runs[] = {
    {1, 50, 40, 70, 1, 21, 8255900949939469657u},
    {2, 2000, 500, 60, 1, 290, 17427007589558586389u},
    {3, 200000, 4000, 55, 1, 2234, 8646290173172214432u},
    {4, 100000, 2147483648, 80, 1, 80208, 3156789492477080662u},
    {5, 5000, 300, 50, 65536, 152, 14492780216996069376u},
    {6, 3000, 1000, 90, 32, 855, 3509815246556136256u},
    {7, 300000, 200000, 95, 7, 147306, 6274165990052350118u},
};

static void long_histories_end_in_pythons_order(void **unused)
{
    (void)unused;
    gt_python_set set = {0};
    for (size_t r = 0; r < LENGTH(runs); r++) {
        uint64_t state = runs[r].seed, order = 0;
        gt_python_set_clear(&set);
        for (size_t i = 0; i < runs[r].steps; i++) {
            uint32_t value = next_number(&state) % runs[r].bound * runs[r].factor;
            if (next_number(&state) % 100 < runs[r].keep)
                gt_python_set_add(&set, value);
            else
                gt_python_set_discard(&set, value);
        }
        assert_int_equal(set.used, runs[r].count);
        for (size_t i = 0; i <= set.mask; i++)
            if (set.slots[i] >= 2) order = order * 1000003 + (set.slots[i] - 2);
        assert_true(order == runs[r].order);
    }
    gt_python_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_in_the_order_of_cpython),
        cmocka_unit_test(long_histories_end_in_pythons_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
