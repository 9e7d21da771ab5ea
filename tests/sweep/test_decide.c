/* Statistics of a sweep: comparisons, the best setting, effects.
 *
 * Expected values were computed in Python: Welch's test with p-values by integrating Student's density,
 * the analyses of variance as ordinary least squares over all
 * single measurements with exact fractions.
 *
 * As `test_decide sweeps`, the program decides about the sweeps on its standard input, one per line, for
 * test_simulations.py: "1.5 1.6;1.7 1.8" are two settings of two runs. It prints per sweep the setting of
 * rank 1, whether it is called the best, and per setting the runs that agree, the typical time and the
 * p-value. `test_decide best` prints only the first two, without the p-values that are corrected for the
 * number of settings: these take most of the time, and say nothing about the best one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "sweep/decide/decide.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_near(double value, double expected, double error)
{
    if (!(fabs(value - expected) <= error)) fail_msg("%.12g is not %.12g", value, expected);
}

/* ---- comparisons ---- */

static const double slow[] = {103.1, 101.2, 104.9, 102.2}, fast[] = {99.5, 100.2, 98.1, 101.0, 100.6};

static void test_welch(void **state)
{
    (void)state;
    gt_log_sample a = gt_log_sample_of(slow, 4), b = gt_log_sample_of(fast, 5);
    gt_ratio_test test = gt_compare_samples(&a, &b);
    expect_near(test.ratio.value, 1.029699632, 1e-9);
    expect_near(test.ratio.low, 1.006294445, 1e-8);
    expect_near(test.ratio.high, 1.053649195, 1e-8);
    expect_near(test.p, 0.02140834302, 1e-9);
}

static void test_samples_without_spread(void **state)
{
    (void)state;
    const double odd[] = {NAN, 0, -3, INFINITY, 7};
    gt_log_sample one = gt_log_sample_of(odd, 5), none = gt_log_sample_of(odd, 4),
                  equal = gt_log_sample_of((const double[]){5, 5, 5}, 3),
                  more = gt_log_sample_of((const double[]){6, 6}, 2);
    assert_int_equal(one.count, 1);
    expect_near(one.mean, log(7), 1e-15);
    assert_true(isnan(one.variance) && isnan(none.mean) && none.count == 0);
    assert_true(isnan(gt_compare_samples(&one, &equal).p) && isnan(gt_compare_samples(&none, &equal).p));
    assert_true(gt_compare_samples(&equal, &equal).p == 1 && gt_compare_samples(&more, &equal).p == 0);
    gt_estimate mean = gt_log_sample_mean(&one);
    assert_true(isnan(mean.low) && isnan(mean.high));
    expect_near(mean.value, 7, 1e-12);
}

static void test_holm(void **state)
{
    (void)state;
    double p[] = {0.01, 0.04, NAN, 0.03, 0.005};
    gt_holm_correct(p, 5); /* 0.005 * 4, 0.01 * 3, 0.03 * 2, 0.04 after 0.06 */
    expect_near(p[4], 0.02, 1e-15);
    expect_near(p[0], 0.03, 1e-15);
    expect_near(p[3], 0.06, 1e-15);
    expect_near(p[1], 0.06, 1e-15);
    assert_true(isnan(p[2]));
}

static void test_medians(void **state)
{
    (void)state;
    double values[] = {7, 1, 3, 9, 5, 2, 8, 4, 6, 10};
    gt_estimate median = gt_median_estimate(values, 10);
    expect_near(median.value, 5.5, 0);
    expect_near(median.low, 2, 0); /* the second smallest: 11 of 1024 ways have at most one value below */
    expect_near(median.high, 9, 0);
    double few[] = {3, 1, 2};
    median = gt_median_estimate(few, 3);
    assert_true(median.low == 1 && median.value == 2 && median.high == 3);
    assert_true(isnan(gt_median_estimate(few, 1).low) && isnan(gt_median_estimate(few, 0).value));
    gt_estimate ratio = gt_ratio_of_estimates((gt_estimate){4, 4 * exp(-0.3), 4 * exp(0.6)},
                                              (gt_estimate){2, 2 * exp(-0.8), 2 * exp(0.4)});
    expect_near(ratio.value, 2, 1e-12);
    expect_near(ratio.low, 2 * exp(-0.5), 1e-12); /* 0.3 and 0.4 */
    expect_near(ratio.high, 2 * exp(1.0), 1e-12); /* 0.6 and 0.8 */
}

