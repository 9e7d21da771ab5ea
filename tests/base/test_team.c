/* Loops that a team shares: each index is done once, whatever the number of threads, also in loops inside
 * loops, and a failure ends the call after all threads have stopped. */
#include "base/team.h"
#include "base/guard.h"
#include "base/memory.h"
#include "base/repeats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { PIECES = 1000, INNER = 50 };

static const unsigned sizes[] = {1, 2, 3, 8, 16};

typedef struct counts {
    size_t pieces, grain;
    atomic_int done[PIECES];
} counts;

static void count_one(void *context, size_t index)
{
    atomic_fetch_add(&((counts *)context)->done[index], 1);
}

static void count_range(void *context, size_t begin, size_t end)
{
    counts *c = context;
    assert_true(begin < end && end <= c->pieces);
    assert_true(begin % c->grain == 0 && (end == c->pieces || end - begin == c->grain));
    for (size_t i = begin; i < end; i++) count_one(c, i);
}

static void share_pieces(void *context)
{
    counts *c = context;
    gt_parallel_each(c->pieces, count_one, c);
}

static void share_ranges(void *context)
{
    counts *c = context;
    gt_parallel_ranges(c->pieces, c->grain, count_range, c);
}

static void check_once(const counts *c)
{
    for (size_t i = 0; i < PIECES; i++) assert_int_equal(atomic_load(&c->done[i]), i < c->pieces);
}

static void each_index_is_done_once(void **state)
{
    (void)state;
    static const size_t pieces[] = {0, 1, 2, 3, PIECES};
    for (size_t p = 0; p < GT_LENGTH(pieces); p++)
        for (size_t s = 0; s < GT_LENGTH(sizes); s++) {
            counts c = {.pieces = pieces[p]};
            gt_team_run(sizes[s], share_pieces, &c);
            check_once(&c);
        }
}

