/* Sets of rows and the ranks of their members, compared with counting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "trace/rows.h"

static void check(uint32_t rows, uint32_t step)
{
    gt_row_set set = gt_row_set_new(rows);
    uint32_t members = 0;
    for (uint32_t row = 0; row < rows; row += step)
        row % 2 ? gt_row_set_add(&set, row) : gt_row_set_add_shared(&set, row);
    size_t count = gt_row_set_finish(&set);
    for (uint32_t row = 0; row < rows; row++) {
        assert_int_equal(gt_row_set_below(&set, row), members);
        assert_int_equal(gt_row_set_has(&set, row), row % step == 0);
        assert_int_equal(gt_row_set_rank(&set, row), row % step ? GT_NO_RANK : members++);
    }
    assert_int_equal(gt_row_set_below(&set, rows), members);
    assert_int_equal(count, members);
    gt_row_set_free(&set);
}

static void test_ranks(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 1, 63, 64, 65, 1000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check(sizes[i], 1);
        check(sizes[i], 3);
        check(sizes[i], 200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
