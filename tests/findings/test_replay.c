/* Points, starts of ops, and runs with edits, compared with times worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>

#include "findings/replay.h"
#include "small_schedule.h"

#define assert_us(ns, us)   assert_int_equal((ns), (int64_t)((us)*1000))
#define assert_time(ns, us) assert_float_equal((ns), (us)*1000.0, 1e-6)

static const gt_replay_options AS_RECORDED = {.recorded = true};

static double run_edit(const small_schedule *s, const gt_edit *edit)
{
    return gt_replay_run(&s->schedule, &edit, 1, AS_RECORDED, NULL);
}

/* ---- points ---- */

static void points_of_several_threads_follow_each_other(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 10);
    small_point(s, 0, GT_API_LAUNCH, 20, 25);
    small_point(s, 0, GT_API_LAUNCH, 40, 50);
    small_point(s, 1, GT_API_LAUNCH, 5, 30);
    small_sort_points(s);
    small_build(s);
    const int64_t expected[][3] = {{0, 0, 10}, {10, 0, 20}, {30, 0, 0}, {40, 10, 10}}; /* base, before, own */
    for (size_t i = 0; i < 4; i++) {
        assert_us(s->points[i].base_ns, expected[i][0]);
        assert_us(s->points[i].before_ns, expected[i][1]);
        assert_us(s->points[i].own_ns, expected[i][2]);
        assert_int_equal(s->points[i].wait_ns, 0);
        assert_int_equal(s->points[i].awaited, GT_NONE);
    }
    small_free(s);
}

/* One op of 2 to `op_end`, launched at 0 to 4, and a call of 10 to `call_end`: how long does it wait? */
static int64_t wait_of(gt_api_kind kind, int64_t op_end, int64_t call_end)
{
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 4);
    uint32_t point = small_point(s, 0, kind, 10, call_end);
    small_op(s, 0, 0, 2, op_end);
    small_build(s);
    int64_t wait = s->points[point].wait_ns;
    /* A synchronisation that found the GPU idle would wait if the op took longer. */
    bool would_wait = (kind == GT_API_SYNC || kind == GT_API_FREE) && op_end <= call_end + 1;
    assert_int_equal(s->points[point].awaited, wait || would_wait ? 0 : GT_NONE);
    assert_us(s->points[point].own_ns + wait, call_end - 10);
    small_free(s);
    return wait;
}

static void calls_wait_for_ops(void **state)
{
    (void)state;
    assert_us(wait_of(GT_API_SYNC, 50, 60), 40);
    assert_us(wait_of(GT_API_FREE, 50, 60), 40);
    assert_us(wait_of(GT_API_SYNC, 61, 60), 50);       /* the clocks differ by 1 us */
    assert_int_equal(wait_of(GT_API_SYNC, 62, 60), 0); /* still runs when the call returns */
    assert_int_equal(wait_of(GT_API_SYNC, 10, 60), 0); /* has ended before */
    assert_int_equal(wait_of(GT_API_COPY, 50, 60), 0); /* 50 us: an ordinary copy */
    assert_us(wait_of(GT_API_COPY, 50, 61), 40);
    assert_int_equal(wait_of(GT_API_LAUNCH, 50, 110), 0); /* 100 us: an ordinary launch */
    assert_us(wait_of(GT_API_LAUNCH, 101, 111), 91);
    assert_int_equal(wait_of(GT_API_LAUNCH, 100, 111), 0); /* still runs 11 us after the last op */
    assert_int_equal(wait_of(GT_API_ALLOC, 50, 200), 0);
    assert_int_equal(wait_of(GT_API_MODULE, 50, 200), 0);
}

static void calls_do_not_wait_for_later_launches(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 4);
    small_point(s, 0, GT_API_SYNC, 10, 60);
    small_point(s, 0, GT_API_SYNC, 70, 100);
    small_point(s, 1, GT_API_LAUNCH, 20, 22);
    small_sort_points(s); /* launch, sync, launch, sync */
    uint32_t first = small_op(s, 0, 0, 5, 50);
    uint32_t second = small_op(s, 1, 2, 24, 58);
    uint32_t unknown = small_op(s, 2, GT_NONE, 30, 90);
    small_build(s);
    assert_int_equal(s->points[1].awaited, first);
    assert_us(s->points[1].wait_ns, 40);
    assert_us(s->points[1].own_ns, 10);
    assert_int_equal(s->points[3].awaited, unknown); /* no launch is known: it counts */
    assert_us(s->points[3].wait_ns, 20);
    (void)second;
    small_free(s);
}

