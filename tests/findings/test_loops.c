/* Round trips between device and host, and tight loops of synchronising calls: which are found, and what
 * becomes of the host time in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "labelled_pieces.h"

/* A copy to the host, 300 us of CPU op and 50 us of other host time, and a copy back, of the same step. */
static small_schedule *round_trip(int64_t bytes, uint32_t second_thread)
{
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_COPY, 0, 30);
    uint32_t sort = small_event(s, 0, GT_KIND_CPU_OP, "aten::sort", 40, 340);
    s->events[sort].flags = GT_HOST_HEAVY;
    if (second_thread == 0) small_point(s, 0, GT_API_LAUNCH, 350, 355);
    small_point(s, 0, GT_API_COPY, 390, 400);
    small_point(s, 0, GT_API_LAUNCH, 450, 455);
    if (second_thread) small_point(s, second_thread, GT_API_LAUNCH, 350, 355);
    small_sort_points(s);
    small_copy(s, 0, 0, "Memcpy DtoH (Device -> Pageable)", bytes, 5, 20);
    small_copy(s, 0, 2, "Memcpy HtoD (Pageable -> Device)", bytes, 395, 398);
    for (size_t i = 0; i < s->schedule.point_count; i++) s->points[i].step = 0;
    build(s);
    return s;
}

static void host_work_of_a_round_trip_is_a_cpu_op(void **state)
{
    (void)state;
    small_schedule *s = round_trip(65536, 0);
    assert_int_equal(s->schedule.trip_count, 1);
    assert_int_equal(s->schedule.trips[0].first, 0);
    assert_int_equal(s->schedule.trips[0].last, 2);
    const wanted_piece inside[] = {
        {40, GT_CAUSE_CPU_OP, GT_NONE}, {340, GT_CAUSE_CPU_OP, 1}, {350, GT_CAUSE_CPU_OP, GT_NONE}};
    assert_pieces(s, 1, 30, inside, GT_LENGTH(inside));
    const wanted_piece end[] = {{390, GT_CAUSE_CPU_OP, GT_NONE}}, after[] = {{450, GT_CAUSE_LAUNCH, GT_NONE}};
    assert_pieces(s, 2, 355, end, 1);
    assert_pieces(s, 3, 400, after, 1);
    small_free(s);

    s = round_trip(65535, 0); /* small copies */
    assert_int_equal(s->schedule.trip_count, 0);
    small_free(s);
    s = round_trip(65536, 1); /* another thread launches in between */
    assert_int_equal(s->schedule.trip_count, 0);
    small_free(s);
}

/* A copy of 800,000 bytes to the host, a CPU op, and a copy back. */
static size_t trips_around_cpu_op(int32_t step, int64_t back_bytes, int32_t back_step)
{
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_COPY, 0, 30);
    uint32_t sort = small_event(s, 0, GT_KIND_CPU_OP, "aten::sort", 40, 340);
    s->events[sort].flags = GT_HOST_HEAVY;
    small_point(s, 0, GT_API_LAUNCH, 350, 355);
    small_point(s, 0, GT_API_COPY, 390, 400);
    small_copy(s, 0, 0, "Memcpy DtoH (Device -> Pageable)", 800000, 5, 20);
    small_copy(s, 0, 2, "Memcpy HtoD (Pageable -> Device)", back_bytes, 395, 398);
    s->points[0].step = step;
    s->points[2].step = back_step;
    build(s);
    size_t trips = s->schedule.trip_count;
    small_free(s);
    return trips;
}

static void other_data_to_the_device_is_no_round_trip(void **state)
{
    (void)state;
    assert_int_equal(trips_around_cpu_op(3, 800000, 3), 1);
    assert_int_equal(trips_around_cpu_op(3, 400000, 3), 1); /* of another type */
    assert_int_equal(trips_around_cpu_op(3, 3200000, 3), 1);
    assert_int_equal(trips_around_cpu_op(3, 2400000, 3), 0);  /* a mask, and three channels of an image */
    assert_int_equal(trips_around_cpu_op(3, 800000, 4), 0);   /* a result, and the next input */
    assert_int_equal(trips_around_cpu_op(-1, 800000, -1), 0); /* nobody knows: no steps and no shapes */
}