/* ---- the best ---- */

static void test_standing(void **state)
{
    (void)state;
    /* far away; best; close to the best; one measurement; none */
    static double values[5][3] = {{200, 201, 202}, {100, 101, 102}, {101, 102, 100.5}, {101}, {0}};
    const gt_number_series series[] = {
        {values[0], 3, 3}, {values[1], 3, 3}, {values[2], 3, 3}, {values[3], 1, 1}, {values[4], 1, 1}};
    gt_log_sample samples[5];
    gt_runs_model *model = gt_runs_model_new(samples, series, 5);
    gt_best best = gt_best_find(samples, 5, model);
    static const size_t order[] = {1, 3, 2, 0, 4};
    assert_memory_equal(best.order, order, sizeof order);
    assert_int_equal(best.measured, 4);
    assert_int_equal(best.candidates, 3);
    assert_true(best.settings[1].is_candidate && best.settings[2].is_candidate &&
                best.settings[3].is_candidate);
    assert_false(best.settings[0].is_candidate || best.settings[4].is_candidate);
    assert_true(best.settings[0].p < 1e-4 && best.settings[2].p > 0.5);
    assert_true(isnan(best.settings[1].p) && isnan(best.settings[3].p) && isnan(best.settings[4].p));
    expect_near(best.settings[0].to_best.ratio.value, pow(200. * 201 * 202 / 100 / 101 / 102, 1. / 3), 1e-9);
    assert_int_equal(best.settings[4].rank, 5);
    gt_best_free(&best);
    gt_runs_model_free(model);
    best = gt_best_find(NULL, 0, NULL);
    assert_int_equal(best.candidates, 0);
    gt_best_free(&best);
}

/* Of a sweep whose settings were run once, the parts of a run only give the order. */
static void test_parts_of_runs(void **state)
{
    (void)state;
    const double values[2][4] = {{100, 101, 100, 101}, {200, 201, 200, 201}};
    gt_log_sample samples[] = {gt_log_sample_of(values[0], 4), gt_log_sample_of(values[1], 4)};
    gt_best best = gt_best_find(samples, 2, NULL);
    assert_true(best.order[0] == 0 && best.candidates == 2 && isnan(best.settings[1].p));
    assert_true(isnan(best.settings[1].to_best.p) && isnan(best.settings[1].to_best.ratio.low));
    expect_near(best.settings[1].to_best.ratio.value, 1.9950433629, 1e-9);
    gt_best_free(&best);
}

/* ---- decisions about sweeps on standard input ---- */

static void read_runs(char *text, gt_number_series *runs)
{
    for (char *end; *text; text = end) {
        double value = strtod(text, &end);
        if (end == text) break;
        gt_series_add(runs, value);
    }
}

/* Whether all others are slower than the fastest one by their own comparisons, and three of its runs agree.
 */
static bool is_best(const gt_log_sample *samples, size_t count, size_t fastest, const gt_runs_model *model)
{
    bool is_best = samples[fastest].is_clear && samples[fastest].count >= 3;
    for (size_t i = 0; i < count && is_best; i++)
        is_best = i == fastest || gt_runs_compare(model, samples, i, fastest, false).p < GT_DECIDE_ALPHA;
    return is_best;
}

static void print_best(const gt_log_sample *samples, size_t count, const gt_runs_model *model)
{
    size_t fastest = 0;
    for (size_t i = 1; i < count; i++)
        if (samples[i].typical < samples[fastest].typical) fastest = i;
    printf("%zu %d\n", fastest, is_best(samples, count, fastest, model));
}

