/* What the host did before each point, and what recording cost, compared with pieces worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "small_schedule.h"

/* A piece as it should be: end (it starts where the one before it ends), label, event. */
typedef struct wanted_piece {
    int64_t end_us;
    gt_cause label;
    uint32_t event;
} wanted_piece;

static void assert_pieces(const small_schedule *s, uint32_t point, int64_t start_us,
                          const wanted_piece *wanted, size_t count)
{
    const gt_host_point *p = &s->points[point];
    assert_int_equal(p->piece_count, count);
    for (size_t i = 0; i < count; i++) {
        const gt_piece *piece = &s->schedule.pieces[p->first_piece + i];
        assert_int_equal(piece->start_ns, start_us * 1000);
        assert_int_equal(piece->end_ns, wanted[i].end_us * 1000);
        assert_int_equal(piece->label, wanted[i].label);
        assert_int_equal(piece->event, wanted[i].event);
        start_us = wanted[i].end_us;
    }
    assert_int_equal(p->start_ns, start_us * 1000);
}

static void build(small_schedule *s)
{
    small_build(s);
    gt_build_labels(&s->schedule);
}

static void events_change_the_label(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 10);
    uint32_t loader =
        small_event(s, 0, GT_KIND_PYTHON, "torch/utils/data/dataloader.py(1): __next__", 20, 60);
    s->events[loader].flags = GT_HOST_DATA;
    uint32_t stack = small_event(s, 0, GT_KIND_CPU_OP, "aten::stack", 30, 40); /* also data */
    uint32_t op = small_event(s, 0, GT_KIND_CPU_OP, "aten::mm", 70, 200);
    uint32_t heavy = small_event(s, 0, GT_KIND_CPU_OP, "aten::sort", 80, 90);
    s->events[heavy].flags = GT_HOST_HEAVY;
    small_event(s, 0, GT_KIND_RUNTIME, "cudaGetDevice", 100, 110); /* as the op around it */
    uint32_t last = small_point(s, 0, GT_API_LAUNCH, 120, 130);
    build(s);
    const wanted_piece wanted[] = {
        {20, GT_CAUSE_LAUNCH, GT_NONE}, /* a short time without events */
        {30, GT_CAUSE_DATA, loader},    {40, GT_CAUSE_DATA, stack}, {60, GT_CAUSE_DATA, loader},
        {70, GT_CAUSE_LAUNCH, GT_NONE}, {80, GT_CAUSE_LAUNCH, op},  {90, GT_CAUSE_CPU_OP, heavy},
        {120, GT_CAUSE_LAUNCH, op},
    };
    assert_int_equal(s->points[0].piece_count, 0);
    assert_pieces(s, last, 10, wanted, GT_LENGTH(wanted));
    small_free(s);
}

/* Calls are points as well. A call of another kind that reaches into the time before a point has its label:
 */
static void calls_have_labels_of_their_own(void **state)
{
    (void)state;
    static const gt_api_kind kinds[] = {GT_API_SYNC, GT_API_FREE, GT_API_ALLOC, GT_API_MODULE, GT_API_COPY};
    static const gt_cause labels[] = {GT_CAUSE_SYNC, GT_CAUSE_ALLOC, GT_CAUSE_ALLOC, GT_CAUSE_MODULE,
                                      GT_CAUSE_COPY};
    for (size_t i = 0; i < GT_LENGTH(kinds); i++) {
        small_schedule *s = small_new();
        small_point(s, 0, GT_API_LAUNCH, 0, 10);
        uint32_t call = small_event(s, 0, GT_KIND_DRIVER, "cuCall", 10, 30);
        s->events[call].call = kinds[i] & 15u;
        uint32_t last = small_point(s, 0, GT_API_LAUNCH, 30, 40);
        build(s);
        const wanted_piece wanted[] = {{30, labels[i], call}};
        assert_pieces(s, last, 10, wanted, 1);
        small_free(s);
    }
}

/* The label of host time between 10 and `end` in which a function runs that calls a built-in one. */
static gt_cause open_label(const char *function, int64_t end)
{
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 10);
    if (function) {
        small_event(s, 0, GT_KIND_PYTHON, function, 10, end);
        small_event(s, 0, GT_KIND_PYTHON, "<built-in function sum>", 10, end);
    }
    uint32_t last = small_point(s, 0, GT_API_LAUNCH, end, end + 10);
    build(s);
    assert_int_equal(s->points[last].piece_count, 1);
    gt_cause label = s->schedule.pieces[s->points[last].first_piece].label;
    small_free(s);
    return label;
}

