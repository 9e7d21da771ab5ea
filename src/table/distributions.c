/* Distributions of test statistics, computed to about 1e-12, the studentized range to about 1e-7.
 *
 * The incomplete beta function is a continued fraction, which converges fast on one side of its mean; the
 * other side follows by symmetry. The studentized range is two integrals, one inside the other: over the
 * estimate s of the standard error, and for each s over the smallest of the means,
 *
 *     P(Q < q) = integral f(s) W(q s) ds,     W(w) = k integral phi(z) (Phi(z + w) - Phi(z))^(k-1) dz
 *
 * with the density f of s, that of the square root of chi-squared divided by its degrees of freedom. Both are
 * smooth, so Gauss-Legendre rules on a few panels are enough. */
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

/* ---- studentized range ---- */

enum { POINTS = 12, Z_PANELS = 6, S_PANELS = 8, Z_NODES = POINTS * Z_PANELS };
static const double reach = 8.5; /* standard deviations of the normal distribution that are integrated */

/* The nodes (their positive half) and weights of the 12-point rule on [-1, 1]. */
static const double node[POINTS / 2] = {0.1252334085114689, 0.3678314989981802, 0.5873179542866175,
                                        0.7699026741943047, 0.9041172563704749, 0.9815606342467193},
                                  weight[POINTS / 2] = {0.2491470458134028, 0.2334925365383548,
                                                        0.2031674267230659, 0.1600783285433462,
                                                        0.1069393259953184, 0.0471753363865118};

static double node_at(int i)
{
    return i < POINTS / 2 ? -node[i] : node[i - POINTS / 2];
}

static double below(double z) /* Phi */
{
    return 0.5 * erfc(-z / sqrt(2));
}

typedef struct mean_nodes {
    double z[Z_NODES], below[Z_NODES], weight[Z_NODES]; /* weight: with the density */
} mean_nodes;

static void place_means(mean_nodes *means)
{
    double half = reach / Z_PANELS;
    for (int i = 0; i < Z_NODES; i++) {
        double z = -reach + half * (2 * (double)(i / POINTS) + 1 + node_at(i % POINTS));
        means->z[i] = z;
        means->below[i] = below(z);
        means->weight[i] =
            half * weight[i % (POINTS / 2)] * exp(-z * z / 2) / sqrt(2 * 3.14159265358979323846);
    }
}

/* The probability that the range of `count` standard normal values is at least w. */
static double range_p(const mean_nodes *means, double w, double count)
{
    double sum = 0;
    for (int i = 0; i < Z_NODES; i++)
        sum += means->weight[i] * pow(below(means->z[i] + w) - means->below[i], count - 1);
    double p = 1 - count * sum;
    return p < 0 ? 0 : p > 1 ? 1 : p;
}

double gt_studentized_range_p(double range, size_t count, double freedom)
{
    if (!(range >= 0 && freedom >= 1) || count < 2) return NAN;
    if (isinf(range)) return 0;
    mean_nodes means;
    place_means(&means);
    if (freedom > 1e6) return range_p(&means, range, (double)count);
    double spread = 9 / sqrt(2 * freedom), from = fmax(0, 1 - spread),
           half = (1 + spread - from) / 2 / S_PANELS;
    double constant = log(2) + freedom / 2 * log(freedom / 2) - lgamma(freedom / 2), sum = 0;
    for (int i = 0; i < POINTS * S_PANELS; i++) {
        double s = from + half * (2 * (double)(i / POINTS) + 1 + node_at(i % POINTS));
        double density = exp(constant + (freedom - 1) * log(s) - freedom * s * s / 2);
        if (density < 1e-14) continue;
        sum += half * weight[i % (POINTS / 2)] * density * range_p(&means, range * s, (double)count);
    }
    return sum > 1 ? 1 : sum;
}
