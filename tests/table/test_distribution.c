/* The numbers behind box plots and violins. Expected values are computed by hand (quartiles, whiskers) and
 * with Python's statistics and math modules (densities). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "table/stats.h"

#include <math.h>

typedef struct case_of_box {
    double values[8];
    size_t count;
    double first_quartile, median, third_quartile, low, high;
    double outliers[3]; /* NAN after the last */
} case_of_box;

static const case_of_box boxes[] = {
    /* rows of a sweep by threads, by channels, by rank */
    {{26.25, 25.75, 24.25, 23.75, 22, 21, 15, 14}, 8, 19.5, 22.875, 24.625, 14, 26.25, {NAN}},
    {{43, 42, 29, 28, 26.25, 25.75, 24.25, 23.75}, 8, 25.375, 27.125, 32.25, 23.75, 42, {43, NAN}},
    /* the outermost value within reach lies inside the box: the whisker ends at the box */
    {{29, 28, 24.25, 24.25, 23.75, 23.75, 15, 14}, 8, 21.5625, 24, 25.1875, 21.5625, 29, {14, 15, NAN}},
    {{43, 42, 26.25, 26.25, 25.75, 25.75, 22, 21}, 8, 24.8125, 26, 30.1875, 21, 30.1875, {42, 43, NAN}},
    {{42, 28, 25.75, 25.75, 23.75, 23.75, 21, 14}, 8, 23.0625, 24.75, 26.3125, 21, 28, {14, 42, NAN}},
    {{7}, 1, 7, 7, 7, 7, 7, {NAN}},
    {{3, 1}, 2, 1.5, 2, 2.5, 1, 3, {NAN}},
    /* a box without height: every other value is outside */
    {{5, 5, 5, 5, 5, 9, 1}, 7, 5, 5, 5, 5, 5, {1, 9, NAN}},
    {{-1, -2, -3, -4}, 4, -3.25, -2.5, -1.75, -4, -1, {NAN}},
};

static void boxes_are_those_worked_out_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        const case_of_box *c = &boxes[i];
        gt_box box = gt_box_of(c->values, c->count);
        double got[] = {box.first_quartile, box.median, box.third_quartile, box.whisker_low,
                        box.whisker_high};
        double expected[] = {c->first_quartile, c->median, c->third_quartile, c->low, c->high};
        for (size_t k = 0; k < 5; k++)
            if (got[k] != expected[k])
                fail_msg("box %zu, figure %zu: %g is not %g", i, k, got[k], expected[k]);
        size_t outliers = 0;
        while (!isnan(c->outliers[outliers])) outliers++;
        assert_int_equal(box.outlier_count, outliers);
        for (size_t k = 0; k < outliers; k++) assert_true(box.outliers[k] == c->outliers[k]);
        gt_box_free(&box);
    }
}

static void expect_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-13 * fabs(expected))) fail_msg("%.17g is not %.17g", value, expected);
}

static void densities_agree_with_python(void **state)
{
    (void)state;
    gt_density d = gt_density_of(boxes[0].values, boxes[0].count);
    expect_near(d.factor, 0.6597539553864471);
    expect_near(d.density[0], 0.03353786846201143);
    expect_near(d.density[50], 0.05588865939988276);
    expect_near(d.density[99], 0.06702307389712217);
    expect_near(d.highest, 0.08205241375770095);
    assert_true(d.density[80] == d.highest);
    assert_true(d.at[0] == 14 && d.at[99] == 26.25 && d.min == 14 && d.max == 26.25);
    assert_true(d.mean == 21.5 && d.median == 22.875);
}

static void equal_values_have_no_density(void **state)
{
    (void)state;
    for (size_t count = 1; count <= 3; count++) {
        gt_density d = gt_density_of((double[]){4.5, 4.5, 4.5}, count);
        assert_true(d.highest == 0 && d.min == 4.5 && d.max == 4.5 && d.mean == 4.5 && d.median == 4.5);
        for (size_t i = 0; i < GT_DENSITY_POINTS; i++) assert_true(d.at[i] == 4.5 && d.density[i] == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_are_those_worked_out_by_hand),
        cmocka_unit_test(densities_agree_with_python),
        cmocka_unit_test(equal_values_have_no_density),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