static void long_runs_are_causes(void **state)
{
    (void)state;
    assert_int_equal(open_label(NULL, 209), GT_CAUSE_LAUNCH);
    assert_int_equal(open_label(NULL, 210), GT_CAUSE_UNTRACED);
    assert_int_equal(open_label("train.py(1): step", 209), GT_CAUSE_LAUNCH);
    assert_int_equal(open_label("train.py(1): step", 210), GT_CAUSE_PYTHON);
    assert_int_equal(open_label("torch/nn/functional.py(9): f", 5009), GT_CAUSE_LAUNCH);
    assert_int_equal(open_label("torch/nn/functional.py(9): f", 5010), GT_CAUSE_PYTHON);
    assert_int_equal(open_label("<built-in function iter>", 400), GT_CAUSE_UNTRACED);
    assert_int_equal(open_label("<built-in method run_backward of _EngineBase>", 409), GT_CAUSE_UNTRACED);
}

/* A run consists of pieces next to each other; an op in the middle ends it. */
static void runs_end_at_ops(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 10);
    uint32_t step = small_event(s, 0, GT_KIND_PYTHON, "train.py(1): step", 10, 500);
    small_event(s, 0, GT_KIND_PYTHON, "torch/x.py(1): f", 50, 90);
    uint32_t op = small_event(s, 0, GT_KIND_CPU_OP, "aten::add", 150, 160);
    uint32_t last = small_point(s, 0, GT_API_LAUNCH, 400, 410);
    build(s);
    const wanted_piece wanted[] = {{150, GT_CAUSE_LAUNCH, step}, /* 140 us, most of them in one piece */
                                   {160, GT_CAUSE_LAUNCH, op},
                                   {400, GT_CAUSE_PYTHON, step}}; /* 240 us */
    assert_pieces(s, last, 10, wanted, GT_LENGTH(wanted));
    small_free(s);
}

static void backward_on_another_thread_is_launching(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 10);
    uint32_t wait =
        small_event(s, 0, GT_KIND_PYTHON, "<built-in method run_backward of _EngineBase>", 20, 900);
    uint32_t after = small_point(s, 0, GT_API_LAUNCH, 950, 960);
    uint32_t node = small_event(s, 1, GT_KIND_CPU_OP, "autograd::engine::evaluate_function: Mul", 300, 500);
    small_point(s, 1, GT_API_LAUNCH, 400, 410);
    small_sort_points(s);
    (void)after;
    build(s);
    /* Before the backward thread's first op the thread before it is looked at. */
    const wanted_piece before[] = {
        {20, GT_CAUSE_LAUNCH, GT_NONE}, {300, GT_CAUSE_LAUNCH, wait}, {400, GT_CAUSE_LAUNCH, node}};
    assert_pieces(s, 1, 10, before, GT_LENGTH(before));
    /* Main thread again: run_backward counts as launching, however long it is. */
    const wanted_piece main[] = {{900, GT_CAUSE_LAUNCH, wait}, {950, GT_CAUSE_LAUNCH, GT_NONE}};
    assert_pieces(s, 2, 410, main, GT_LENGTH(main));
    small_free(s);
}

static void work_of_other_threads_is_launching(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 10);
    uint32_t step = small_event(s, 0, GT_KIND_PYTHON, "train.py(1): step", 10, 2000);
    small_point(s, 0, GT_API_LAUNCH, 1000, 1010);
    small_event(s, 1, GT_KIND_CPU_OP, "aten::mm", 300, 500);
    small_event(s, 1, GT_KIND_CPU_OP, "aten::empty", 310, 320);    /* inside the op before it */
    small_event(s, 1, GT_KIND_PYTHON, "other.py(1): f", 600, 700); /* no op */
    small_point(s, 1, GT_API_LAUNCH, 1100, 1105);
    small_event(s, 2, GT_KIND_CPU_OP, "aten::add", 450, 550);
    small_event(s, 2, GT_KIND_CPU_OP, "aten::add", 920, 960);
    small_point(s, 2, GT_API_LAUNCH, 1110, 1115);
    small_event(s, 3, GT_KIND_CPU_OP, "aten::sleep", 20, 1000); /* this thread never launches */
    small_sort_points(s);
    build(s);
    const wanted_piece wanted[] = {{300, GT_CAUSE_PYTHON, step},
                                   {550, GT_CAUSE_LAUNCH, step},
                                   {920, GT_CAUSE_PYTHON, step},
                                   {960, GT_CAUSE_LAUNCH, step},
                                   {1000, GT_CAUSE_LAUNCH, step}};
    assert_pieces(s, 1, 10, wanted, GT_LENGTH(wanted));
    small_free(s);
}

