/* Traces that begin while the GPU is behind the host: ops without a launch, calls that wait for ops that are
 * not in the trace, and libraries with streams of their own. Expected times were worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>

#include "findings/rules/backlog.h"
#include "findings/rules.h"
#include "small_schedule.h"

static void name_op(small_schedule *s, uint32_t op, const char *name)
{
    s->ops[op].name = gt_interner_add_cstr(s->schedule.strings, name);
}

/* The new duration of an op in us; -1: it is not changed. */
static double new_us(const gt_edit *edit, uint32_t op)
{
    for (size_t i = 0; i < edit->op_count; i++)
        if (edit->ops[i].op == op) return edit->ops[i].dur_ns / 1000;
    return -1;
}

static void ops_without_launch_change_as_others_of_their_name(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    uint32_t point = small_point(s, 0, GT_API_LAUNCH, 0, 5);
    const char *names[] = {"a", "b", "c", "a", "a", "b"};
    for (uint32_t i = 0; i < 6; i++)
        name_op(s, small_op(s, 0, i < 3 ? GT_NONE : point, 100 * i, 100 * i + 100), names[i]);
    small_build(s);
    gt_backlog backlog = gt_backlog_find(&s->schedule);
    gt_edit edit = {0};
    gt_edit_op_add(&edit, 3, 60000);
    gt_edit_op_add(&edit, 3, 20000); /* the shortest counts */
    gt_backlog_extend(&backlog, &s->schedule, &edit);
    /* Of 200 us of "a" with a launch, 120 remain; nothing is known of "b" and "c". */
    assert_int_equal(edit.op_count, 3);
    assert_float_equal(new_us(&edit, 0), 60, 1e-9);
    assert_true(new_us(&edit, 1) < 0 && new_us(&edit, 2) < 0);
    gt_edit_free(&edit);
    gt_backlog_free(&backlog);
    small_free(s);
}

static void nothing_changes_without_a_backlog(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    uint32_t point = small_point(s, 0, GT_API_LAUNCH, 0, 5);
    small_op(s, 0, point, 10, 20);
    small_op(s, 0, point, 20, 20); /* takes no time */
    small_build(s);
    gt_backlog backlog = gt_backlog_find(&s->schedule);
    assert_int_equal(backlog.kernel_count, 0);
    gt_edit edit = {0};
    gt_edit_op_add(&edit, 0, 0);
    gt_backlog_extend(&backlog, &s->schedule, &edit);
    assert_int_equal(edit.op_count, 1);
    gt_edit_free(&edit);
    gt_backlog_free(&backlog);
    small_free(s);
}

/* Three launches of 5 us, one of 2000 us before the first op of the trace, and one of 2000 us after it. */
static void add_calls(small_schedule *s, uint32_t first_op_point)
{
    for (int64_t i = 0; i < 3; i++) small_point(s, 0, GT_API_LAUNCH, 10 * i, 10 * i + 5);
    small_point(s, 0, GT_API_LAUNCH, 30, 2030);
    small_point(s, 0, GT_API_LAUNCH, 3000, 5000);
    small_op(s, 0, first_op_point, 2500, 2600);
    small_op(s, 0, 0, 6000, 6100);
}

static void calls_wait_for_ops_before_the_trace(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    add_calls(s, GT_NONE);
    small_build(s);
    assert_int_equal(s->points[3].own_ns, 5000);
    assert_int_equal(s->points[3].wait_ns, 1995000);
    assert_int_equal(s->points[3].awaited, GT_NONE);
    assert_false(s->points[3].flags & GT_POINT_FIRST_USE);
    assert_int_equal(s->points[4].own_ns, 2000000); /* nothing ran then */
    assert_true(s->points[4].flags & GT_POINT_FIRST_USE);
    small_free(s);
    /* If the launch of the first op is there, the GPU was idle before: the call took that long itself. */
    s = small_new();
    add_calls(s, 1);
    small_build(s);
    assert_int_equal(s->points[3].own_ns, 2000000);
    assert_true(s->points[3].flags & GT_POINT_FIRST_USE);
    small_free(s);
}

static void expect_dependency(const small_schedule *s, uint32_t op, uint32_t other, int64_t offset_us)
{
    assert_int_equal(s->ops[op].begins, GT_START_DEPENDENCY);
    assert_int_equal(s->ops[op].dependency, other);
    assert_int_equal(s->ops[op].offset_ns, offset_us * 1000);
}

/* Stream 1 starts after an op of stream 0, while an op of stream 2 still runs. */
static void an_op_depends_on_what_ended_while_others_run(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    uint32_t point = small_point(s, 0, GT_API_LAUNCH, 0, 5);
    small_op(s, 1, point, 10, 20);
    uint32_t before = small_op(s, 0, point, 20, 500);
    small_op(s, 2, point, 30, 900);
    uint32_t op = small_op(s, 1, point, 502, 600);
    small_build(s);
    expect_dependency(s, op, before, 2);
    small_free(s);
}

/* The first op of a stream, without a launch, right after an op of another stream. */
static void a_stream_may_begin_after_another(void **state)
{
    (void)state;
    small_schedule *s = small_new();
    small_op(s, 0, GT_NONE, 0, 100);
    uint32_t op = small_op(s, 1, GT_NONE, 103, 200), late = small_op(s, 2, GT_NONE, 300, 400);
    small_build(s);
    assert_int_equal(s->ops[0].begins, GT_START_FIXED);
    expect_dependency(s, op, 0, 3);
    assert_int_equal(s->ops[late].begins, GT_START_FIXED); /* 100 us after the last end */
    small_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_without_launch_change_as_others_of_their_name),
        cmocka_unit_test(nothing_changes_without_a_backlog),
        cmocka_unit_test(calls_wait_for_ops_before_the_trace),
        cmocka_unit_test(an_op_depends_on_what_ended_while_others_run),
        cmocka_unit_test(a_stream_may_begin_after_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