/* A copy to the host, some host time without an op that computes for long, and a copy back. */
static size_t trips_without_cpu_op(int64_t back_bytes, int32_t back_step, bool launches, int64_t host_us)
{
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_COPY, 0, 30);
    if (launches) small_point(s, 0, GT_API_LAUNCH, 100, 110);
    uint32_t back = small_point(s, 0, GT_API_COPY, 30 + host_us, 40 + host_us);
    small_copy(s, 0, 0, "Memcpy DtoH (Device -> Pageable)", 100000, 5, 20);
    small_copy(s, 0, back, "Memcpy HtoD (Pageable -> Device)", back_bytes, 35 + host_us, 38 + host_us);
    s->schedule.points[0].step = 3;
    s->schedule.points[back].step = back_step;
    build(s);
    size_t trips = s->schedule.trip_count;
    small_free(s);
    return trips;
}

static void the_same_bytes_back_in_the_same_step_are_a_round_trip(void **state)
{
    (void)state;
    assert_int_equal(trips_without_cpu_op(100000, 3, false, 250), 1);
    assert_int_equal(trips_without_cpu_op(100000, 3, false, 150), 0); /* too little is done with them */
    assert_int_equal(trips_without_cpu_op(100001, 3, false, 250), 0); /* other data */
    assert_int_equal(trips_without_cpu_op(100000, 4, false, 250), 0); /* a result, and the next input */
    assert_int_equal(trips_without_cpu_op(100000, 3, true, 250), 0);
}

/* `count` synchronisations of 10 us, `pause` us apart, below one op each, and a GPU that is busy `busy` us in
 * each period. Returns how many points are in bursts. */
static size_t points_in_bursts(size_t count, int64_t pause, int64_t busy, gt_cause *label)
{
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 10);
    int64_t period = 10 + pause, start = 10 + period;
    for (size_t i = 0; i < count; i++) {
        int64_t at = start + (int64_t)i * period;
        small_event(s, 0, GT_KIND_CPU_OP, "aten::item", at - 5, at + 10);
        small_point(s, 0, GT_API_SYNC, at, at + 10);
    }
    for (size_t i = 0; i < count; i++)
        small_op(s, 0, GT_NONE, start + (int64_t)i * period, start + (int64_t)i * period + busy);
    build(s);
    size_t marked = 0;
    for (size_t i = 0; i < s->schedule.point_count; i++) {
        marked += (s->points[i].flags & GT_POINT_BURST) != 0;
        if (i == 0) continue;
        gt_str site = gt_interner_get(s->schedule.strings, s->points[i].sync_site);
        assert_true(gt_str_equals(site, "aten::item"));
    }
    assert_int_equal(s->points[0].sync_site, GT_STR_NONE);
    assert_int_equal(s->schedule.burst_count, marked > 0);
    *label = s->schedule.pieces[s->points[1].first_piece].label; /* one period before the first */
    small_free(s);
    return marked;
}

static void tight_loops_of_synchronisation_are_bursts(void **state)
{
    (void)state;
    gt_cause label;
    assert_int_equal(points_in_bursts(3, 100, 0, &label), 3);
    assert_int_equal(label, GT_CAUSE_SYNC);
    assert_int_equal(points_in_bursts(2, 100, 0, &label), 0); /* too few */
    assert_int_equal(label, GT_CAUSE_LAUNCH);
    assert_int_equal(points_in_bursts(3, 500, 0, &label), 3);
    assert_int_equal(points_in_bursts(3, 501, 0, &label), 0); /* too slow */
    /* 3 periods of 110 and 10 us, of which 3 times 57 are busy: half of it. */
    assert_int_equal(points_in_bursts(3, 100, 57, &label), 0);
    assert_int_equal(points_in_bursts(3, 100, 56, &label), 3);
}

/* Five times these ops with a launch each (up to NULL), then aten::item. Returns how many points are in
 * bursts. `host_us`: Python code of the program in each round. */