static void the_profiler_works_between_steps(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    s->steps[0] = (gt_step_times){.start_ns = 600 * 1000, .end_ns = 1000 * 1000};
    s->steps[1] = (gt_step_times){.start_ns = 1100 * 1000, .end_ns = 2000 * 1000};
    s->schedule.step_count = 2;
    small_point(s, 0, GT_API_LAUNCH, 0, 10);
    uint32_t first = small_point(s, 0, GT_API_LAUNCH, 800, 810);
    uint32_t op = small_event(s, 0, GT_KIND_CPU_OP, "aten::mm", 900, 1500);
    uint32_t heavy = small_event(s, 0, GT_KIND_CPU_OP, "aten::sort", 1050, 1060);
    s->events[heavy].flags = GT_HOST_HEAVY;
    uint32_t second = small_point(s, 0, GT_API_LAUNCH, 1200, 1210);
    build(s);
    const wanted_piece before_first[] = {{100, GT_CAUSE_UNTRACED, GT_NONE}, /* 500 us before the first step */
                                         {630, GT_CAUSE_PROFILER, GT_NONE},
                                         {800, GT_CAUSE_UNTRACED, GT_NONE}};
    assert_pieces(s, first, 10, before_first, GT_LENGTH(before_first));
    const wanted_piece between[] = {{900, GT_CAUSE_LAUNCH, GT_NONE},    {1000, GT_CAUSE_LAUNCH, op},
                                    {1050, GT_CAUSE_PROFILER, GT_NONE}, {1060, GT_CAUSE_CPU_OP, heavy},
                                    {1130, GT_CAUSE_PROFILER, GT_NONE}, {1200, GT_CAUSE_LAUNCH, op}};
    assert_pieces(s, second, 810, between, GT_LENGTH(between));
    small_free(s);
}

static void overlapping_steps_do_no_harm(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    static const int64_t times[][2] = {{100, 900}, {200, 250}, {280, 300}, {300, 320}, {700, 710}};
    for (size_t i = 0; i < GT_LENGTH(times); i++)
        s->steps[i] = (gt_step_times){.start_ns = times[i][0] * 1000, .end_ns = times[i][1] * 1000};
    s->schedule.step_count = GT_LENGTH(times);
    small_point(s, 0, GT_API_LAUNCH, 0, 10);
    uint32_t last = small_point(s, 0, GT_API_LAUNCH, 800, 810);
    build(s);
    /* 10 to 130 (the first), 250 to 330 (the third and fourth), 320 to 730 (the fifth). */
    const wanted_piece wanted[] = {{130, GT_CAUSE_PROFILER, GT_NONE},
                                   {250, GT_CAUSE_UNTRACED, GT_NONE},
                                   {730, GT_CAUSE_PROFILER, GT_NONE},
                                   {800, GT_CAUSE_UNTRACED, GT_NONE}};
    assert_pieces(s, last, 10, wanted, GT_LENGTH(wanted));
    small_free(s);
}

/* ---- loops ---- */

/* A copy to the host, 300 us of CPU op and 50 us of other host time, and a copy back. */
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

/* ---- the cost of recording ---- */

static void few_samples_give_the_default_cost(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 10);
    small_event(s, 0, GT_KIND_PYTHON, "train.py(1): step", 10, 100);
    small_event(s, 0, GT_KIND_CPU_OP, "aten::mm", 12, 100);
    small_event(s, 0, GT_KIND_CPU_OP, "aten::empty", 13, 14);
    small_point(s, 0, GT_API_LAUNCH, 20, 30);
    small_point(s, 0, GT_API_LAUNCH, 30, 31);
    small_op(s, 0, 0, 5, 25);
    small_window(s, 0, GT_NONE, 1);
    build(s);
    gt_build_overhead(&s->schedule);
    assert_float_equal(s->schedule.python_cost_ns, 500, 1e-9);
    assert_float_equal(s->schedule.op_cost_ns, 1000, 1e-9);
    assert_float_equal(s->points[0].keep_before, 1, 1e-12);
    assert_float_equal(s->points[0].keep_own, 0.9, 1e-12);
    /* One function and two ops start in the 10 us before the second point. */
    assert_float_equal(s->points[1].keep_before, 1 - 2.5 / 10, 1e-12);
    assert_float_equal(s->points[2].keep_before, 1, 1e-12);
    assert_float_equal(s->points[2].keep_own, 0.5, 1e-12); /* at least half of 1 us */
    /* The window is 5 to 25: only the second point starts in it. */
    assert_float_equal(s->schedule.profiler_ns, 2500 + 1000, 1e-6);
    assert_float_equal(s->schedule.host_ns, 20000, 1e-6);
    small_free(s);
}

