/* Changes between two sweeps: tests, conditions, and how often a gate is wrong.
 *
 * Expected p-values were computed in Python (Welch's test with the density of Student's distribution
 * integrated, Holm's correction by hand). Error rates come from simulated pairs of sweeps whose truth is
 * known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "sweep/gate/gate.h"

#include <math.h>
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

/* One change: its noise is shared between its two samples only, which moves the p-value of Welch's test
 * (0.0214, test_decide.c) a little; the ratio stays. */
static void test_one_change(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        gt_sweep_change change = change_of(k ? GT_MEASURE_BUS : GT_MEASURE_STEP, fast, 5, slow, 4);
        gt_sweep_changes_test(&change, 1);
        expect_near(change.change_pct.value, 2.9699632, 1e-6);
        /* Student's distribution with 3 degrees of freedom: two samples share no noise */
        expect_near(change.change_pct.low, 0.0048208, 1e-5);
        expect_near(change.change_pct.high, 6.0230221, 1e-5);
        expect_near(change.p_single, 0.049798952, 1e-7);
        assert_true(change.p_value == change.p_single);
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
    gt_sweep_changes_test(changes, 6);
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

/* ---- simulated gates ---- */

static double uniform(uint64_t *state) /* in (0, 1) */
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 11) + 0.5) / 0x1p53;
}

static double normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(2 * M_PI * uniform(state));
}

enum { SETTINGS = 8, REPEATS = 5 };

/* Whether a gate of 8 settings alarms, of which the first `worse` take `more` longer in the new sweep. */
static bool alarms(uint64_t *state, size_t worse, double more, double noise, double noisiest)
{
    gt_sweep_change changes[SETTINGS] = {0};
    gt_setting_pair settings[SETTINGS] = {0};
    for (size_t i = 0; i < SETTINGS; i++) {
        double time = 50 + 10 * (double)i, spread = i % 4 == 3 ? noisiest : noise;
        changes[i] = (gt_sweep_change){.setting = i, .kind = GT_MEASURE_STEP, .message_mb = NAN};
        settings[i].name = i ? "other" : "first";
        for (size_t r = 0; r < 2 * REPEATS; r++) {
            double truth = r >= REPEATS && i < worse ? time * (1 + more) : time;
            gt_series_add(&changes[i].values[r >= REPEATS], truth * exp(spread * normal(state)));
        }
    }
    gt_sweep_changes_test(changes, SETTINGS);
    gt_sweep_changes all = {
        .settings = settings, .setting_count = SETTINGS, .changes = changes, .change_count = SETTINGS};
    gt_sweep_condition condition;
    gt_error error;
    assert_true(gt_sweep_condition_parse(&condition, "step_ms > 0% significant", &error));
    gt_interner *strings = gt_interner_new();
    gt_table *met = gt_sweep_gate_table(strings);
    gt_gate_outcome outcome = gt_sweep_gate_check(&condition, 1, &all, false, met, &error);
    assert_int_not_equal(outcome, GT_GATE_UNEVALUATED);
    gt_table_free(met);
    gt_interner_free(strings);
    gt_sweep_condition_free(&condition);
    free_values(changes, SETTINGS);
    return outcome == GT_GATE_FAILED;
}

static size_t count_alarms(size_t gates, size_t worse, double more, double noise, double noisiest)
{
    uint64_t state = 20240607;
    size_t alarmed = 0;
    for (size_t i = 0; i < gates; i++) alarmed += alarms(&state, worse, more, noise, noisiest);
    return alarmed;
}

static void test_false_alarms(void **state)
{
    (void)state;
    size_t equal = count_alarms(200, 0, 0, 0.01, 0.01), unequal = count_alarms(200, 0, 0, 0.01, 0.03);
    print_message("false alarms of 200 gates: %zu, with unequal noise %zu\n", equal, unequal);
    assert_true(equal <= 10);
    assert_true(unequal <= 12);
}

static void test_regressions_are_found(void **state)
{
    (void)state;
    size_t one = count_alarms(200, 1, 0.03, 0.01, 0.01), all = count_alarms(200, SETTINGS, 0.03, 0.01, 0.01);
    print_message("3 %% found in %zu of 200 gates with one worse setting, in %zu with 8\n", one, all);
    assert_true(one >= 180);
    assert_true(all >= 180);
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
    gt_sweep_changes_test(changes, 2);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_change),   cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_false_alarms), cmocka_unit_test(test_regressions_are_found),
        cmocka_unit_test(test_conditions),   cmocka_unit_test(test_unevaluated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