/* Two synchronisations: the first one waits, the second finds the GPU idle. Without the first, the second
 * waits instead, and nothing is gained. */
static void a_later_synchronisation_waits_instead(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 4);
    small_point(s, 0, GT_API_SYNC, 4, 60);
    small_point(s, 0, GT_API_FREE, 60, 62);
    small_point(s, 0, GT_API_LAUNCH, 62, 66);
    small_op(s, 0, 0, 5, 60);
    small_op(s, 0, 3, 68, 100);
    small_build(s);
    gt_edit edit = {0};
    const gt_edit *edits[] = {&edit};
    gt_edit_point_add(&edit, 1, GT_EDIT_NO_WAIT, 0);
    const gt_replay_options recorded = {.recorded = true};
    assert_float_equal(gt_replay_run(&s->schedule, edits, 1, recorded, NULL),
                       gt_replay_run(&s->schedule, NULL, 0, recorded, NULL), 1);
    gt_edit_point_add(&edit, 2, GT_EDIT_NO_WAIT, 0);
    assert_true(gt_replay_run(&s->schedule, edits, 1, recorded, NULL) <
                gt_replay_run(&s->schedule, NULL, 0, recorded, NULL) - 1000);
    gt_edit_free(&edit);
    small_free(s);
}

/* A copy that has ended when the call returns is what the call waited for; one that still runs only lets it
 * wait for the op before it on its stream, whatever ends on other streams. */
static void a_copy_waits_for_itself_or_its_stream(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 4);
    small_point(s, 0, GT_API_LAUNCH, 4, 8);
    small_point(s, 0, GT_API_COPY, 10, 110);
    small_point(s, 0, GT_API_COPY, 120, 220);
    small_op(s, 0, 0, 5, 105);
    uint32_t before = small_op(s, 1, 1, 9, 40);
    small_op(s, 1, 2, 41, 130);                 /* still runs at 110 */
    uint32_t own = small_op(s, 1, 3, 140, 200); /* has ended at 220 */
    small_build(s);
    assert_int_equal(s->points[2].awaited, before);
    assert_us(s->points[2].wait_ns, 30);
    assert_int_equal(s->points[3].awaited, own);
    assert_us(s->points[3].wait_ns, 80);
    small_free(s);
}

/* ---- starts ---- */

static void assert_begins(const small_schedule *s, uint32_t op, gt_op_start begins, int64_t offset_us)
{
    assert_int_equal(s->ops[op].begins, begins);
    assert_us(s->ops[op].offset_ns, offset_us);
}

static void the_launch_decides_on_an_idle_stream(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 5);
    small_point(s, 0, GT_API_LAUNCH, 100, 105);
    small_point(s, 0, GT_API_LAUNCH, 300, 305);
    uint32_t first = small_op(s, 0, 0, 8, 100);
    uint32_t second = small_op(s, 0, 1, 110, 120); /* the call comes just when the op before it ends */
    uint32_t late = small_op(s, 0, 2, 900, 910);   /* late, but there is no other stream */
    small_build(s);
    assert_begins(s, first, GT_START_HOST, 8);
    assert_begins(s, second, GT_START_HOST, 10);
    assert_begins(s, late, GT_START_HOST, 600);
    assert_int_equal(s->ops[first].previous, GT_NONE);
    assert_int_equal(s->ops[late].previous, second);
    assert_us(s->schedule.launch_ns, 8); /* the first of 8, 10 and 600 */
    small_free(s);
}

static void the_op_before_decides_in_a_queue(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 5);
    small_point(s, 0, GT_API_LAUNCH, 10, 15);
    small_point(s, 0, GT_API_LAUNCH, 20, 25);
    small_op(s, 0, 0, 8, 100);
    uint32_t second = small_op(s, 0, 1, 101, 120);
    uint32_t late = small_op(s, 0, 2, 170, 180); /* 50 us late, but there is no other stream */
    small_build(s);
    assert_begins(s, second, GT_START_QUEUE, 1);
    assert_begins(s, late, GT_START_QUEUE, 50);
    small_free(s);
}

