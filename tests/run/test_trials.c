/* Statistics of repeats. Quantiles of Student's t are those of published tables and of
 * scipy.stats.t.ppf(0.975, v); the other figures are computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run/execute/trials.h"

#include <math.h>

static gt_arena arena;

static void quantiles(void **state)
{
    (void)state;
    static const struct {
        size_t freedom;
        double expected;
    } cases[] = {{1, 12.7062},  {2, 4.30265},  {5, 2.57058},   {30, 2.04227},     {31, 2.03951},
                 {40, 2.02108}, {60, 2.00030}, {120, 1.97993}, {1000000, 1.95997}};
    for (size_t i = 0; i < GT_LENGTH(cases); i++)
        assert_float_equal(gt_student_t975(cases[i].freedom), cases[i].expected, 2e-5);
    assert_true(isnan(gt_student_t975(0)));
}

static void spreads(void **state)
{
    (void)state;
    const double values[] = {10, 12, NAN, 14}; /* std 2, 4.30265 * 2 / sqrt(3) = 4.96827 */
    gt_spread s = gt_spread_of(values, 4);
    assert_int_equal(s.count, 3);
    assert_float_equal(s.mean, 12, 1e-12);
    assert_float_equal(s.median, 12, 1e-12);
    assert_float_equal(s.std, 2, 1e-12);
    assert_float_equal(s.low, 12 - 4.96827, 1e-5);
    assert_float_equal(s.high, 12 + 4.96827, 1e-5);
    assert_float_equal(s.min, 10, 0);
    assert_float_equal(s.max, 14, 0);
    s = gt_spread_of(values, 1);
    assert_float_equal(s.mean, 10, 0);
    assert_true(isnan(s.low) && isnan(s.high));
    s = gt_spread_of(values, 0);
    assert_int_equal(s.count, 0);
}

/* A machine that gets slower by 10 % from run to run, and a profiler that costs nothing: without turns, it
 * would seem to cost 10 %. */
static void drift_is_no_overhead(void **state)
{
    (void)state;
    gt_trials t = gt_trials_plan(&arena, 2, 4, true, "/x");
    assert_int_equal(t.count, 10);
    static const gt_trial_kind order[] = {
        GT_TRIAL_WARMUP,   GT_TRIAL_WARMUP,   GT_TRIAL_PROFILED, GT_TRIAL_BASELINE, GT_TRIAL_BASELINE,
        GT_TRIAL_PROFILED, GT_TRIAL_PROFILED, GT_TRIAL_BASELINE, GT_TRIAL_BASELINE, GT_TRIAL_PROFILED};
    double wall = 1;
    for (size_t i = 0; i < t.count; i++, wall *= 1.1) {
        assert_int_equal(t.items[i].kind, order[i]);
        t.items[i].figures[GT_TRIAL_WALL_S] = wall;
    }
    assert_string_equal(t.items[9].output_dir, "/x/repeat_4");
    t.done = t.count;
    gt_spread overhead = gt_trials_overhead(&t, GT_TRIAL_WALL_S);
    assert_int_equal(overhead.count, 4);
    assert_float_equal(overhead.mean, 0, 1e-9);
    assert_true(overhead.low < -10 && overhead.high > 10);
    assert_int_equal(gt_trials_overhead(&t, GT_TRIAL_PERFORMANCE).count, 0);
    t.done = 5; /* the pair of the second repeat is not complete */
    assert_int_equal(gt_trials_overhead(&t, GT_TRIAL_WALL_S).count, 1);
}

static void overhead_of_pairs(void **state)
{
    (void)state;
    gt_trials t = gt_trials_plan(&arena, 0, 3, true, "/x");
    t.done = t.count;
    for (size_t i = 0; i < t.count; i++) /* machines of different speed; the profiler always costs 25 % */
        t.items[i].figures[GT_TRIAL_WALL_S] =
            (double)t.items[i].number * (t.items[i].kind == GT_TRIAL_PROFILED ? 1.25 : 1);
    gt_spread overhead = gt_trials_overhead(&t, GT_TRIAL_WALL_S);
    assert_float_equal(overhead.mean, 25, 1e-9);
    assert_float_equal(overhead.low, 25, 1e-6);
    assert_float_equal(overhead.high, 25, 1e-6);
    assert_int_equal(gt_trials_typical(&t)->number, 2);
}

static int free_arena(void **state)
{
    (void)state;
    gt_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quantiles), cmocka_unit_test(spreads),
                                       cmocka_unit_test(drift_is_no_overhead),
                                       cmocka_unit_test(overhead_of_pairs)};
    return cmocka_run_group_tests(tests, NULL, free_arena);
}
