/* Exclusive time of ops compared with a drawing: every nanosecond of a short window is a cell, and the first
 * op of the first class that covers a cell gets it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <cmocka.h>

#include "base/memory.h"
#include "findings/exclusive.h"

#include <stdlib.h>
#include <string.h>

enum { OPS = 40, CELLS = 300 };

static uint64_t random_state = 7;

static int64_t random_below(int64_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)limit);
}

static gt_gpu_op op(int64_t start_ns, int64_t end_ns, gt_op_class of_class)
{
    return (gt_gpu_op){.start_ns = start_ns,
                       .end_ns = end_ns,
                       .kind = of_class == GT_OPS_MEMORY ? GT_KIND_MEMCPY : GT_KIND_KERNEL,
                       .communicates = of_class == GT_OPS_COMMUNICATION};
}

static void expect(gt_gpu_op *ops, size_t count, gt_step_window window, const int64_t *expected)
{
    gt_schedule schedule = {.ops = ops, .op_count = count, .window = window};
    int64_t *found = gt_ops_exclusive_ns(&schedule);
    for (size_t i = 0; i < count; i++) assert_int_equal(found[i], expected[i]);
    gt_free(found);
}

static void the_example(void **state)
{
    (void)state;
    gt_gpu_op ops[] = {op(0, 10, GT_OPS_COMPUTE), op(2, 27, GT_OPS_COMMUNICATION), op(5, 18, GT_OPS_COMPUTE),
                       op(17, 23, GT_OPS_COMPUTE)};
    expect(ops, 4, (gt_step_window){.end_ns = 30}, (const int64_t[]){10, 4, 8, 5});
}

static void ops_outside_the_window(void **state)
{
    (void)state;
    gt_gpu_op ops[] = {op(0, 10, GT_OPS_COMPUTE), op(5, 25, GT_OPS_COMPUTE), op(30, 60, GT_OPS_MEMORY),
                       op(55, 60, GT_OPS_COMPUTE)};
    expect(ops, 4, (gt_step_window){.start_ns = 20, .end_ns = 50}, (const int64_t[]){0, 5, 20, 0});
    expect(ops, 0, (gt_step_window){0}, NULL);
}

/* A copy below communication below a kernel: only what sticks out counts. */
static void classes_in_layers(void **state)
{
    (void)state;
    gt_gpu_op ops[] = {op(0, 100, GT_OPS_MEMORY), op(10, 90, GT_OPS_COMMUNICATION),
                       op(20, 30, GT_OPS_COMPUTE), op(40, 50, GT_OPS_COMPUTE), op(80, 95, GT_OPS_COMPUTE)};
    expect(ops, 5, (gt_step_window){.end_ns = 100}, (const int64_t[]){15, 50, 10, 10, 15});
}

static int by_start(const void *a, const void *b)
{
    const gt_gpu_op *left = a, *right = b;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

static void draw(const gt_gpu_op *ops, size_t count, gt_step_window window, int64_t *expected)
{
    memset(expected, 0, count * sizeof *expected);
    for (int64_t cell = window.start_ns; cell < window.end_ns; cell++) {
        size_t owner = count;
        for (size_t i = 0; i < count; i++)
            if (ops[i].start_ns <= cell && cell < ops[i].end_ns &&
                (owner == count || gt_op_class_of(&ops[i]) < gt_op_class_of(&ops[owner])))
                owner = i;
        if (owner < count) expected[owner]++;
    }
}

/* Who owns each cell; stretches that overlap would count twice. */
static void paint(void *context, size_t index, int64_t start_ns, int64_t end_ns)
{
    int8_t *owners = context;
    assert_true(start_ns < end_ns);
    for (int64_t cell = start_ns; cell < end_ns; cell++) {
        assert_int_equal(owners[cell], -1);
        owners[cell] = (int8_t)index;
    }
}

/* Stretches between any two times, compared with the drawing of each cell alone. */
static void expect_stretches(gt_gpu_op *ops, size_t count, gt_step_window window)
{
    int8_t owners[2 * CELLS];
    gt_schedule schedule = {.ops = ops, .op_count = count};
    memset(owners, -1, sizeof owners);
    gt_ops_exclusive_visit(&schedule, window.start_ns, window.end_ns, paint, owners);
    for (int64_t cell = 0; cell < (int64_t)(2 * CELLS); cell++) {
        int64_t drawn[OPS];
        int8_t owner = -1;
        bool inside = window.start_ns <= cell && cell < window.end_ns;
        draw(ops, count, (gt_step_window){.start_ns = cell, .end_ns = cell + inside}, drawn);
        for (size_t i = 0; i < count; i++)
            if (drawn[i]) owner = (int8_t)i;
        assert_int_equal(owners[cell], owner);
    }
}

static void random_ops(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        gt_gpu_op ops[OPS];
        int64_t expected[OPS], longest = 1 + random_below(60);
        size_t count = (size_t)random_below(OPS + 1);
        for (size_t i = 0; i < count; i++) {
            int64_t start_ns = random_below(CELLS);
            ops[i] = op(start_ns, start_ns + random_below(longest + 1), (gt_op_class)random_below(3));
        }
        if (count) qsort(ops, count, sizeof *ops, by_start);
        gt_step_window window = {.start_ns = random_below(CELLS / 2),
                                 .end_ns = CELLS / 2 + random_below(CELLS)};
        draw(ops, count, window, expected);
        expect(ops, count, window, expected);
        if (round % 10 == 0) expect_stretches(ops, count, window);
    }
}

/* A million ops that all end together, and as many short ones of another class below them: quadratic work
 * would not end. */
static void many_overlapping_ops(void **state)
{
    (void)state;
    enum { MANY = 1000000 };
    gt_gpu_op *ops = gt_alloc((size_t)2 * MANY * sizeof *ops);
    for (int64_t i = 0; i < MANY; i++) {
        ops[2 * i] = op(10 * i, 10 * MANY, GT_OPS_COMMUNICATION);
        ops[2 * i + 1] = op(10 * i, 10 * i + 4, GT_OPS_COMPUTE);
    }
    gt_schedule schedule = {.ops = ops, .op_count = (size_t)2 * MANY, .window = {.end_ns = 10 * MANY}};
    int64_t *found = gt_ops_exclusive_ns(&schedule), compute = 0, rest = 0;
    for (size_t i = 0; i < MANY; i++) rest += found[2 * i], compute += found[2 * i + 1];
    assert_int_equal(found[0], 6 * (int64_t)MANY);
    assert_int_equal(compute, 4 * (int64_t)MANY);
    assert_int_equal(rest, 6 * (int64_t)MANY);
    gt_free(found);
    gt_free(ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example),          cmocka_unit_test(ops_outside_the_window),
        cmocka_unit_test(classes_in_layers),    cmocka_unit_test(random_ops),
        cmocka_unit_test(many_overlapping_ops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