static void print_all(const gt_log_sample *samples, size_t count, const gt_runs_model *model)
{
    gt_best best = gt_best_find(samples, count, model);
    printf("%zu %d", best.order[0], best.candidates == 1);
    for (size_t i = 0; i < count; i++)
        printf(";%zu %.9g %.6g", samples[i].count, exp(samples[i].typical), best.settings[i].p);
    printf("\n");
    gt_best_free(&best);
}

typedef void print_function(const gt_log_sample *samples, size_t count, const gt_runs_model *model);

static void decide_line(char *line, print_function *print)
{
    enum { SETTINGS_MAX = 64 };
    gt_number_series values[SETTINGS_MAX] = {0};
    gt_log_sample samples[SETTINGS_MAX];
    size_t count = 0;
    for (char *at = line, *next; at && count < SETTINGS_MAX; at = next) {
        next = strchr(at, ';');
        if (next) *next++ = 0;
        read_runs(at, &values[count++]);
    }
    gt_runs_model *model = gt_runs_model_new(samples, values, count);
    print(samples, count, model);
    gt_runs_model_free(model);
    for (size_t i = 0; i < count; i++) gt_free(values[i].items);
}

static int decide_lines(print_function *print)
{
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) decide_line(line, print);
    free(line);
    return 0;
}

/* ---- effects ---- */

typedef struct cell {
    size_t places[3];
    double logs[4]; /* of the measurements, times 10 */
    size_t count;
} cell;

typedef struct expected_effect {
    size_t a, b;
    double squares;
    size_t freedom;
} expected_effect;

static void check_effects(const cell *cells, size_t count, size_t axes, const size_t *levels,
                          const expected_effect *expected, size_t effect_count, double total,
                          gt_effects *effects)
{
    gt_log_sample samples[16];
    size_t places[48];
    for (size_t i = 0; i < count; i++) {
        double values[4];
        for (size_t k = 0; k < cells[i].count; k++) values[k] = exp(cells[i].logs[k] / 10);
        samples[i] = gt_log_sample_of(values, cells[i].count);
        memcpy(&places[i * axes], cells[i].places, axes * sizeof *places);
    }
    assert_true(gt_effects_find(effects, &(gt_effect_design){samples, count, axes, levels, places}));
    assert_int_equal(effects->count, effect_count);
    for (size_t i = 0; i < effect_count; i++) {
        const gt_effect *effect = &effects->items[i];
        assert_true(effect->axes[0] == expected[i].a && effect->axes[1] == expected[i].b);
        assert_int_equal(effect->freedom, expected[i].freedom);
        expect_near(100 * effect->squares, expected[i].squares, 1e-10);
        expect_near(effect->share_pct, 100 * expected[i].squares / total, 1e-9);
    }
}

#define NONE SIZE_MAX

static void test_balanced_effects(void **state)
{
    (void)state;
    static const cell cells[] = {{{0, 0}, {10, 12}, 2}, {{0, 1}, {11, 13}, 2}, {{0, 2}, {15, 14}, 2},
                                 {{1, 0}, {8, 9}, 2},   {{1, 1}, {12, 14}, 2}, {{1, 2}, {20, 18}, 2}};
    static const expected_effect expected[] = {
        {0, NONE, 3, 1}, {1, NONE, 99.5, 2}, {0, 1, 24.5, 2}, {NONE, NONE, 0, 0}, {NONE, NONE, 9, 6}};
    gt_effects effects;
    check_effects(cells, 6, 2, (const size_t[]){2, 3}, expected, 5, 136, &effects);
    assert_true(effects.is_balanced && effects.has_error && effects.has_interactions);
    expect_near(effects.items[0].f, 2, 1e-9);         /* (3 / 1) / (9 / 6) */
    expect_near(effects.items[0].p, 0.2070312, 1e-6); /* of t = sqrt(2) with 6 degrees of freedom */
    expect_near(effects.items[1].f, 99.5 / 2 / 1.5, 1e-8);
    assert_true(isnan(effects.items[4].f) && isnan(effects.items[3].f));
    gt_effects_free(&effects);
}

