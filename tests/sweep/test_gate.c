/* Changes between two sweeps: tests and conditions.
 *
 * Expected p-values were computed in Python (Welch's test with the density of Student's distribution
 * integrated, Holm's correction by hand).
 *
 * As `test_gate gates CONDITION`, the program checks the condition for the pairs of sweeps on its standard
 * input, one per line, for test_simulations.py: "1.5 1.6|1.7 1.8;2.1|2.2" are two settings with their old and
 * new runs. It prints the outcome of each gate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "sweep/gate/gate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_near(double value, double expected, double error)
{
    if (!(fabs(value - expected) <= error)) fail_msg("%.12g is not %.12g", value, expected);
}

static gt_number_series series(const double *values, size_t count)
{
    gt_number_series list = {0};
    for (size_t i = 0; i < count; i++) gt_series_add(&list, values[i]);
    return list;
}

static void free_values(gt_sweep_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gt_free(changes[i].values[0].items);
        gt_free(changes[i].values[1].items);
    }
}

/* ---- tests ---- */

static const double slow[] = {103.1, 101.2, 104.9, 102.2}, fast[] = {99.5, 100.2, 98.1, 101.0, 100.6};

static gt_sweep_change change_of(gt_sweep_measure_kind kind, const double *old, size_t old_count,
                                 const double *new, size_t new_count)
{
    return (gt_sweep_change){
        .kind = kind, .message_mb = NAN, .values = {series(old, old_count), series(new, new_count)}};
}

/* One change. Without outliers, the model is near to Welch's test. */
static void test_one_change(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        gt_sweep_change change = change_of(k ? GT_MEASURE_BUS : GT_MEASURE_STEP, fast, 5, slow, 4);
        gt_sweep_changes_test(&change, 1, true);
        expect_near(change.change_pct.value, 2.9699632, 1e-6);
        expect_near(change.change_pct.low, 0.6294445, 0.1);
        expect_near(change.change_pct.high, 5.3649195, 0.1);
        expect_near(change.p_single, 0.02140834302, 0.003);
        assert_true(change.p_value == change.p_single);
        free_values(&change, 1);
        const double slower[] = {105.1, 103.2, 106.9, 104.2};
        change = change_of(k ? GT_MEASURE_BUS : GT_MEASURE_STEP, fast, 5, slower, 4);
        gt_sweep_changes_test(&change, 1, true);
        assert_int_equal(change.verdict, k ? GT_CHANGE_BETTER : GT_CHANGE_WORSE);
        free_values(&change, 1);
    }
}

/* Noise-free values 0 and 0, 0 and 2, 4 and 2, and nothing: no logarithm, infinite and ordinary changes. */
static void test_zeros(void **state)
{
    (void)state;
    const double zeros[] = {0, 0, 0}, twos[] = {2, 2, 2}, some[] = {0, 4, 8, 4};
    gt_sweep_change changes[] = {
        change_of(GT_MEASURE_EXPOSED, zeros, 3, zeros, 3), change_of(GT_MEASURE_EXPOSED, zeros, 3, twos, 3),
        change_of(GT_MEASURE_EXPOSED, some, 4, twos, 3),   change_of(GT_MEASURE_EXPOSED, twos, 3, NULL, 0),
        change_of(GT_MEASURE_EXPOSED, NULL, 0, twos, 3),   change_of(GT_MEASURE_EXPOSED, twos, 1, twos, 3)};
    gt_sweep_changes_test(changes, 6, true);
    assert_true(changes[0].change_pct.value == 0 && changes[0].p_single == 1);
    assert_true(isinf(changes[1].change_pct.value) && changes[1].p_single == 0 &&
                changes[1].verdict == GT_CHANGE_WORSE);
    expect_near(changes[2].old_value, 4, 1e-12);
    expect_near(changes[2].new_value, 2, 1e-12);
    expect_near(changes[2].change_pct.value, -50, 1e-9);
    /* means 4 and 2, variances 32/3 and 0: t = 2 / sqrt(8/3) with 3 degrees of freedom */
    expect_near(changes[2].p_single, 0.30806801, 1e-7);
    assert_int_equal(changes[2].verdict, GT_CHANGE_UNDECIDED);
    assert_int_equal(changes[3].verdict, GT_CHANGE_MISSING);
    assert_int_equal(changes[4].verdict, GT_CHANGE_NEW);
    assert_true(changes[5].verdict == GT_CHANGE_UNKNOWN && isnan(changes[5].p_value));
    free_values(changes, 6);
}