/* Times of these events are changed by hand, because microseconds are too coarse. */
static void samples_give_the_cost(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 10);
    for (int64_t i = 0; i < 21; i++) { /* distances of 1000, 1010, ... 1190 ns, 20 of them */
        uint32_t event = small_event(s, 0, GT_KIND_PYTHON, "<built-in function len>", 100 + i, 101 + i);
        s->events[event].start_ns = 100000 + 1000 * i + 5 * i * (i - 1);
        s->events[event].end_ns = s->events[event].start_ns + 300;
    }
    for (int64_t i = 0; i < 20; i++) { /* aten::select takes 2000, 2100, ... ns longer than what it calls */
        uint32_t select = small_event(s, 0, GT_KIND_CPU_OP, "aten::select", 200 + 10 * i, 209 + 10 * i);
        uint32_t strided = small_event(s, 0, GT_KIND_CPU_OP, "aten::as_strided", 201 + 10 * i, 202 + 10 * i);
        s->events[select].end_ns = s->events[select].start_ns + 3000 + 100 * i;
        assert_int_equal(s->events[strided].parent, select);
    }
    small_point(s, 0, GT_API_LAUNCH, 1000, 1010);
    build(s);
    gt_build_overhead(&s->schedule);
    assert_float_equal(s->schedule.python_cost_ns, 1.1 * 1020, 1e-9); /* the third of 20 */
    assert_float_equal(s->schedule.op_cost_ns, 1.1 * 2200, 1e-9);
    assert_float_equal(s->points[1].keep_before, 1 - (21 * 1122 + 40 * 2420) / 990e3, 1e-12);
    small_free(s);
}

static void host_time_is_never_deflated_to_nothing(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 10);
    for (int64_t i = 0; i < 9; i++) small_event(s, 0, GT_KIND_CPU_OP, "aten::add", 10 + i, 11 + i);
    small_point(s, 0, GT_API_LAUNCH, 20, 30);
    build(s);
    gt_build_overhead(&s->schedule);
    assert_float_equal(s->points[1].keep_before, 0.3, 1e-12); /* 9 of 10 us are events */
    small_free(s);
}

static void profiler_pieces_are_costs(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    s->steps[0] = (gt_step_times){.start_ns = 60 * 1000, .end_ns = 900 * 1000};
    s->schedule.step_count = 1;
    small_point(s, 0, GT_API_LAUNCH, 0, 10);
    small_point(s, 0, GT_API_LAUNCH, 170,
                180); /* 80 of 160 us before it: up to 30 us after the step begins */
    build(s);
    gt_build_overhead(&s->schedule);
    assert_float_equal(s->points[1].keep_before, 0.5, 1e-12);
    small_free(s);
}

static void no_points_need_no_labels(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_event(s, 0, GT_KIND_CPU_OP, "aten::add", 10, 20);
    build(s);
    gt_build_overhead(&s->schedule);
    assert_int_equal(s->schedule.piece_count, 0);
    assert_float_equal(s->schedule.host_ns, 0, 1e-12);
    small_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_change_the_label),
        cmocka_unit_test(calls_have_labels_of_their_own),
        cmocka_unit_test(long_runs_are_causes),
        cmocka_unit_test(runs_end_at_ops),
        cmocka_unit_test(backward_on_another_thread_is_launching),
        cmocka_unit_test(work_of_other_threads_is_launching),
        cmocka_unit_test(the_profiler_works_between_steps),
        cmocka_unit_test(overlapping_steps_do_no_harm),
        cmocka_unit_test(host_work_of_a_round_trip_is_a_cpu_op),
        cmocka_unit_test(the_same_bytes_back_in_the_same_step_are_a_round_trip),
        cmocka_unit_test(tight_loops_of_synchronisation_are_bursts),
        cmocka_unit_test(small_copies_that_wait_synchronise),
        cmocka_unit_test(few_samples_give_the_default_cost),
        cmocka_unit_test(samples_give_the_cost),
        cmocka_unit_test(host_time_is_never_deflated_to_nothing),
        cmocka_unit_test(profiler_pieces_are_costs),
        cmocka_unit_test(no_points_need_no_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