static void another_stream_decides_if_the_op_is_late(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    for (int64_t i = 0; i < 6; i++) small_point(s, 0, GT_API_LAUNCH, 10 * i, 10 * i + 5);
    small_point(s, 0, GT_API_LAUNCH, 300, 305);
    small_point(s, 0, GT_API_LAUNCH, 500, 505);
    uint32_t other = small_op(s, 1, 0, 5, 150);
    small_op(s, 0, 1, 15, 100);
    uint32_t queued =
        small_op(s, 0, 2, 151, 160); /* 51 us after the op before it, 1 after the other stream */
    uint32_t near = small_op(s, 0, 3, 161, 290);
    uint32_t longer = small_op(s, 1, 4, 170, 420);
    uint32_t launched = small_op(s, 0, 6, 421, 430); /* 121 us after its call, 1 after the other stream */
    uint32_t prompt = small_op(s, 0, 7, 590, 600);   /* 90 us after its call: nothing else is looked for */
    small_build(s);
    assert_begins(s, queued, GT_START_DEPENDENCY, 1);
    assert_int_equal(s->ops[queued].dependency, other);
    assert_begins(s, near, GT_START_QUEUE, 1);
    assert_begins(s, launched, GT_START_DEPENDENCY, 1);
    assert_int_equal(s->ops[launched].dependency, longer);
    assert_begins(s, prompt, GT_START_HOST, 90);
    small_free(s);
}

static void the_other_stream_must_have_ended_last(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    for (int64_t i = 0; i < 3; i++) small_point(s, 0, GT_API_LAUNCH, 10 * i, 10 * i + 5);
    small_op(s, 1, 0, 5, 90); /* ends before the op before the late one */
    small_op(s, 0, 1, 15, 100);
    uint32_t late = small_op(s, 0, 2, 151, 160);
    small_build(s);
    assert_begins(s, late, GT_START_QUEUE, 51);
    s->ops[0].end_ns = 152 * 1000; /* ends after the late one has started */
    small_build(s);
    assert_begins(s, late, GT_START_QUEUE, 51);
    s->ops[0].end_ns = 151 * 1000 + 500; /* within the error of the clocks */
    small_build(s);
    assert_int_equal(s->ops[late].begins, GT_START_DEPENDENCY);
    assert_int_equal(s->ops[late].offset_ns, -500);
    small_free(s);
}

static void ops_without_launch_are_fixed_or_queued(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    uint32_t first = small_op(s, 0, GT_NONE, 7, 10);
    uint32_t second = small_op(s, 0, GT_NONE, 12, 20);
    small_build(s);
    assert_begins(s, first, GT_START_FIXED, 7);
    assert_begins(s, second, GT_START_QUEUE, 2);
    assert_us(s->schedule.launch_ns, 4); /* no launch to learn from */
    small_free(s);
}

static void the_usual_launch_takes_at_least_a_microsecond(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 10, 15);
    small_op(s, 0, 0, 5, 20); /* starts before its call: the clocks differ */
    small_build(s);
    assert_us(s->schedule.launch_ns, 1);
    assert_begins(s, 0, GT_START_HOST, -5);
    small_free(s);
}

/* ---- runs ---- */

/* Five steps of 100 us: a launch of 10 us whose op starts after 15 us and takes 20 us. */
static small_schedule *steady(void)
{
    small_schedule *s = small_new();
    for (int64_t i = 0; i < 5; i++) {
        small_point(s, 0, GT_API_LAUNCH, 100 * i, 100 * i + 10);
        small_op(s, 0, (uint32_t)i, 100 * i + 15, 100 * i + 35);
    }
    small_window(s, 0, 4, 4);
    small_build(s);
    return s;
}

static void edit_all(gt_edit *edit, const small_schedule *s, uint8_t flags, double before_us)
{
    for (uint32_t i = 0; i < s->schedule.point_count; i++)
        gt_edit_point_add(edit, i, flags, before_us * 1000);
}

static void edit_durations(gt_edit *edit, const small_schedule *s, double us)
{
    for (uint32_t i = 0; i < s->schedule.op_count; i++) gt_edit_op_add(edit, i, us * 1000);
}

