/* Sharing out files: the largest first, small ones in batches, each once, and slow ones a second time. */
#include "procs/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MB = 1 << 20 };

static void gives_the_largest_first(void **state)
{
    (void)state;
    const uint64_t bytes[] = {10 * MB, 40 * MB, 20 * MB, 30 * MB};
    uint32_t files[GT_SHARE_BATCH_MAX];
    const uint32_t expected[] = {1, 3, 2, 0};
    gt_share *share = gt_share_new(bytes, NULL, 4, 2);
    for (size_t i = 0; i < 4; i++) {
        assert_false(gt_share_is_empty(share));
        assert_int_equal(gt_share_give(share, i % 2, 0, files), 1);
        assert_int_equal(files[0], expected[i]);
    }
    assert_true(gt_share_is_empty(share));
    assert_int_equal(gt_share_give(share, 0, 0, files), 0);
    assert_false(gt_share_is_over(share));
    for (uint32_t i = 0; i < 4; i++) assert_true(gt_share_done(share, i % 2, i, true, 1));
    assert_true(gt_share_is_over(share));
    gt_share_free(share);
}

static void gives_every_file_once(void **state)
{
    (void)state;
    enum { COUNT = 1000, PROCESSES = 7 };
    static uint64_t bytes[COUNT];
    static unsigned given[COUNT];
    uint32_t files[GT_SHARE_BATCH_MAX];
    for (size_t i = 0; i < COUNT; i++) bytes[i] = (i * 7919) % 5000;
    gt_share *share = gt_share_new(bytes, NULL, COUNT, PROCESSES);
    size_t batches = 0, largest = 0, last = 0, count;
    for (size_t process = 0; (count = gt_share_give(share, process % PROCESSES, 0, files)) > 0; process++) {
        batches++;
        last = count;
        if (count > largest) largest = count;
        for (size_t i = 0; i < count; i++) {
            given[files[i]]++;
            gt_share_done(share, process % PROCESSES, files[i], true, 0.001);
        }
    }
    for (size_t i = 0; i < COUNT; i++) assert_int_equal(given[i], 1);
    assert_true(gt_share_is_over(share));
    assert_int_equal(gt_share_done_count(share), COUNT);
    assert_in_range(largest, 8, GT_SHARE_BATCH_MAX); /* small files do not need a message each */
    assert_int_equal(last, 1);                       /* but the last processes end at the same time */
    assert_in_range(batches, COUNT / GT_SHARE_BATCH_MAX, COUNT / 2);
    gt_share_free(share);
}

/* 200 files for 16 threads: whoever asks first gets a quarter of its share, whether the others are there or
 * not. */
static void leaves_their_share_to_those_who_come_later(void **state)
{
    (void)state;
    enum { COUNT = 200, THREADS = 16 };
    static uint64_t bytes[COUNT];
    uint32_t files[GT_SHARE_BATCH_MAX];
    for (size_t i = 0; i < COUNT; i++) bytes[i] = 40 * MB;
    gt_share *share = gt_share_new(bytes, NULL, COUNT, THREADS);
    assert_int_equal(gt_share_give(share, 0, 0, files), COUNT / THREADS / 4);
    gt_share_set_threads(share, 2); /* the others have fewer threads than process 0 */
    assert_int_equal(gt_share_give(share, 1, 0, files), (COUNT - COUNT / THREADS / 4) / 2 / 4);
    gt_share_free(share);
}

static void skips_what_is_done(void **state)
{
    (void)state;
    const uint64_t bytes[] = {MB, MB, MB};
    const bool is_done[] = {true, false, true};
    uint32_t files[GT_SHARE_BATCH_MAX];
    gt_share *share = gt_share_new(bytes, is_done, 3, 1);
    assert_int_equal(gt_share_give(share, 0, 0, files), 1);
    assert_int_equal(files[0], 1);
    gt_share_done(share, 0, 1, true, 1);
    assert_true(gt_share_is_over(share));
    gt_share_free(share);
    const bool all[] = {true, true, true};
    share = gt_share_new(bytes, all, 3, 1);
    assert_true(gt_share_is_over(share));
    assert_int_equal(gt_share_give(share, 0, 0, files), 0);
    gt_share_free(share);
    share = gt_share_new(bytes, NULL, 0, 1);
    assert_true(gt_share_is_over(share));
    gt_share_free(share);
}

