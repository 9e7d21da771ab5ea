/* Slots of ids: each id has its own, whether ids are close together, in ranges far apart or scattered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/memory.h"
#include "trace/id_slots.h"

enum { IDS = 5000 };

static int64_t id_in_one_range(size_t i)
{
    return 5559548 + 3 * (int64_t)i;
}

/* Copies of a trace one after the other: gaps that a directory still spans. */
static int64_t id_with_gaps(size_t i)
{
    return (int64_t)(i / 500) * 60000 + 14 * (int64_t)(i % 500);
}

/* Several ranges of ids, as in merged traces; also negative ones. Neighbouring items are in other ranges. */
static int64_t id_in_ranges(size_t i)
{
    return (int64_t)(i % 5) * INT64_C(1000000000007) - 77 + (int64_t)(i / 5);
}

static int64_t id_scattered(size_t i)
{
    return (int64_t)((uint64_t)i * UINT64_C(0x9E3779B97F4A7C15));
}

typedef int64_t id_of(size_t item);

/* Every third item has no id. */
static size_t ids_of(const void *context, size_t begin, size_t end, int64_t *ids)
{
    id_of *const *id = context;
    size_t count = 0;
    assert_in_range(end - begin, 1, GT_ID_BATCH);
    for (size_t i = begin; i < end; i++)
        if (i % 3) ids[count++] = (*id)(i);
    return count;
}

/* Each id has a slot of its own, and there are no others. */
static void expect_slots(id_of *id, bool directory)
{
    gt_id_slots slots = gt_id_slots_new(IDS, ids_of, &id);
    assert_int_equal(slots.directory != NULL, directory);
    assert_int_equal(slots.count, IDS - (IDS + 2) / 3);
    uint8_t *used = gt_alloc_zero(slots.count, 1);
    for (size_t i = 0; i < IDS; i++) {
        uint32_t slot = gt_id_slot(&slots, id(i));
        if (i % 3 == 0) { /* its neighbours have a page, but it has no slot */
            assert_int_equal(slot, GT_NO_SLOT);
            continue;
        }
        assert_true(slot < slots.count);
        assert_false(used[slot]);
        used[slot] = 1;
    }
    for (size_t i = 10 * IDS; i < 10 * IDS + 100; i++)
        assert_int_equal(gt_id_slot(&slots, id(i)), GT_NO_SLOT);
    gt_free(used);
    gt_id_slots_free(&slots);
}

static void close_ids_are_found_by_a_directory(void **unused)
{
    (void)unused;
    expect_slots(id_in_one_range, true);
    expect_slots(id_with_gaps, true);
}

static void distant_ids_are_found_by_a_map(void **unused)
{
    (void)unused;
    expect_slots(id_in_ranges, false);
    expect_slots(id_scattered, false);
}

static void bits_are_counted(void **unused)
{
    (void)unused;
    assert_int_equal(gt_count_bits(0), 0);
    assert_int_equal(gt_count_bits(UINT64_MAX), 64);
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(gt_count_bits(UINT64_C(1) << i), 1);
        assert_int_equal(gt_count_bits((UINT64_C(1) << i) - 1), i);
    }
}

static void no_ids_have_no_slots(void **unused)
{
    (void)unused;
    gt_id_slots slots = gt_id_slots_new(0, ids_of, NULL);
    assert_int_equal(slots.count, 0);
    assert_int_equal(gt_id_slot(&slots, 0), GT_NO_SLOT);
    gt_id_slots_free(&slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_ids_are_found_by_a_directory),
        cmocka_unit_test(distant_ids_are_found_by_a_map),
        cmocka_unit_test(bits_are_counted),
        cmocka_unit_test(no_ids_have_no_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