static size_t points_in_loop(const char *const *ops, uint32_t launch_thread, int64_t host_us)
{
    small_schedule *s = small_new();
    small_event(s, 0, GT_KIND_PYTHON, "train.py(1): check", 0, 10000);
    int64_t at = 0;
    for (size_t i = 0; i < 5; i++) {
        for (size_t k = 0; ops[k]; k++, at += 20) {
            uint32_t op = small_event(s, 0, GT_KIND_CPU_OP, ops[k], at, at + 15);
            s->events[op].launches = 1;
            small_point(s, 0, GT_API_LAUNCH, at + 5, at + 10);
        }
        uint32_t op = small_event(s, 0, GT_KIND_CPU_OP, "aten::item", at, at + 15);
        s->events[op].launches = 1;
        small_point(s, 0, GT_API_COPY, at + 2, at + 5);
        small_point(s, 0, GT_API_SYNC, at + 6, at + 14);
        at += 20 + host_us;
    }
    if (launch_thread) {
        small_point(s, launch_thread, GT_API_LAUNCH, at / 2, at / 2 + 1);
        small_sort_points(s);
    }
    build(s);
    size_t marked = 0, python = 0;
    for (size_t i = 0; i < s->schedule.point_count; i++) marked += (s->points[i].flags & GT_POINT_BURST) != 0;
    for (size_t i = 0; i < s->schedule.piece_count; i++)
        python += s->schedule.pieces[i].label == GT_CAUSE_PYTHON;
    assert_int_equal(python, host_us >= 200 ? 4 : 0); /* it stays what it is */
    small_free(s);
    return marked;
}

static void loops_that_do_other_work_are_no_bursts(void **state)
{
    (void)state;
    enum { LAST = 5 * 3 - 1 }; /* one op per round: all points but perhaps the first */
    const char *const norm[] = {"aten::norm", NULL}, *const none[] = {NULL};
    assert_in_range(points_in_loop(norm, 0, 0), LAST, LAST + 1);
    assert_in_range(points_in_loop(norm, 0, 300), LAST, LAST + 1);
    assert_in_range(points_in_loop(none, 0, 0), 5 * 2 - 1, 5 * 2);
    assert_int_equal(points_in_loop((const char *[]){"aten::mm", NULL}, 0, 0), 0);
    assert_int_equal(points_in_loop((const char *[]){"aten::mm", "aten::gt", NULL}, 0, 0), 0);
    assert_int_equal(points_in_loop((const char *[]){"aten::gt", "aten::mm", NULL}, 0, 0), 0);
    assert_int_equal(points_in_loop((const char *[]){"my::op", NULL}, 0, 0), 0);
    /* Element by element: part of a check, or work of the model. */
    assert_true(points_in_loop((const char *[]){"aten::sub", "aten::pow", "aten::sum", NULL}, 0, 0) > 15);
    assert_true(points_in_loop((const char *[]){"aten::norm", "aten::pow", NULL}, 0, 0) > 15);
    assert_int_equal(points_in_loop((const char *[]){"aten::mul", NULL}, 0, 0), 0);
    assert_int_equal(
        points_in_loop((const char *[]){"aten::mul", "aten::add", "aten::sub", "aten::sum", NULL}, 0, 0), 0);
    /* Another thread launches before the third call: the first two are too few, the others go on. */
    assert_in_range(points_in_loop(norm, 1, 0), 3 * 3 - 1, 3 * 3);
}

static void small_copies_that_wait_synchronise(void **state)
{
    (void)state;
    for (int64_t bytes = 65535; bytes <= 65536; bytes++) {
        small_schedule *s = small_new();
        small_event(s, 0, GT_KIND_CPU_OP, "aten::item", 0, 100);
        small_point(s, 0, GT_API_COPY, 0, 60); /* waits */
        small_point(s, 0, GT_API_COPY, 70, 75);
        small_copy(s, 0, 0, "Memcpy DtoH (Device -> Pinned)", bytes, 10, 50);
        small_copy(s, 0, 1, "Memcpy DtoH (Device -> Pinned)", 4, 72, 74);
        build(s);
        assert_int_equal(s->points[0].sync_site != GT_STR_NONE, bytes < 65536);
        assert_int_equal(s->points[1].sync_site, GT_STR_NONE);
        small_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_work_of_a_round_trip_is_a_cpu_op),
        cmocka_unit_test(other_data_to_the_device_is_no_round_trip),
        cmocka_unit_test(the_same_bytes_back_in_the_same_step_are_a_round_trip),
        cmocka_unit_test(tight_loops_of_synchronisation_are_bursts),
        cmocka_unit_test(loops_that_do_other_work_are_no_bursts),
        cmocka_unit_test(small_copies_that_wait_synchronise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