static void a_run_without_edits_gives_the_recorded_times(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    for (int64_t i = 0; i < 4; i++) small_point(s, 0, GT_API_LAUNCH, 10 * i, 10 * i + 5);
    small_point(s, 0, GT_API_SYNC, 45, 205);
    small_point(s, 0, GT_API_LAUNCH, 250, 255);
    small_point(s, 0, GT_API_LAUNCH, 330, 335);
    small_op(s, 2, GT_NONE, 1, 3); /* fixed */
    small_op(s, 0, 0, 3, 80);      /* after its launch, sooner than usual */
    small_op(s, 1, 1, 20, 150);
    small_op(s, 0, 2, 82, 100);  /* queued */
    small_op(s, 0, 3, 152, 200); /* after the other stream */
    small_op(s, 0, 5, 256, 300);
    small_op(s, 0, 6, 336, 340);
    small_window(s, 1, 6, 1);
    small_build(s);
    double starts[8], ends[8];
    gt_replay_times times = {starts, ends};
    double step = gt_replay_run(&s->schedule, NULL, 0, AS_RECORDED, &times);
    assert_us(s->schedule.launch_ns, 6);
    assert_time(step, 333);
    for (size_t i = 0; i < s->schedule.op_count; i++) {
        assert_float_equal(starts[i], (double)s->ops[i].start_ns, 1e-6);
        assert_float_equal(ends[i], (double)s->ops[i].end_ns, 1e-6);
    }
    small_free(s);
}

/* Runs of a schedule that is prepared give the same, with all kinds of edits. */
static void prepared_schedules_give_the_same(void **state)
{
    (void)state;
    small_schedule *s = steady();
    gt_edit edit = {0};
    edit_all(&edit, s, 0, 30);
    gt_edit_point_add(&edit, 1, GT_EDIT_NO_CALL | GT_EDIT_NO_WAIT, 0);
    gt_edit_op_add(&edit, 1, 2000);
    gt_edit_op_start_soon(&edit, 2);
    const gt_edit *edits[] = {&edit};
    static const gt_replay_options options[] = {{0}, {.recorded = true}, {.fast_host = true}};
    for (size_t i = 0; i < GT_LENGTH(options); i++) {
        double expected = gt_replay_run(&s->schedule, edits, 1, options[i], NULL);
        gt_replay_prepare(&s->schedule);
        assert_true(gt_replay_run(&s->schedule, edits, 1, options[i], NULL) == expected);
        assert_true(gt_replay_run(&s->schedule, NULL, 0, options[i], NULL) > expected);
        gt_replay_forget(&s->schedule);
    }
    gt_edit_free(&edit);
    small_free(s);
}

static void removed_host_time_shortens_the_step(void **state)
{
    (void)state;
    small_schedule *s = steady();
    gt_edit edit = {0};
    assert_time(run_edit(s, &edit), 100);
    edit_all(&edit, s, 0, 50);
    assert_time(run_edit(s, &edit), 50);
    edit_all(&edit, s, 0, 30); /* 80 of 90 us: launches follow every 20 us */
    assert_time(run_edit(s, &edit), 20);
    edit_all(&edit, s, 0, 1000); /* no less than nothing: now the GPU needs 20 us */
    assert_time(run_edit(s, &edit), 20);
    gt_edit_free(&edit);
    small_free(s);
}

static void calls_without_cost_let_ops_start_sooner(void **state)
{
    (void)state;
    small_schedule *s = steady();
    gt_edit edit = {0};
    edit_all(&edit, s, GT_EDIT_NO_CALL, 0);
    assert_time(run_edit(s, &edit), 90);
    /* Only the fourth call: it is made when it was, and the fifth 10 us sooner. */
    gt_edit_free(&edit);
    gt_edit_point_add(&edit, 3, GT_EDIT_NO_CALL, 0);
    assert_time(run_edit(s, &edit), 97.5);
    /* A call that launched late now launches in the usual time: 15 us instead of 60. */
    s->ops[4].start_ns += 45000, s->ops[4].end_ns += 45000;
    small_window(s, 0, 4, 4);
    small_build(s);
    assert_us(s->schedule.launch_ns, 15);
    assert_time(run_edit(s, NULL), 111.25);
    gt_edit_free(&edit);
    gt_edit_point_add(&edit, 4, GT_EDIT_NO_CALL, 0);
    assert_time(run_edit(s, &edit), 100);
    gt_edit_free(&edit);
    small_free(s);
}

