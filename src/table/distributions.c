/* Distributions of test statistics, computed to about 1e-12.
 *
 * The incomplete beta function is a continued fraction, which converges fast on one side of its mean; the
 * other side follows by symmetry. */
#include "table/distributions.h"

/* ---- incomplete beta function ---- */

/* Lentz's method. Converges in some 10 + sqrt(max(a, b)) steps where x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m <= 100000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        if (fabs(c) < tiny) c = tiny;
        h *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        if (fabs(c) < tiny) c = tiny;
        double change = d * c;
        h *= change;
        if (fabs(change - 1) < 1e-15) break;
    }
    return h;
}

/* `rest` is 1 - x, given separately because it may be too small to be seen in x. */
static double beta_share(double a, double b, double x, double rest)
{
    if (x <= 0) return 0;
    if (rest <= 0) return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, rest) / b;
}

double gt_beta_share(double a, double b, double x)
{
    if (!(a > 0 && b > 0 && x >= 0 && x <= 1)) return NAN;
    return beta_share(a, b, x, 1 - x);
}

/* ---- Student's t and Fisher's F ---- */

double gt_student_p(double t, double freedom)
{
    if (isnan(t) || !(freedom > 0)) return NAN;
    if (isinf(t)) return 0;
    double all = freedom + t * t;
    return isinf(all) ? 0 : beta_share(freedom / 2, 0.5, freedom / all, t * t / all);
}

double gt_student_quantile(double q, double freedom)
{
    if (!(q > 0 && q < 1 && freedom > 0)) return NAN;
    if (q < 0.5) return -gt_student_quantile(1 - q, freedom);
    double p = 2 * (1 - q), low = 0, high = 1;
    while (gt_student_p(high, freedom) > p && high < 1e300) high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-14 * high; i++) {
        double middle = low + (high - low) / 2;
        if (gt_student_p(middle, freedom) > p)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}

double gt_fisher_p(double f, double freedom, double error_freedom)
{
    if (!(f >= 0 && freedom > 0 && error_freedom > 0)) return NAN;
    if (isinf(f)) return 0;
    double all = error_freedom + freedom * f;
    return isinf(all) ? 0
                      : beta_share(error_freedom / 2, freedom / 2, error_freedom / all, freedom * f / all);
}
