/* Causes of idle time, compared with pieces worked out by hand. Every test also checks that the pieces fill
 * the gaps without overlap and that the causes add up exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>

#include "findings/idle.h"
#include "findings/replay.h"
#include "small_schedule.h"

/* A piece as it should be: times in us. */
typedef struct wanted_piece {
    int64_t start_us, end_us;
    gt_cause cause;
} wanted_piece;

static void assert_exact(const gt_schedule *schedule, const gt_idle *idle)
{
    int64_t sum = 0, gap_sum = 0, reached = schedule->window.start_ns;
    size_t count = 0, pieces = 0;
    for (int i = 0; i < GT_CAUSES; i++) sum += idle->cause_ns[i], count += idle->cause_pieces[i];
    assert_int_equal(sum, idle->total_ns);
    assert_int_equal(count, idle->piece_count);
    for (size_t i = 0; i < idle->gap_count; i++) {
        const gt_gap *gap = &idle->gaps[i];
        assert_true(gap->start_ns >= reached && gap->end_ns > gap->start_ns);
        reached = gap->start_ns;
        assert_int_equal(gap->first_piece, pieces);
        for (size_t k = 0; k < gap->piece_count; k++) {
            const gt_idle_piece *piece = &idle->pieces[pieces++];
            assert_int_equal(piece->gap, i);
            assert_int_equal(piece->start_ns, reached);
            assert_true(piece->end_ns > piece->start_ns);
            reached = piece->end_ns;
        }
        assert_int_equal(reached, gap->end_ns);
        gap_sum += gap->end_ns - gap->start_ns;
    }
    assert_int_equal(pieces, idle->piece_count);
    assert_int_equal(gap_sum, idle->total_ns);
}

static gt_idle *find(small_schedule *s)
{
    small_build(s);
    gt_build_labels(&s->schedule);
    gt_idle *idle = gt_idle_find(&s->schedule);
    assert_exact(&s->schedule, idle);
    return idle;
}

static void assert_pieces(small_schedule *s, const wanted_piece *wanted, size_t count)
{
    gt_idle *idle = find(s);
    assert_int_equal(idle->piece_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(idle->pieces[i].start_ns, wanted[i].start_us * 1000);
        assert_int_equal(idle->pieces[i].end_ns, wanted[i].end_us * 1000);
        assert_int_equal(idle->pieces[i].cause, wanted[i].cause);
    }
    gt_idle_free(idle);
}

/* ---- the device ---- */