/* The combination (1, 2) was never run: the interaction has one degree of freedom less. */
static void test_unbalanced_effects(void **state)
{
    (void)state;
    static const cell cells[] = {{{0, 0}, {10, 12, 11}, 3},
                                 {{0, 1}, {11, 13}, 2},
                                 {{0, 2}, {15}, 1},
                                 {{1, 0}, {8, 9}, 2},
                                 {{1, 1}, {12, 14, 15, 13}, 4}};
    static const expected_effect expected[] = {{0, NONE, 15. / 38, 1},
                                               {1, NONE, 2008. / 57, 2},
                                               {0, 1, 192. / 19, 1},
                                               {NONE, NONE, 0, 0},
                                               {NONE, NONE, 9.5, 7}};
    gt_effects effects;
    check_effects(cells, 5, 2, (const size_t[]){2, 3}, expected, 5, 659. / 12, &effects);
    assert_true(!effects.is_balanced && effects.has_error);
    gt_effects_free(&effects);
}

static void test_three_axes(void **state)
{
    (void)state;
    static const cell cells[] = {{{0, 0, 0}, {10, 9}, 2},  {{0, 0, 1}, {13, 14}, 2}, {{0, 1, 0}, {11, 12}, 2},
                                 {{0, 1, 1}, {14, 13}, 2}, {{1, 0, 0}, {12, 13}, 2}, {{1, 0, 1}, {15, 14}, 2},
                                 {{1, 1, 0}, {15, 14}, 2}, {{1, 1, 1}, {19, 20}, 2}};
    static const expected_effect expected[] = {
        {0, NONE, 42.25, 1}, {1, NONE, 20.25, 1}, {2, NONE, 42.25, 1},   {0, 1, 6.25, 1},
        {0, 2, 0.25, 1},     {1, 2, 0.25, 1},     {NONE, NONE, 6.25, 1}, {NONE, NONE, 4, 8}};
    gt_effects effects;
    check_effects(cells, 8, 3, (const size_t[]){2, 2, 2}, expected, 8, 121.75, &effects);
    expect_near(effects.items[6].f, 12.5, 1e-9);
    gt_effects_free(&effects);
}

/* Without repeats, what the main effects do not explain is the error. */
static void test_effects_without_repeats(void **state)
{
    (void)state;
    static const cell cells[] = {{{0, 0}, {10}, 1}, {{0, 1}, {12}, 1}, {{0, 2}, {15}, 1},
                                 {{1, 0}, {9}, 1},  {{1, 1}, {14}, 1}, {{1, 2}, {18}, 1}};
    static const expected_effect expected[] = {
        {0, NONE, 8. / 3, 1}, {1, NONE, 49, 2}, {NONE, NONE, 13. / 3, 2}};
    gt_effects effects;
    check_effects(cells, 6, 2, (const size_t[]){2, 3}, expected, 3, 56, &effects);
    assert_false(effects.has_error || effects.has_interactions);
    expect_near(effects.items[1].f, 49. / 2 / (13. / 6), 1e-8);
    gt_effects_free(&effects);
}

static void test_no_effects(void **state)
{
    (void)state;
    gt_log_sample samples[2] = {gt_log_sample_of(slow, 4), gt_log_sample_of(fast, 5)};
    gt_effects effects;
    assert_false(gt_effects_find(
        &effects, &(gt_effect_design){samples, 2, 1, (const size_t[]){1}, (const size_t[]){0, 0}}));
    assert_false(gt_effects_find(&effects, &(gt_effect_design){samples, 0, 0, NULL, NULL}));
    assert_int_equal(effects.count, 0);
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "sweeps") == 0) return decide_lines(print_all);
    if (count > 1 && strcmp(arguments[1], "best") == 0) return decide_lines(print_best);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_welch),
        cmocka_unit_test(test_samples_without_spread),
        cmocka_unit_test(test_holm),
        cmocka_unit_test(test_medians),
        cmocka_unit_test(test_standing),
        cmocka_unit_test(test_parts_of_runs),
        cmocka_unit_test(test_balanced_effects),
        cmocka_unit_test(test_unbalanced_effects),
        cmocka_unit_test(test_three_axes),
        cmocka_unit_test(test_effects_without_repeats),
        cmocka_unit_test(test_no_effects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