/* Two files of 100 MB: the first takes 10 s, so the second one is slow after 5 + 3 * 10 s. */
static void gives_slow_files_again(void **state)
{
    (void)state;
    const uint64_t bytes[] = {100 * MB, 100 * MB, 100 * MB};
    uint32_t files[GT_SHARE_BATCH_MAX];
    gt_share_slow slow;
    gt_share *share = gt_share_new(bytes, NULL, 3, 3);
    assert_int_equal(gt_share_give(share, 0, 0, files), 1);
    assert_int_equal(files[0], 0);
    assert_true(gt_share_done(share, 0, 0, true, 10));
    assert_int_equal(gt_share_give(share, 1, 10, files), 1);
    assert_int_equal(files[0], 1);
    assert_int_equal(gt_share_give(share, 2, 12, files), 1);
    assert_int_equal(gt_share_give(share, 0, 40, files), 0); /* process 1 has had it for 30 s */
    assert_true(gt_share_slowest(share, 40, &slow));
    assert_int_equal(slow.file, 1);
    assert_int_equal(slow.process, 1);
    assert_int_equal((int)slow.seconds, 30);
    assert_int_equal(gt_share_give(share, 1, 45.5, files), 0); /* not to the process that has it */
    assert_int_equal(gt_share_give(share, 0, 45.5, files), 1);
    assert_int_equal(files[0], 1);
    assert_int_equal(gt_share_give(share, 0, 46, files), 0); /* twice is enough */
    assert_true(gt_share_done(share, 0, 1, true, 50));
    assert_false(gt_share_done(share, 1, 1, true, 51)); /* too late */
    assert_true(gt_share_done(share, 2, 2, true, 52));
    assert_true(gt_share_is_over(share));
    assert_false(gt_share_slowest(share, 60, &slow));
    gt_share_free(share);
}

/* The first files are given out when nothing is known about their speed. */
static void learns_what_is_slow(void **state)
{
    (void)state;
    const uint64_t bytes[] = {100 * MB, 100 * MB};
    uint32_t files[GT_SHARE_BATCH_MAX];
    gt_share *share = gt_share_new(bytes, NULL, 2, 2);
    assert_int_equal(gt_share_give(share, 0, 0, files), 1);
    assert_int_equal(gt_share_give(share, 1, 0, files), 1);
    assert_int_equal(gt_share_give(share, 1, 30, files), 0);
    assert_true(gt_share_done(share, 0, 0, true, 1)); /* it takes 1 s, so more than 8 s are slow */
    assert_int_equal(gt_share_give(share, 0, 7.9, files), 0);
    assert_int_equal(gt_share_give(share, 0, 8.1, files), 1);
    assert_int_equal(files[0], 1);
    gt_share_free(share);
}

/* After a result that ends the work, files after it are not needed, and those before it are. */
static void ends_early(void **state)
{
    (void)state;
    const uint64_t bytes[] = {MB, 2 * MB, 3 * MB, 4 * MB};
    uint32_t files[GT_SHARE_BATCH_MAX];
    gt_share *share = gt_share_new(bytes, NULL, 4, 2);
    assert_int_equal(gt_share_give(share, 0, 0, files), 1);
    assert_int_equal(files[0], 3);
    assert_int_equal(gt_share_give(share, 1, 0, files), 1);
    assert_int_equal(files[0], 2);
    gt_share_done(share, 1, 2, false, 1);
    assert_int_equal(gt_share_give(share, 1, 1, files), 1);
    assert_int_equal(files[0], 1);
    assert_int_equal(gt_share_give(share, 1, 1, files), 1);
    assert_int_equal(files[0], 0);
    gt_share_done(share, 1, 1, true, 2);
    assert_false(gt_share_is_over(share));
    gt_share_done(share, 1, 0, true, 3);
    assert_true(gt_share_is_over(share)); /* process 0 still works on file 3 */
    assert_false(gt_share_done(share, 0, 77, true, 3));
    gt_share_free(share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_largest_first),
        cmocka_unit_test(gives_every_file_once),
        cmocka_unit_test(leaves_their_share_to_those_who_come_later),
        cmocka_unit_test(skips_what_is_done),
        cmocka_unit_test(gives_slow_files_again),
        cmocka_unit_test(learns_what_is_slow),
        cmocka_unit_test(ends_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