/* The threads of this process, from the system. */
static unsigned running_threads(void)
{
    char line[256];
    unsigned threads = 0;
    FILE *file = fopen("/proc/self/status", "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) && sscanf(line, "Threads: %u", &threads) != 1) continue;
    fclose(file);
    return threads;
}

static void start_early(void *context)
{
    unsigned before = running_threads();
    gt_team_start();
    assert_int_equal(running_threads(), before + gt_team_threads() - 1);
    gt_team_start(); /* once is enough */
    share_pieces(context);
    assert_int_equal(running_threads(), before + gt_team_threads() - 1);
}

static void threads_can_be_started_before_a_loop(void **state)
{
    (void)state;
    gt_team_start(); /* of no team */
    for (size_t s = 0; s < GT_LENGTH(sizes); s++) {
        counts c = {.pieces = PIECES};
        gt_team_run(sizes[s], start_early, &c);
        check_once(&c);
    }
}

static void ranges_cover_all_items(void **state)
{
    (void)state;
    static const size_t pieces[] = {0, 1, 99, 100, 101, PIECES}, grains[] = {1, 7, 100, 5000};
    for (size_t p = 0; p < GT_LENGTH(pieces); p++)
        for (size_t g = 0; g < GT_LENGTH(grains); g++)
            for (size_t s = 0; s < GT_LENGTH(sizes); s++) {
                counts c = {.pieces = pieces[p], .grain = grains[g]};
                gt_team_run(sizes[s], share_ranges, &c);
                check_once(&c);
                assert_int_equal(gt_range_count(c.pieces, c.grain), (c.pieces + c.grain - 1) / c.grain);
            }
}

static void without_a_team_the_caller_does_all(void **state)
{
    (void)state;
    counts c = {.pieces = PIECES};
    assert_int_equal(gt_team_threads(), 1);
    share_pieces(&c);
    check_once(&c);
}

/* ---- loops inside loops ---- */

typedef struct nested {
    counts inner[INNER];
} nested;

static void share_inner(void *context, size_t index)
{
    counts *c = &((nested *)context)->inner[index];
    c->pieces = PIECES - index;
    gt_parallel_each(c->pieces, count_one, c);
    check_once(c); /* all of it is done when the inner loop returns */
}

static void share_outer(void *context)
{
    gt_parallel_each(INNER, share_inner, context);
}

static void loops_may_be_inside_loops(void **state)
{
    (void)state;
    for (size_t s = 0; s < GT_LENGTH(sizes); s++) {
        nested *n = gt_alloc_zero(1, sizeof *n);
        gt_team_run(sizes[s], share_outer, n);
        for (size_t i = 0; i < INNER; i++) check_once(&n->inner[i]);
        gt_free(n);
    }
}

static void count_threads(void *context)
{
    *(unsigned *)context = gt_team_threads();
}

static void begin_inner_team(void *context)
{
    gt_team_run(7, count_threads, context);
}

static void a_team_inside_a_team_is_the_outer_one(void **state)
{
    (void)state;
    unsigned threads = 0;
    gt_team_run(3, begin_inner_team, &threads);
    assert_int_equal(threads, 3);
    assert_int_equal(gt_team_threads(), 1);
}

/* ---- is there work for all threads? ---- */

typedef struct looks {
    atomic_uint in_loop, busy, busy_at_end, inner_busy;
    unsigned threads;
} looks;

static void look_inside(void *context, size_t index)
{
    looks *l = context;
    (void)index;
    l->inner_busy += gt_team_is_busy();
}

/* The loops inside are done by one thread, so that they have nothing left at their last index. */
static void look_around(void *context, size_t index)
{
    looks *l = context;
    l->in_loop += gt_team_is_in_loop();
    l->busy += gt_team_is_busy();
    if (index + 1 == PIECES) l->busy_at_end += gt_team_is_busy();
    if (index == 0) gt_parallel_each(1, look_inside, context);
}

static void share_looks(void *context)
{
    looks *l = context;
    l->threads = gt_team_threads();
    assert_false(gt_team_is_in_loop() || gt_team_is_busy());
    gt_parallel_each(PIECES, look_around, context);
    assert_false(gt_team_is_in_loop() || gt_team_is_busy());
}

/* Until the last indexes have begun; also in a loop inside. */
static void a_loop_with_many_indexes_left_is_busy(void **state)
{
    (void)state;
    looks l = {0};
    gt_team_run(3, share_looks, &l);
    assert_int_equal(l.threads, 3);
    assert_int_equal(l.in_loop, PIECES);
    assert_in_range(l.busy, 1, PIECES - 3);
    assert_int_equal(l.busy_at_end, 0);
    assert_int_equal(l.inner_busy, 1);
    assert_false(gt_team_is_in_loop() || gt_team_is_busy());
}

/* ---- all threads work ---- */

typedef struct meeting {
    unsigned expected;
    atomic_uint present;
    atomic_uint met; /* those who saw all of them */
} meeting;

/* Waits until all have come, which needs as many threads; gives up after a long time. */
static void meet(void *context, size_t index)
{
    (void)index;
    meeting *m = context;
    atomic_fetch_add(&m->present, 1);
    for (int i = 0; i < 5000 && atomic_load(&m->present) < m->expected; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (atomic_load(&m->present) == m->expected) atomic_fetch_add(&m->met, 1);
}

static void hold_meeting(void *context)
{
    gt_parallel_each(4, meet, context);
}

static void all_threads_take_part(void **state)
{
    (void)state;
    meeting m = {.expected = 4};
    gt_team_run(4, hold_meeting, &m);
    assert_int_equal(atomic_load(&m.met), m.expected);
}

/* ---- a caller that waits ---- */

typedef struct two_loops {
    atomic_bool second_began;
    meeting inner;
} two_loops;

/* The caller has the first index, which ends when the other thread has the second. */
static void end_or_go_on(void *context, size_t index)
{
    two_loops *loops = context;
    if (index == 1) {
        atomic_store(&loops->second_began, true);
        gt_parallel_each(2, meet, &loops->inner);
        return;
    }
    for (int i = 0; i < 5000 && !atomic_load(&loops->second_began); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void begin_two_loops(void *context)
{
    gt_parallel_each(2, end_or_go_on, context);
}

static void a_caller_helps_inside_its_loop(void **state)
{
    (void)state;
    two_loops loops = {.inner.expected = 2};
    gt_team_run(2, begin_two_loops, &loops);
    assert_int_equal(atomic_load(&loops.inner.met), loops.inner.expected);
}

/* ---- messages and failures ---- */

static void check_about(void *context, size_t index)
{
    (void)index;
    if (gt_log_scope_current().file != context) gt_raise("another file");
}

static void share_about(void *context)
{
    const char *before = gt_log_about(context);
    gt_parallel_each(PIECES, check_about, context);
    gt_log_about(before);
}

static void in_team_of_four(void *context)
{
    gt_team_run(4, share_about, context);
}

static void messages_of_all_threads_name_the_file(void **state)
{
    (void)state;
    char file[] = "trace.json";
    gt_error error;
    gt_heap *heap = gt_heap_new();
    assert_true(gt_guard_run(&(gt_guard_options){.heap = heap}, in_team_of_four, file, &error));
    gt_heap_free(heap);
}

static void fail_at(void *context, size_t index)
{
    gt_free(gt_alloc(100));
    if (index == *(size_t *)context) gt_raise("piece %zu is bad", index);
}

static void share_failure(void *context)
{
    gt_parallel_each(PIECES, fail_at, context);
    fail_msg("went on after a failure");
}

static void fail_in_team(void *context)
{
    gt_alloc(1000); /* freed with the heap */
    gt_team_run(8, share_failure, context);
}

static void a_failure_ends_the_call(void **state)
{
    (void)state;
    static const size_t bad[] = {0, 1, PIECES / 2, PIECES - 1};
    for (size_t i = 0; i < GT_LENGTH(bad); i++) {
        gt_error error;
        char expected[64];
        size_t index = bad[i];
        gt_heap *heap = gt_heap_new();
        assert_false(gt_guard_run(&(gt_guard_options){.heap = heap}, fail_in_team, &index, &error));
        snprintf(expected, sizeof expected, "piece %zu is bad", index);
        assert_string_equal(error.text, expected);
        assert_int_equal(gt_heap_count(heap), 0);
        gt_heap_free(heap);
        assert_int_equal(gt_team_threads(), 1);
        counts c = {.pieces = PIECES}; /* the next team is not disturbed */
        gt_team_run(8, share_pieces, &c);
        check_once(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_index_is_done_once),
        cmocka_unit_test(threads_can_be_started_before_a_loop),
        cmocka_unit_test(ranges_cover_all_items),
        cmocka_unit_test(without_a_team_the_caller_does_all),
        cmocka_unit_test(loops_may_be_inside_loops),
        cmocka_unit_test(a_team_inside_a_team_is_the_outer_one),
        cmocka_unit_test(a_loop_with_many_indexes_left_is_busy),
        cmocka_unit_test(all_threads_take_part),
        cmocka_unit_test(a_caller_helps_inside_its_loop),
        cmocka_unit_test(messages_of_all_threads_name_the_file),
        cmocka_unit_test(a_failure_ends_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