/* Of what was run once, steps say nothing about the next run. */
static void test_parts_of_runs(void **state)
{
    (void)state;
    gt_sweep_change change = change_of(GT_MEASURE_STEP, fast, 5, slow, 4);
    gt_sweep_changes_test(&change, 1, false);
    assert_true(isnan(change.p_single) && isnan(change.p_value) && isnan(change.change_pct.low));
    expect_near(change.change_pct.value, 2.9699632, 1e-6);
    assert_int_equal(change.verdict, GT_CHANGE_UNKNOWN);
    free_values(&change, 1);
}

/* A disturbed run of five changes nothing: with it, the means differ by 8 %. */
static void test_outlier(void **state)
{
    (void)state;
    const double old[] = {100.1, 99.9, 100, 100.2, 99.8}, new[] = {100.2, 99.9, 150, 100.1, 99.8};
    gt_sweep_change changes[] = {change_of(GT_MEASURE_STEP, old, 5, new, 5),
                                 change_of(GT_MEASURE_STEP, new, 5, old, 5)};
    gt_sweep_changes_test(changes, 2, true);
    expect_near(changes[0].change_pct.value, 0, 0.001); /* the geometric means are equal but for rounding */
    assert_true(changes[0].p_value > 0.5 && changes[1].p_value > 0.5);
    assert_true(changes[0].samples[1].count == 4 && changes[0].samples[1].runs == 5);
    free_values(changes, 2);
    const double fast_bus[] = {50, 50.1, 49.9, 50, 25}, same_bus[] = {50.1, 50, 49.9, 50, 50.1};
    gt_sweep_change bus = change_of(GT_MEASURE_BUS, fast_bus, 5, same_bus, 5);
    bus.collective = "allreduce";
    bus.message_mb = 1;
    gt_sweep_changes_test(&bus, 1, true);
    assert_true(bus.samples[0].count == 4 && bus.verdict == GT_CHANGE_UNDECIDED);
    expect_near(bus.old_value, 50, 0.001);
    free_values(&bus, 1);
}

/* Three runs that do not agree may all be disturbed. */
static void test_all_runs_disturbed(void **state)
{
    (void)state;
    const double calm[] = {100.1, 99.9, 100, 100.2, 99.8}, wild[] = {110, 125, 140};
    gt_sweep_change changes[] = {change_of(GT_MEASURE_STEP, calm, 5, calm, 5),
                                 change_of(GT_MEASURE_STEP, calm, 5, wild, 3)};
    gt_sweep_changes_test(changes, 2, true);
    assert_false(changes[1].samples[1].is_clear);
    assert_int_equal(changes[1].verdict, GT_CHANGE_UNDECIDED);
    free_values(changes, 2);
}

/* ---- gates on standard input ---- */

static void read_runs(char *text, gt_number_series *runs)
{
    for (char *end; *text; text = end) {
        double value = strtod(text, &end);
        if (end == text) break;
        gt_series_add(runs, value);
    }
}

static void check_line(char *line, const char *text)
{
    enum { SETTINGS_MAX = 64 };
    gt_sweep_change changes[SETTINGS_MAX] = {0};
    gt_setting_pair settings[SETTINGS_MAX] = {0};
    size_t count = 0;
    for (char *at = line, *next; at && count < SETTINGS_MAX; at = next) {
        next = strchr(at, ';');
        if (next) *next++ = 0;
        char *new = strchr(at, '|');
        assert_non_null(new);
        *new ++ = 0;
        settings[count].name = "setting";
        changes[count] = (gt_sweep_change){
            .setting = count, .kind = GT_MEASURE_STEP, .message_mb = NAN, .spread = "repeats"};
        read_runs(at, &changes[count].values[0]);
        read_runs(new, &changes[count++].values[1]);
    }
    gt_sweep_changes_test(changes, count, true);
    const gt_sweep_changes all = {
        .settings = settings, .setting_count = count, .changes = changes, .change_count = count};
    gt_sweep_condition condition;
    gt_error error;
    gt_interner *strings = gt_interner_new();
    gt_table *met = gt_sweep_gate_table(strings);
    assert_true(gt_sweep_condition_parse(&condition, text, &error));
    puts(gt_gate_outcome_names[gt_sweep_gate_check(&condition, 1, &all, false, met, &error)]);
    gt_sweep_condition_free(&condition);
    gt_table_free(met);
    gt_interner_free(strings);
    free_values(changes, count);
}

static int check_lines(const char *condition)
{
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) check_line(line, condition);
    free(line);
    return 0;
}

/* ---- conditions ---- */