static void other_durations_matter_where_the_gpu_is_late(void **state)
{
    (void)state;
    small_schedule *s = steady();
    gt_edit faster = {0}, sooner = {0}, slower = {0};
    edit_durations(&faster, s, 4);
    edit_all(&sooner, s, GT_EDIT_NO_CALL, 1000);
    assert_time(run_edit(s, &faster), 100); /* hidden behind the host */
    assert_time(run_edit(s, &sooner), 20);
    const gt_edit *both[] = {&faster, NULL, &sooner};
    assert_time(gt_replay_run(&s->schedule, both, 3, AS_RECORDED, NULL), 4);
    edit_durations(&slower, s, 7); /* the shortest duration counts */
    const gt_edit *all[] = {&slower, &sooner, &faster};
    assert_time(gt_replay_run(&s->schedule, all, 3, AS_RECORDED, NULL), 4);
    assert_time(gt_replay_run(&s->schedule, all, 2, AS_RECORDED, NULL), 7);
    edit_durations(&slower, s, -3); /* no less than nothing */
    assert_time(gt_replay_run(&s->schedule, all, 2, AS_RECORDED, NULL), 0);
    gt_edit_free(&faster);
    gt_edit_free(&sooner);
    gt_edit_free(&slower);
    small_free(s);
}

static void calls_that_do_not_wait_run_ahead(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    for (int64_t i = 0; i < 4; i++) { /* 200 us: launch, op of 100 us, synchronise, 80 us of host time */
        small_point(s, 0, GT_API_LAUNCH, 200 * i, 200 * i + 10);
        small_point(s, 0, GT_API_SYNC, 200 * i + 20, 200 * i + 120);
        small_op(s, 0, (uint32_t)(2 * i), 200 * i + 15, 200 * i + 115);
    }
    small_window(s, 0, 3, 3);
    small_build(s);
    assert_us(s->points[1].wait_ns, 95);
    assert_us(s->points[1].own_ns, 5);
    gt_edit edit = {0};
    assert_time(run_edit(s, NULL), 200);
    for (uint32_t i = 1; i < 8; i += 2) gt_edit_point_add(&edit, i, GT_EDIT_NO_WAIT, 0);
    assert_time(run_edit(s, &edit), 105); /* 200 less the wait */
    edit_all(&edit, s, GT_EDIT_NO_CALL, 0);
    assert_time(run_edit(s, &edit), 100); /* the host needs 90, the GPU 100 */
    /* A faster op ends the wait sooner. */
    gt_edit shorter = {0};
    edit_durations(&shorter, s, 60);
    assert_time(run_edit(s, &shorter), 160);
    gt_edit_free(&edit);
    gt_edit_free(&shorter);
    small_free(s);
}

static void the_cost_of_recording_is_taken_out(void **state)
{
    (void)state;
    small_schedule *s = steady();
    for (size_t i = 0; i < 5; i++) s->points[i].keep_before = 0.5, s->points[i].keep_own = 0.9;
    gt_edit edit = {0};
    edit_all(&edit, s, 0, 50);
    const gt_edit *edits[] = {&edit};
    gt_replay_options deflated = {0};
    assert_time(gt_replay_run(&s->schedule, NULL, 0, AS_RECORDED, NULL), 100);
    assert_time(gt_replay_run(&s->schedule, NULL, 0, deflated, NULL), 90 * 0.5 + 10 * 0.9);
    assert_time(gt_replay_run(&s->schedule, edits, 1, deflated, NULL), 40 * 0.5 + 10 * 0.9);
    gt_edit_free(&edit);
    small_free(s);
}

static void a_full_queue_does_not_hide_a_slow_host(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_point(s, 0, GT_API_LAUNCH, 0, 5);
    small_point(s, 0, GT_API_LAUNCH, 10, 15);
    small_point(s, 0, GT_API_LAUNCH, 110, 115);
    small_point(s, 0, GT_API_LAUNCH, 210, 215);
    small_op(s, 0, 0, 6, 1000);
    small_op(s, 0, 1, 1000, 1025);
    small_op(s, 0, 2, 1025, 1050);
    small_op(s, 0, 3, 1050, 1100);
    small_window(s, 1, 3, 1);
    small_build(s);
    /* From the first launch to before the last: two calls of 5 us and 95 us between. */
    assert_time(gt_replay_run(&s->schedule, NULL, 0, AS_RECORDED, NULL), 105);
    gt_replay_options alone = {.recorded = true, .gpu_alone = true};
    assert_time(gt_replay_run(&s->schedule, NULL, 0, alone, NULL), 50);
    gt_replay_times times = {0}; /* one run tells both */
    assert_time(gt_replay_run(&s->schedule, NULL, 0, AS_RECORDED, &times), 105);
    assert_time(times.gpu_ns, 50);
    small_free(s);
}

