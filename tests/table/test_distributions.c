/* Distributions of test statistics. Expected probabilities were computed in Python by integrating the
 * densities with Simpson's rule, 20,000 steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "table/distributions.h"

#include <math.h>

static void expect_near(double value, double expected, double error)
{
    if (!(fabs(value - expected) <= error)) fail_msg("%.12g is not %.12g", value, expected);
}

static void test_student(void **state)
{
    (void)state;
    static const double cases[][3] = {
        {1.5, 3.7, 0.2135981692}, {2.776445, 4, 0.0500000054}, {0.2, 25.5, 0.8430670095},
        {4, 1, 0.1559582608},     {3, 400, 0.0028687090},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_near(gt_student_p(cases[i][0], cases[i][1]), cases[i][2], 1e-9);
        expect_near(gt_student_p(-cases[i][0], cases[i][1]), cases[i][2], 1e-9);
        expect_near(gt_student_quantile(1 - cases[i][2] / 2, cases[i][1]), cases[i][0], 1e-6);
    }
    /* with one degree of freedom, P(|T| >= t) is 1 - 2 atan(t) / pi */
    expect_near(gt_student_p(1, 1), 0.5, 1e-14);
    expect_near(gt_student_p(1e8, 1), 2 / M_PI / 1e8, 1e-20);
    expect_near(gt_student_quantile(0.25, 1), -1, 1e-12);
    expect_near(gt_student_p(0, 3), 1, 0);
    expect_near(gt_student_p(INFINITY, 3), 0, 0);
    expect_near(gt_student_p(1e300, 3), 0, 0);
    assert_true(isnan(gt_student_p(NAN, 3)) && isnan(gt_student_p(1, 0)) && isnan(gt_student_p(1, NAN)));
    assert_true(isnan(gt_student_quantile(0, 3)) && isnan(gt_student_quantile(1, 3)));
}

static void test_fisher(void **state)
{
    (void)state;
    static const double cases[][4] = {
        {2.5, 1, 7, 0.1578593228},
        {4.256495, 2, 9, 0.0499999930},
        {0.7, 5, 30, 0.6277233037},
        {12, 3, 2.5, 0.0515476766},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_near(gt_fisher_p(cases[i][0], cases[i][1], cases[i][2]), cases[i][3], 1e-9);
    expect_near(gt_fisher_p(9, 1, 5), gt_student_p(3, 5), 1e-14); /* F(1, n) is the square of t(n) */
    expect_near(gt_fisher_p(0, 2, 5), 1, 0);
    expect_near(gt_fisher_p(INFINITY, 2, 5), 0, 0);
    assert_true(isnan(gt_fisher_p(-1, 2, 5)) && isnan(gt_fisher_p(1, 0, 5)) && isnan(gt_fisher_p(NAN, 1, 5)));
}

static void test_beta(void **state)
{
    (void)state;
    expect_near(gt_beta_share(1, 1, 0.3), 0.3, 1e-15);    /* I_x(1, 1) = x */
    expect_near(gt_beta_share(2, 3, 0.4), 0.5248, 1e-14); /* 12 (x^2/2 - 2 x^3/3 + x^4/4) */
    expect_near(gt_beta_share(5, 5, 0.5), 0.5, 1e-14);    /* by symmetry */
    expect_near(gt_beta_share(1e5, 1e5, 0.5), 0.5, 1e-9);
    expect_near(gt_beta_share(2, 3, 0), 0, 0);
    expect_near(gt_beta_share(2, 3, 1), 1, 0);
    assert_true(isnan(gt_beta_share(0, 1, 0.5)) && isnan(gt_beta_share(1, 1, 1.5)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beta),
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_fisher),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
