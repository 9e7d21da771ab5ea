/* Matching the beginnings and ends of slices, in the orders that writers use. */
#include "input/perfetto/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

/* "b0@10 e@20": row 0 begins at 10, an end at 20; x is an unwanted slice; t1 switches to track 1. */
static void check(const char *edges, size_t rows, const int64_t *expected)
{
    gt_slices *slices = gt_slices_new();
    unsigned track = 0, row;
    long long time;
    for (const char *at = edges; *at;) {
        int len = 0;
        if (sscanf(at, " t%u%n", &track, &len) == 1) {
        } else if (sscanf(at, " b%u@%lld%n", &row, &time, &len) == 2) {
            gt_slices_begin(slices, track, time, row);
        } else if (sscanf(at, " x@%lld%n", &time, &len) == 1) {
            gt_slices_begin(slices, track, time, GT_SLICE_UNWANTED);
        } else if (sscanf(at, " e@%lld%n", &time, &len) == 1) {
            gt_slices_end(slices, track, time);
        } else {
            fail_msg("what is %s?", at);
        }
        at += len;
    }
    const int64_t *durations = gt_slices_finish(slices, rows);
    for (size_t i = 0; i < rows; i++)
        if (durations[i] != expected[i])
            fail_msg("%s: row %zu lasts %lld, not %lld", edges, i, (long long)durations[i],
                     (long long)expected[i]);
    gt_slices_free(slices);
}

#define CHECK(edges, ...)                                                                                    \
    check(edges, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static void ends_follow_their_beginnings(void **state)
{
    (void)state;
    CHECK("b0@10 e@20 b1@5 e@7 b2@7 e@7", 10, 2, 0);
    CHECK("t3 b0@10 t4 b1@11 t3 e@15 t4 e@31", 5, 20);
}

static void slices_are_nested(void **state)
{
    (void)state;
    CHECK("b0@0 b1@10 b2@20 e@30 e@40 e@100", 100, 30, 10);
    CHECK("b0@0 b1@10 e@20 b2@20 e@30 e@100", 100, 10, 10);
    CHECK("b0@0 x@10 e@20 b1@30 e@40 e@100", 100, 10);
}

/* All beginnings, then all ends in the same order: nested, consecutive, overlapping. */
static void separate_lists_match_by_position(void **state)
{
    (void)state;
    CHECK("b0@0 b1@10 b2@120 e@100 e@20 e@130", 100, 10, 10);
    CHECK("b0@0 b1@10 b2@20 e@10 e@20 e@30", 10, 10, 10);
    CHECK("b0@0 b1@5 b2@40 e@10 e@15 e@50", 10, 10, 10);
    CHECK("b0@0 b1@10 b2@20 e@10 e@10 e@30", 10, 0, 10);
}

/* Nested slices whose ends come separately, not ordered by time. */
static void others_are_sorted(void **state)
{
    (void)state;
    CHECK("b0@50 b1@0 e@60 b2@70 e@80 e@100", 10, 100, 10);
    CHECK("b1@10 b0@0 e@30 b2@20 e@40 e@50", 50, 30, 10);
}

/* If one slice ends when another begins, the end comes first, unless the slice has zero length. */
static void ends_come_before_beginnings(void **state)
{
    (void)state;
    CHECK("b0@20 b1@10 e@20 b2@0 e@30 e@10", 10, 10, 10);
    CHECK("b0@0 b1@10 e@10 e@20", 20, 0);
}

static void unmatched_slices_stay_open(void **state)
{
    (void)state;
    CHECK("b0@10 b1@20 e@30", GT_SLICE_OPEN, 10);
    CHECK("e@5 b0@10 e@20 b1@30 e@35", 10, 5);
    CHECK("b0@10 e@5", GT_SLICE_OPEN);
    CHECK("e@5 e@6 b0@9", GT_SLICE_OPEN);
}

static void durations_may_be_known(void **state)
{
    (void)state;
    gt_slices *slices = gt_slices_new();
    gt_slices_complete(slices, 1, 77);
    gt_slices_complete(slices, GT_SLICE_UNWANTED, 5);
    gt_slices_begin(slices, 0, INT64_MIN, 2);
    gt_slices_end(slices, 0, INT64_MAX); /* does not fit */
    const int64_t *durations = gt_slices_finish(slices, 4);
    assert_int_equal(durations[0], GT_SLICE_OPEN);
    assert_int_equal(durations[1], 77);
    assert_int_equal(durations[2], GT_SLICE_OPEN);
    assert_int_equal(durations[3], GT_SLICE_OPEN);
    gt_slices_free(slices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_follow_their_beginnings),     cmocka_unit_test(slices_are_nested),
        cmocka_unit_test(separate_lists_match_by_position), cmocka_unit_test(others_are_sorted),
        cmocka_unit_test(ends_come_before_beginnings),      cmocka_unit_test(unmatched_slices_stay_open),
        cmocka_unit_test(durations_may_be_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