static void a_window_may_end_with_its_last_op(void **state)
{
    (void)state;
    small_schedule *s = steady();
    small_window(s, 0, GT_NONE, 1);
    gt_edit edit = {0};
    edit_all(&edit, s, 0, 50);
    assert_time(run_edit(s, NULL), 420); /* 15 to 435 */
    assert_time(run_edit(s, &edit), 220);
    for (size_t i = 0; i < 3; i++) s->ops[i].step = 7; /* others belong to no step */
    assert_time(run_edit(s, NULL), 220);
    gt_edit_free(&edit);
    small_free(s);
}

static void labels_can_be_removed(void **state)
{
    (void)state;
    small_schedule *s = steady();
    for (uint32_t i = 1; i < 5; i++) {
        int64_t start = (100 * (int64_t)i - 90) * 1000;
        gt_piece pieces[] = {{start, start + 20000, GT_NONE, GT_CAUSE_DATA},
                             {start + 20000, start + 60000, GT_NONE, GT_CAUSE_PYTHON},
                             {start + 60000, start + 90000, GT_NONE, GT_CAUSE_DATA}};
        s->points[i].first_piece = (uint32_t)s->schedule.piece_count;
        s->points[i].piece_count = 3;
        for (size_t k = 0; k < 3; k++)
            GT_PUSH(s->schedule.pieces, s->schedule.piece_count, s->schedule.piece_capacity, pieces[k]);
    }
    gt_edit data = {0}, python = {0}, sync = {0};
    gt_edit_remove_label(&data, &s->schedule, GT_CAUSE_DATA);
    gt_edit_remove_label(&python, &s->schedule, GT_CAUSE_PYTHON);
    gt_edit_remove_label(&sync, &s->schedule, GT_CAUSE_SYNC);
    assert_int_equal(data.point_count, 4);
    assert_int_equal(sync.point_count, 0);
    assert_time(run_edit(s, &data), 50);
    assert_time(run_edit(s, &python), 60);
    gt_edit_free(&data);
    gt_edit_free(&python);
    gt_edit_free(&sync);
    small_free(s);
}

static void small_schedules_do_no_harm(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_build(s);
    assert_time(run_edit(s, NULL), 0); /* nothing at all */
    small_free(s);

    s = small_new();
    small_point(s, 0, GT_API_SYNC, 0, 10);
    small_build(s);
    assert_time(run_edit(s, NULL), 0); /* no op */
    small_free(s);

    s = small_new();
    small_op(s, 0, GT_NONE, 5, 12);
    small_window(s, 0, GT_NONE, 1);
    small_build(s);
    assert_time(run_edit(s, NULL), 7); /* one op, no point */
    gt_edit edit = {0};
    gt_edit_op_add(&edit, 0, 2000);
    gt_edit_op_add(&edit, 77, 2000); /* no such op, no such point */
    gt_edit_point_add(&edit, 77, GT_EDIT_NO_CALL, 5);
    assert_time(run_edit(s, &edit), 2);
    gt_edit_free(&edit);
    small_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_of_several_threads_follow_each_other),
        cmocka_unit_test(calls_wait_for_ops),
        cmocka_unit_test(calls_do_not_wait_for_later_launches),
        cmocka_unit_test(a_later_synchronisation_waits_instead),
        cmocka_unit_test(a_copy_waits_for_itself_or_its_stream),
        cmocka_unit_test(the_launch_decides_on_an_idle_stream),
        cmocka_unit_test(the_op_before_decides_in_a_queue),
        cmocka_unit_test(another_stream_decides_if_the_op_is_late),
        cmocka_unit_test(the_other_stream_must_have_ended_last),
        cmocka_unit_test(ops_without_launch_are_fixed_or_queued),
        cmocka_unit_test(the_usual_launch_takes_at_least_a_microsecond),
        cmocka_unit_test(a_run_without_edits_gives_the_recorded_times),
        cmocka_unit_test(prepared_schedules_give_the_same),
        cmocka_unit_test(removed_host_time_shortens_the_step),
        cmocka_unit_test(calls_without_cost_let_ops_start_sooner),
        cmocka_unit_test(other_durations_matter_where_the_gpu_is_late),
        cmocka_unit_test(calls_that_do_not_wait_run_ahead),
        cmocka_unit_test(the_cost_of_recording_is_taken_out),
        cmocka_unit_test(a_full_queue_does_not_hide_a_slow_host),
        cmocka_unit_test(a_window_may_end_with_its_last_op),
        cmocka_unit_test(labels_can_be_removed),
        cmocka_unit_test(small_schedules_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
