/* What the host did before each point, and what recording cost, compared with pieces worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "labelled_pieces.h"

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
static gt_cause label_of_call(const char *function, const char *call, int64_t end)
{
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 10);
    if (function) {
        small_event(s, 0, GT_KIND_PYTHON, function, 10, end);
        small_event(s, 0, GT_KIND_PYTHON, call, 10, end);
    }
    uint32_t last = small_point(s, 0, GT_API_LAUNCH, end, end + 10);
    build(s);
    assert_int_equal(s->points[last].piece_count, 1);
    gt_cause label = s->schedule.pieces[s->points[last].first_piece].label;
    small_free(s);
    return label;
}

static gt_cause open_label(const char *function, int64_t end)
{
    return label_of_call(function, "<built-in function sum>", end);
}

static void long_calls_that_wait_are_waiting(void **state)
{
    static const char lock[] = "<built-in method acquire of _thread.lock object at 0x7f1>";
    (void)state;
    assert_int_equal(label_of_call("train.py(1): step", lock, 209), GT_CAUSE_LAUNCH);
    assert_int_equal(label_of_call("train.py(1): step", lock, 210), GT_CAUSE_WAIT);
    assert_int_equal(label_of_call("threading.py(9): wait", lock, 900),
                     GT_CAUSE_WAIT); /* also in framework code */
    assert_int_equal(label_of_call("train.py(1): step", "<built-in function select>", 900), GT_CAUSE_WAIT);
    assert_int_equal(label_of_call("train.py(1): step", "<built-in function selector>", 900),
                     GT_CAUSE_PYTHON);
    assert_int_equal(label_of_call("train.py(1): wait", "<built-in function sum>", 900), GT_CAUSE_PYTHON);
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
        cmocka_unit_test(long_calls_that_wait_are_waiting),
        cmocka_unit_test(runs_end_at_ops),
        cmocka_unit_test(backward_on_another_thread_is_launching),
        cmocka_unit_test(work_of_other_threads_is_launching),
        cmocka_unit_test(the_profiler_works_between_steps),
        cmocka_unit_test(overlapping_steps_do_no_harm),
        cmocka_unit_test(few_samples_give_the_default_cost),
        cmocka_unit_test(samples_give_the_cost),
        cmocka_unit_test(host_time_is_never_deflated_to_nothing),
        cmocka_unit_test(profiler_pieces_are_costs),
        cmocka_unit_test(no_points_need_no_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
