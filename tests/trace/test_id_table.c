/* The id table with and without pages, compared with an array. */
#include "trace/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { IDS = 5000 };

/* Several ranges of ids, as in merged traces; also negative ones. */
static int64_t id_in_runs(size_t i)
{
    return (int64_t)(i % 5) * INT64_C(1000000000007) - 77 + (int64_t)(i / 5);
}

static int64_t id_scattered(size_t i)
{
    return (int64_t)((uint64_t)i * UINT64_C(0x9E3779B97F4A7C15));
}

static void hold_and_find(gt_id_table table, int64_t (*id)(size_t))
{
    for (size_t i = 0; i < IDS; i++) {
        uint32_t *row = gt_id_put(&table, id(i));
        assert_int_equal(*row, GT_ID_NONE);
        *row = (uint32_t)i;
    }
    for (size_t i = IDS; i-- > 0;) {
        assert_int_equal(gt_id_get(&table, id(i)), i);
        assert_int_equal(*gt_id_put(&table, id(i)), i);
    }
    for (size_t i = IDS; i < IDS + 100; i++) assert_int_equal(gt_id_get(&table, id(i)), GT_ID_NONE);
    gt_id_table_free(&table);
}

static size_t runs_of(int64_t (*id)(size_t))
{
    uint64_t page = UINT64_MAX;
    size_t runs = 0;
    for (size_t i = 0; i < IDS; i++) runs += gt_id_begins_page(id(i), &page);
    return runs;
}

static void close_ids_are_on_pages(void **state)
{
    (void)state;
    gt_id_table table = gt_id_table_new(IDS, IDS / 50);
    assert_non_null(table.rows);
    hold_and_find(table, id_in_runs);
    assert_int_equal(runs_of(id_in_runs), IDS); /* they alternate, each with its own page */
}

static void scattered_ids_are_not_on_pages(void **state)
{
    (void)state;
    assert_int_equal(runs_of(id_scattered), IDS);
    gt_id_table table = gt_id_table_new(IDS, runs_of(id_scattered));
    assert_null(table.rows); /* one page each would take 256 bytes per id */
    hold_and_find(table, id_scattered);
}

/* Looking up a missing page must not hide it when it is added later. */
static void a_page_may_be_added_after_a_failed_lookup(void **state)
{
    (void)state;
    gt_id_table table = gt_id_table_new(100, 1);
    assert_int_equal(gt_id_get(&table, 7), GT_ID_NONE);
    *gt_id_put(&table, 6) = 42;
    assert_int_equal(gt_id_get(&table, 6), 42);
    assert_int_equal(gt_id_get(&table, 7), GT_ID_NONE);
    gt_id_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_ids_are_on_pages),
        cmocka_unit_test(scattered_ids_are_not_on_pages),
        cmocka_unit_test(a_page_may_be_added_after_a_failed_lookup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