static void queued_ops_leave_gaps_of_the_device(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    for (int64_t i = 0; i < 3; i++) small_point(s, 0, GT_API_LAUNCH, 10 * i, 10 * i + 5);
    small_op(s, 0, 0, 10, 50);
    small_op(s, 0, 1, 60, 70); /* 10 us */
    small_op(s, 0, 2, 81, 90); /* 11 us */
    small_window(s, 0, GT_NONE, 1);
    const wanted_piece wanted[] = {{50, 60, GT_CAUSE_DEVICE_GAP}, {70, 81, GT_CAUSE_DEVICE_WAIT}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    small_free(s);
}

static void waiting_for_another_stream_is_a_dependency(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    for (int64_t i = 0; i < 3; i++) small_point(s, 0, GT_API_LAUNCH, 10 * i, 10 * i + 5);
    small_op(s, 1, 0, 10, 200);
    small_op(s, 0, 1, 15, 100);
    small_op(s, 0, 2, 205, 210);
    small_window(s, 0, GT_NONE, 1);
    const wanted_piece wanted[] = {{200, 205, GT_CAUSE_DEPENDENCY}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    small_free(s);
}

/* The first late op follows only its own stream, the others the work of another one; the last follows two ops
 * that end at once. */
static void late_queued_ops_depend_only_on_other_streams(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    for (int64_t i = 0; i < 6; i++) small_point(s, 0, GT_API_LAUNCH, i, i + 1);
    small_op(s, 0, 0, 10, 50);
    small_op(s, 0, 1, 62, 70);   /* after 12 us: its own stream only */
    small_op(s, 1, 2, 82, 100);  /* after the other stream */
    small_op(s, 0, 3, 115, 130); /* after the other stream */
    small_op(s, 1, 4, 118, 130);
    small_op(s, 1, 5, 150, 160);
    small_window(s, 0, GT_NONE, 1);
    const wanted_piece wanted[] = {{50, 62, GT_CAUSE_DEVICE_WAIT},
                                   {70, 82, GT_CAUSE_DEPENDENCY},
                                   {100, 115, GT_CAUSE_DEPENDENCY},
                                   {130, 150, GT_CAUSE_DEPENDENCY}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    small_free(s);
}

static void only_the_first_op_of_a_graph_waits_for_the_host(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 5);
    small_point(s, 0, GT_API_LAUNCH, 30, 90); /* a graph of two ops; the call still runs while they do */
    small_op(s, 0, 0, 10, 20);
    small_op(s, 0, 1, 40, 50);
    small_op(s, 1, 1, 58, 70); /* the first op of its stream */
    small_window(s, 0, GT_NONE, 1);
    const wanted_piece wanted[] = {
        {20, 30, GT_CAUSE_LAUNCH}, {30, 40, GT_CAUSE_LAUNCH}, {50, 58, GT_CAUSE_DEVICE_GAP}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    small_free(s);
}

static void late_starts_after_the_call_are_waits_of_the_device(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 5);
    small_point(s, 0, GT_API_LAUNCH, 100, 110);
    small_point(s, 0, GT_API_LAUNCH, 400, 410);
    small_op(s, 0, 0, 10, 50);
    small_op(s, 0, 1, 210, 300); /* 100 us after the call has returned */
    small_op(s, 0, 2, 511, 520); /* 101 us */
    small_window(s, 0, GT_NONE, 1);
    const wanted_piece wanted[] = {{50, 100, GT_CAUSE_LAUNCH},
                                   {100, 210, GT_CAUSE_LAUNCH},
                                   {300, 400, GT_CAUSE_UNTRACED},
                                   {400, 410, GT_CAUSE_LAUNCH},
                                   {410, 511, GT_CAUSE_DEVICE_WAIT}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    small_free(s);
}

/* Each call begins while the op before it runs. The first two take long for themselves, the last one waits
 * for room in the queue: ops are left when it returns. */
static void calls_that_still_run_are_causes_of_the_host(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 5);
    small_point(s, 0, GT_API_LAUNCH, 20, 5020);
    small_point(s, 0, GT_API_LAUNCH, 5030, 5430);
    small_point(s, 0, GT_API_LAUNCH, 5440, 5445);
    small_point(s, 0, GT_API_LAUNCH, 5450, 6000);
    small_op(s, 0, 0, 10, 1000);
    small_op(s, 0, 1, 5022, 5100);
    small_op(s, 0, 2, 5600, 5700); /* 170 us after its call has returned */
    small_op(s, 1, 3, 5650, 5995);
    small_op(s, 1, 3, 5995, 6300);
    small_op(s, 0, 4, 6320, 6330);
    small_window(s, 0, GT_NONE, 1);
    const wanted_piece wanted[] = {{1000, 5022, GT_CAUSE_MODULE},
                                   {5100, 5430, GT_CAUSE_LAUNCH},
                                   {5430, 5600, GT_CAUSE_DEVICE_WAIT},
                                   {6300, 6320, GT_CAUSE_DEPENDENCY}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    assert_int_equal(s->points[1].wait_ns, 0);
    assert_int_equal(s->points[4].wait_ns, (5995 - 5450) * 1000);
    small_free(s);
}

/* An op starts when its call returns, though work of another stream ended during the call; one that starts
 * just after that work waits for it. */
static void calls_that_still_run_are_no_dependencies(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        small_schedule *s = small_new();
        small_point(s, 0, GT_API_LAUNCH, 0, 5);
        small_point(s, 0, GT_API_LAUNCH, 20, 3000);
        small_op(s, 1, 0, 10, 1000);
        small_op(s, 0, 1, is_late ? 3005 : 1008, 3100);
        small_window(s, 0, GT_NONE, 1);
        const wanted_piece wanted[] = {
            {1000, is_late ? 3005 : 1008, is_late ? GT_CAUSE_MODULE : GT_CAUSE_DEPENDENCY}};
        assert_pieces(s, wanted, GT_LENGTH(wanted));
        assert_int_equal(s->ops[1].begins, is_late ? GT_START_HOST : GT_START_DEPENDENCY);
        small_free(s);
    }
}

/* The call returns 5 us after the op before it on the stream has ended. What the op waits for is the other
 * stream, which ends 60 us later. */
static void calls_that_have_returned_are_no_causes(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    for (int64_t i = 0; i < 2; i++) small_point(s, 0, GT_API_LAUNCH, 5 * i, 5 * i + 5);
    small_point(s, 0, GT_API_LAUNCH, 92, 105);
    small_op(s, 0, 0, 10, 100);
    small_op(s, 1, 1, 12, 160);
    small_op(s, 0, 2, 165, 170);
    small_window(s, 0, GT_NONE, 1);
    const wanted_piece wanted[] = {{160, 165, GT_CAUSE_DEPENDENCY}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    assert_int_equal(s->ops[2].begins, GT_START_DEPENDENCY);
    small_free(s);
}

/* Graphs of three ops whose launch takes 2 ms in every step, longer than the ops: the calls are slow, but no
 * first use. The first op starts, and another one ends, before the call returns. */
static void slow_graph_launches_are_causes_of_the_host(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    for (int64_t i = 0; i < 4; i++) {
        int64_t at = 2010 * i;
        small_point(s, 0, GT_API_LAUNCH, at, at + 2000);
        s->points[i].step = (int32_t)i;
        small_op(s, 0, (uint32_t)i, at + 1980, at + 1983);
        small_op(s, 0, (uint32_t)i, at + 1984, at + 1987);
        small_op(s, 0, (uint32_t)i, at + 1988, at + 3000);
    }
    small_window(s, 0, 9, 3);
    gt_idle *idle = find(s);
    assert_int_equal(idle->cause_ns[GT_CAUSE_DEVICE_GAP], 3 * 2 * 1000);
    assert_int_equal(idle->cause_ns[GT_CAUSE_LAUNCH], 3 * 990 * 1000);
    /* The schedule agrees: without the calls, the GPU is busy all the time. */
    gt_edit edit = {0};
    for (uint32_t i = 0; i < 4; i++) gt_edit_point_add(&edit, i, GT_EDIT_NO_CALL, 0);
    double step_ns = gt_replay_run(&s->schedule, (const gt_edit *const[]){&edit}, 1,
                                   (gt_replay_options){.recorded = true}, NULL);
    assert_int_equal((int64_t)step_ns, 1020 * 1000);
    gt_edit_free(&edit);
    gt_idle_free(idle);
    small_free(s);
}

static void ops_without_launch_have_no_known_cause(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_op(s, 0, GT_NONE, 10, 20);
    small_op(s, 0, GT_NONE, 30, 40);
    s->schedule.window = (gt_step_window){.start_ns = 5000, .end_ns = 50000, .end_op = GT_NONE, .steps = 1};
    const wanted_piece wanted[] = {
        {5, 10, GT_CAUSE_UNKNOWN}, {20, 30, GT_CAUSE_UNKNOWN}, {40, 50, GT_CAUSE_UNKNOWN}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    small_free(s);
}

/* ---- the host ---- */

static void labels_of_the_host_are_causes(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 5);
    uint32_t data = small_event(s, 0, GT_KIND_PYTHON, "loader", 5, 100);
    s->events[data].flags = GT_HOST_DATA;
    uint32_t sort = small_event(s, 0, GT_KIND_CPU_OP, "aten::sort", 100, 140);
    s->events[sort].flags = GT_HOST_HEAVY;
    small_point(s, 0, GT_API_ALLOC, 150, 160);
    small_point(s, 0, GT_API_FREE, 160, 170);
    small_point(s, 0, GT_API_MODULE, 170, 180);
    small_point(s, 0, GT_API_COPY, 180, 190);
    small_point(s, 0, GT_API_LAUNCH, 190, 195); /* launches nothing that was recorded */
    small_event(s, 0, GT_KIND_PYTHON, "train.py(3): f", 195, 500);
    small_point(s, 0, GT_API_LAUNCH, 500, 505);
    small_op(s, 0, 0, 2, 20);
    small_op(s, 0, 6, 510, 520);
    small_window(s, 0, GT_NONE, 1);
    const wanted_piece wanted[] = {{20, 100, GT_CAUSE_DATA},    {100, 140, GT_CAUSE_CPU_OP},
                                   {140, 150, GT_CAUSE_LAUNCH}, {150, 160, GT_CAUSE_ALLOC},
                                   {160, 170, GT_CAUSE_ALLOC},  {170, 180, GT_CAUSE_MODULE},
                                   {180, 190, GT_CAUSE_COPY},   {190, 195, GT_CAUSE_LAUNCH},
                                   {195, 500, GT_CAUSE_PYTHON}, {500, 510, GT_CAUSE_LAUNCH}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    gt_idle *idle = gt_idle_find(&s->schedule);
    assert_int_equal(idle->gap_count, 1);
    assert_int_equal(idle->gaps[0].cause, GT_CAUSE_PYTHON); /* the largest share */
    assert_int_equal(idle->gaps[0].op, 1);
    assert_int_equal(idle->pieces[0].event, data);
    assert_int_equal(idle->pieces[1].event, sort);
    assert_int_equal(gt_idle_host_ns(idle), 490 * 1000);
    gt_idle_free(idle);
    small_free(s);
}

static void long_launches_load_code(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 5);
    small_point(s, 0, GT_API_LAUNCH, 30, 1031); /* launches nothing that was recorded */
    small_point(s, 0, GT_API_LAUNCH, 1040, 2041);
    small_point(s, 0, GT_API_LAUNCH, 2100, 3100); /* 1 ms: not yet */
    small_op(s, 0, 0, 10, 20);
    small_op(s, 0, 2, 2045, 2050);
    small_op(s, 0, 3, 3105, 3110);
    small_window(s, 0, GT_NONE, 1);
    const wanted_piece wanted[] = {{20, 30, GT_CAUSE_LAUNCH},     {30, 1031, GT_CAUSE_MODULE},
                                   {1031, 1040, GT_CAUSE_LAUNCH}, {1040, 2045, GT_CAUSE_MODULE},
                                   {2050, 2100, GT_CAUSE_LAUNCH}, {2100, 3105, GT_CAUSE_LAUNCH}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    small_free(s);
}

static void the_profiler_is_no_cause_of_the_host(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    s->steps[0] = (gt_step_times){.start_ns = 100 * 1000, .end_ns = 900 * 1000};
    s->schedule.step_count = 1;
    small_point(s, 0, GT_API_LAUNCH, 0, 5);
    small_point(s, 0, GT_API_LAUNCH, 150, 155);
    small_op(s, 0, 0, 10, 20);
    small_op(s, 0, 1, 160, 170);
    small_window(s, 0, GT_NONE, 1);
    const wanted_piece wanted[] = {
        {20, 130, GT_CAUSE_PROFILER}, {130, 150, GT_CAUSE_LAUNCH}, {150, 160, GT_CAUSE_LAUNCH}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    gt_idle *idle = gt_idle_find(&s->schedule);
    assert_int_equal(gt_idle_host_ns(idle), 30 * 1000);
    gt_idle_free(idle);
    small_free(s);
}

static void calls_of_other_threads_reach_into_gaps(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_COPY, 0, 300); /* a long call on one thread, and short ones on another */
    for (int64_t i = 0; i < 4; i++) small_point(s, 1, GT_API_LAUNCH, 20 + 60 * i, 25 + 60 * i);
    for (int64_t i = 0; i < 4; i++) small_op(s, 0, (uint32_t)i + 1, 30 + 60 * i, 40 + 60 * i);
    small_window(s, 0, GT_NONE, 1);
    /* The serial host is inside the copy. Its end, 300, is after all launches, so that all ops follow it. */
    const wanted_piece wanted[] = {{40, 80, GT_CAUSE_COPY},   {80, 90, GT_CAUSE_LAUNCH},
                                   {100, 140, GT_CAUSE_COPY}, {140, 150, GT_CAUSE_LAUNCH},
                                   {160, 200, GT_CAUSE_COPY}, {200, 210, GT_CAUSE_LAUNCH}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    small_free(s);
}

static void ops_that_start_before_their_launch_are_explained(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 5);
    small_event(s, 0, GT_KIND_PYTHON, "train.py(3): f", 5, 500);
    for (int64_t i = 0; i < 3; i++) small_point(s, 0, GT_API_LAUNCH, 500 + 10 * i, 505 + 10 * i);
    small_op(s, 0, 0, 10, 20);
    small_op(s, 0, 3, 30, 40); /* launched at 520: the clocks differ */
    small_op(s, 0, 2, 300, 310);
    small_window(s, 0, GT_NONE, 1);
    const wanted_piece wanted[] = {{20, 30, GT_CAUSE_PYTHON}, {40, 300, GT_CAUSE_PYTHON}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    small_free(s);
}

/* ---- waits ---- */

/* Four times: two ops, then a call that waits for them, then a launch 20 us later. Without the wait the GPU
 * is always busy, because it needs longer than the host. */
static small_schedule *waiting(gt_api_kind kind)
{
    small_schedule *s = small_new();
    for (int64_t i = 0; i < 4; i++) {
        int64_t at = 250 * i;
        small_point(s, 0, GT_API_LAUNCH, at, at + 5);
        small_point(s, 0, GT_API_LAUNCH, at + 15, at + 20);
        small_point(s, 0, kind, at + 30, at + 220);
        small_op(s, 0, (uint32_t)(3 * i), at + 10, at + 110);
        small_op(s, 0, (uint32_t)(3 * i + 1), at + 111, at + 211);
    }
    small_window(s, 0, 6, 3);
    return s;
}

static void the_aftermath_of_a_wait_is_synchronisation(void **state)
{
    (void)state;
    small_schedule *s = waiting(GT_API_SYNC);
    gt_idle *idle = find(s);
    /* In each step: 1 us between the queued ops; the call's last 9 us; 30 us of host time and 10 of launch,
     * all of which vanish without the wait. */
    assert_int_equal(idle->cause_ns[GT_CAUSE_DEVICE_GAP], 3 * 1000);
    assert_int_equal(idle->cause_ns[GT_CAUSE_SYNC], 3 * 49 * 1000);
    assert_int_equal(idle->total_ns, 3 * 50 * 1000);
    gt_idle_free(idle);
    small_free(s);

    s = waiting(GT_API_FREE);
    idle = find(s);
    assert_int_equal(idle->cause_ns[GT_CAUSE_ALLOC], 3 * 49 * 1000);
    assert_int_equal(idle->cause_ns[GT_CAUSE_SYNC], 0);
    gt_idle_free(idle);
    small_free(s);
}

/* Ops of 20 us every 100 us, each awaited: without the wait the host is still late. */
static void launching_that_stays_late_remains_launching(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    for (int64_t i = 0; i < 3; i++) {
        small_point(s, 0, GT_API_LAUNCH, 100 * i, 100 * i + 5);
        if (i < 2) small_point(s, 0, GT_API_SYNC, 100 * i + 20, 100 * i + 35); /* three were a burst */
        small_op(s, 0, (uint32_t)(2 * i), 100 * i + 10, 100 * i + 30);
    }
    small_window(s, 0, 2, 2);
    /* The wait takes 10 us, so that the host needs 90 us per step without it, and the gap becomes 70 us. The
     * recorded gap has 5 us of the call and 75 of launching: 5 of them are the aftermath. */
    const wanted_piece wanted[] = {{30, 35, GT_CAUSE_SYNC},     {35, 40, GT_CAUSE_SYNC},
                                   {40, 100, GT_CAUSE_LAUNCH},  {100, 110, GT_CAUSE_LAUNCH},
                                   {130, 135, GT_CAUSE_SYNC},   {135, 140, GT_CAUSE_SYNC},
                                   {140, 200, GT_CAUSE_LAUNCH}, {200, 210, GT_CAUSE_LAUNCH}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    small_free(s);
}

static void calls_in_bursts_synchronise(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    for (int64_t i = 0; i < 4; i++) {
        small_event(s, 0, GT_KIND_CPU_OP, "aten::norm", 100 * i, 100 * i + 55);
        small_point(s, 0, GT_API_LAUNCH, 100 * i, 100 * i + 5);
        small_point(s, 0, GT_API_LAUNCH, 100 * i + 50, 100 * i + 55); /* launches nothing that was recorded */
        small_point(s, 0, GT_API_SYNC, 100 * i + 60, 100 * i + 65);
        small_op(s, 0, (uint32_t)(3 * i), 100 * i + 8, 100 * i + 10);
    }
    small_window(s, 0, 3, 3);
    gt_idle *idle = find(s);
    assert_int_equal(s->schedule.burst_count, 1);
    /* Only the launch of the op that ends a gap is not the loop's: 8 us of 98. */
    assert_int_equal(idle->cause_ns[GT_CAUSE_LAUNCH], 3 * 8 * 1000);
    assert_int_equal(idle->cause_ns[GT_CAUSE_SYNC], 3 * 90 * 1000);
    gt_idle_free(idle);
    small_free(s);
}

/* ---- edges ---- */

static void gaps_are_those_of_all_streams_in_the_window(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_op(s, 0, GT_NONE, 0, 10);
    small_op(s, 0, GT_NONE, 20, 40);
    small_op(s, 1, GT_NONE, 30, 60);
    small_op(s, 0, GT_NONE, 45, 50); /* within the other stream's op */
    small_op(s, 0, GT_NONE, 70, 80);
    small_op(s, 0, GT_NONE, 90, 99);
    small_window(s, 1, 5, 1);
    const wanted_piece wanted[] = {{60, 70, GT_CAUSE_UNKNOWN}, {80, 90, GT_CAUSE_UNKNOWN}};
    assert_pieces(s, wanted, GT_LENGTH(wanted));
    small_free(s);
}

static void an_empty_schedule_has_no_gaps(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    gt_idle *idle = find(s);
    assert_int_equal(idle->gap_count, 0);
    assert_int_equal(idle->total_ns, 0);
    assert_int_equal(gt_idle_host_ns(idle), 0);
    gt_idle_free(idle);
    small_op(s, 0, GT_NONE, 5, 9); /* one op */
    small_window(s, 0, GT_NONE, 1);
    idle = find(s);
    assert_int_equal(idle->gap_count, 0);
    gt_idle_free(idle);
    gt_idle_free(NULL);
    small_free(s);
}

static uint64_t random_state = 1;

static int64_t random_below(int64_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)limit);
}

/* Calls of several threads that overlap in any way, ops before their launches, nested events: the pieces
 * still fill the gaps exactly. */
static void causes_add_up_on_any_schedule(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        small_schedule *s = small_new();
        for (uint32_t thread = 0; thread < 3; thread++) {
            int64_t at = random_below(50);
            for (int i = 0; i < 20; i++, at += random_below(200)) {
                uint32_t event =
                    small_event(s, thread, random_below(2) ? GT_KIND_CPU_OP : GT_KIND_PYTHON,
                                random_below(2) ? "a.py(1): f" : "<built-in g>", at, at + random_below(300));
                if (random_below(5) == 0) s->events[event].flags |= GT_HOST_HEAVY;
                at += random_below(20);
                small_point(s, thread, (gt_api_kind)(1 + random_below(GT_API_KINDS - 1)), at,
                            at + random_below(150));
            }
        }
        small_sort_points(s);
        int64_t at = 0;
        for (int i = 0; i < 40; i++, at += random_below(100)) {
            uint32_t point =
                random_below(5) ? (uint32_t)random_below((int64_t)s->schedule.point_count) : GT_NONE;
            small_copy(s, (uint32_t)random_below(3), point, random_below(2) ? "DtoH" : "HtoD",
                       random_below(2) * 65536, at, at + random_below(60));
        }
        s->steps[0] = (gt_step_times){.start_ns = 300000, .end_ns = 900000};
        s->steps[1] = (gt_step_times){.start_ns = 950000, .end_ns = 960000};
        s->schedule.step_count = 2;
        small_window(s, (uint32_t)random_below(5), random_below(2) ? GT_NONE : 39, 1);
        gt_idle_free(find(s));
        int64_t before = 0, pieces = 0;
        for (size_t i = 0; i < s->schedule.point_count; i++) before += s->points[i].before_ns;
        for (size_t i = 0; i < s->schedule.piece_count; i++)
            pieces += s->schedule.pieces[i].end_ns - s->schedule.pieces[i].start_ns;
        assert_int_equal(before, pieces);
        gt_build_overhead(&s->schedule);
        small_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queued_ops_leave_gaps_of_the_device),
        cmocka_unit_test(waiting_for_another_stream_is_a_dependency),
        cmocka_unit_test(late_queued_ops_depend_only_on_other_streams),
        cmocka_unit_test(only_the_first_op_of_a_graph_waits_for_the_host),
        cmocka_unit_test(late_starts_after_the_call_are_waits_of_the_device),
        cmocka_unit_test(calls_that_still_run_are_causes_of_the_host),
        cmocka_unit_test(calls_that_still_run_are_no_dependencies),
        cmocka_unit_test(calls_that_have_returned_are_no_causes),
        cmocka_unit_test(slow_graph_launches_are_causes_of_the_host),
        cmocka_unit_test(ops_without_launch_have_no_known_cause),
        cmocka_unit_test(labels_of_the_host_are_causes),
        cmocka_unit_test(long_launches_load_code),
        cmocka_unit_test(the_profiler_is_no_cause_of_the_host),
        cmocka_unit_test(calls_of_other_threads_reach_into_gaps),
        cmocka_unit_test(ops_that_start_before_their_launch_are_explained),
        cmocka_unit_test(the_aftermath_of_a_wait_is_synchronisation),
        cmocka_unit_test(launching_that_stays_late_remains_launching),
        cmocka_unit_test(calls_in_bursts_synchronise),
        cmocka_unit_test(gaps_are_those_of_all_streams_in_the_window),
        cmocka_unit_test(an_empty_schedule_has_no_gaps),
        cmocka_unit_test(causes_add_up_on_any_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