static void test_conditions(void **state)
{
    (void)state;
    static const struct {
        const char *text, *row, *column;
        bool is_significant;
        double limit;
    } good[] = {{"step_ms > 3% significant", "*", "step_ms", true, 3},
                {"step_ms>=3% and significant", "*", "step_ms", true, 3},
                {" bus_gb_s < -5 % ", "*", "bus_gb_s", false, -5},
                {"'lr_0.1'.gemm_slowdown > 0.1 significant", "lr_0.1", "gemm_slowdown", true, 0.1},
                {"256*.exposed_comm_ms > 1", "256*", "exposed_comm_ms", false, 1},
                {"gemm_ms > 3%significant", "*", "gemm_ms", true, 3}};
    static const char *const bad[] = {"",
                                      "significant",
                                      "step_ms",
                                      "step_ms > x%",
                                      "step_ms > 3% insignificant",
                                      "step_ms > 3% significant significant",
                                      "nothing > 3%",
                                      "a.b.step_ms > 3%",
                                      "step_ms > nan",
                                      "'step_ms > 3%"};
    gt_error error;
    gt_sweep_condition condition;
    for (size_t i = 0; i < GT_LENGTH(good); i++) {
        if (!gt_sweep_condition_parse(&condition, good[i].text, &error)) fail_msg("%s", error.text);
        assert_string_equal(condition.gate.row, good[i].row);
        assert_string_equal(condition.gate.column, good[i].column);
        assert_string_equal(gt_sweep_measure_names[condition.kind], good[i].column);
        assert_true(condition.is_significant == good[i].is_significant &&
                    condition.gate.limit == good[i].limit);
        gt_sweep_condition_free(&condition);
    }
    for (size_t i = 0; i < GT_LENGTH(bad); i++)
        if (gt_sweep_condition_parse(&condition, bad[i], &error)) fail_msg("accepted: %s", bad[i]);
}

static gt_gate_outcome check(const gt_sweep_changes *all, const char *text, bool allow_missing)
{
    gt_sweep_condition condition;
    gt_error error;
    gt_interner *strings = gt_interner_new();
    gt_table *met = gt_sweep_gate_table(strings);
    assert_true(gt_sweep_condition_parse(&condition, text, &error));
    gt_gate_outcome outcome = gt_sweep_gate_check(&condition, 1, all, allow_missing, met, &error);
    gt_sweep_condition_free(&condition);
    gt_table_free(met);
    gt_interner_free(strings);
    return outcome;
}

/* A gate that could not be evaluated is not green. */
static void test_unevaluated(void **state)
{
    (void)state;
    gt_sweep_change changes[] = {change_of(GT_MEASURE_STEP, fast, 5, fast, 5),
                                 change_of(GT_MEASURE_STEP, fast, 1, slow, 1)};
    changes[1].setting = 1;
    gt_setting_pair settings[] = {{.name = "a"}, {.name = "b"}, {.name = "c", .verdict = GT_CHANGE_MISSING}};
    gt_sweep_changes all = {.settings = settings, .setting_count = 2, .changes = changes, .change_count = 2};
    gt_sweep_changes_test(changes, 2, true);
    assert_int_equal(check(&all, "step_ms > 50%", false), GT_GATE_PASSED);
    assert_int_equal(check(&all, "step_ms > 50% significant", false), GT_GATE_UNEVALUATED);
    assert_int_equal(check(&all, "a.step_ms > 0% significant", false), GT_GATE_PASSED);
    assert_int_equal(check(&all, "b.step_ms > 3%", false), GT_GATE_FAILED);
    assert_int_equal(check(&all, "x.step_ms > 3%", false), GT_GATE_UNEVALUATED);
    assert_int_equal(check(&all, "bus_gb_s < -3%", false), GT_GATE_UNEVALUATED);
    all.setting_count = 3;
    assert_int_equal(check(&all, "step_ms > 50%", false), GT_GATE_UNEVALUATED);
    assert_int_equal(check(&all, "step_ms > 50%", true), GT_GATE_PASSED);
    assert_int_equal(check(&all, "a.step_ms > 50%", false), GT_GATE_PASSED);
    assert_int_equal(check(&all, "step_ms > 3%", false), GT_GATE_FAILED);
    free_values(changes, 2);
}

int main(int count, char **arguments)
{
    if (count > 2 && strcmp(arguments[1], "gates") == 0) return check_lines(arguments[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_change),         cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_parts_of_runs),      cmocka_unit_test(test_outlier),
        cmocka_unit_test(test_all_runs_disturbed), cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_unevaluated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
