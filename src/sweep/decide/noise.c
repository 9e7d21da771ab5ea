/* How noisy is a setting, if it was measured only a few times?
 *
 * Five measurements say little about a spread: their standard deviation is off by a third. But the settings
 * of a sweep run the same program on the same machine, so the other settings say something about the noise of
 * this one, unless the settings are really differently noisy, which the scatter of their variances shows.
 * Each variance is moved towards the common one s0^2 as if that were known from d0 further measurements:
 *
 *     variance = (d0 s0^2 + d s^2) / (d0 + d),       degrees of freedom d0 + d
 *
 * This is the empirical Bayes estimate of Smyth (Statistical Applications in Genetics and Molecular Biology
 * 3, 2004). Variances that scatter as equal ones would give a large d0, which is the common variance of an
 * analysis of variance; variances that scatter more give a small one, which is Welch's test. d0 and s0^2 are
 * found from the mean and the variance of the logarithms of s^2. d0 is never more than the degrees of freedom
 * that the other settings have, and only a part of it counts (all but 2 / k of it for k settings, and half of
 * that with two or three measurements per setting), because it is an estimate itself, and with few settings a
 * bad one: two settings share nothing. If d0 is well below d, the settings are too differently noisy, and
 * what they share would make the noisy ones look too quiet: then they share nothing either. A setting with
 * one measurement has the mean variance of the others.
 *
 * tests/sweep/simulate_sweeps.py counts how often claims are wrong, also with unequal noise. */
#include "sweep/decide/decide.h"

/* The first two derivatives of the logarithm of the gamma function, for x > 0: by recurrence to where the
 * asymptotic series is exact enough. */
static double digamma(double x)
{
    double sum = 0;
    for (; x < 8; x++) sum -= 1 / x;
    double y = 1 / (x * x);
    return sum + log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y / 240)));
}

static double trigamma(double x)
{
    double sum = 0;
    for (; x < 8; x++) sum += 1 / (x * x);
    double y = 1 / (x * x);
    return sum + 1 / x + y / 2 + y / x * (1.0 / 6 - y * (1.0 / 30 - y * (1.0 / 42 - y / 30)));
}

/* The x with trigamma(x) = y; infinite if y is not positive. */
static double trigamma_inverse(double y)
{
    if (!(y > 0)) return INFINITY;
    double low = 1e-8, high = 1e8;
    if (trigamma(high) > y) return INFINITY;
    for (int i = 0; i < 100; i++) {
        double middle = sqrt(low * high);
        if (trigamma(middle) > y)
            low = middle;
        else
            high = middle;
    }
    return sqrt(low * high);
}

/* A d0 below this multiple of d does not count. Equal noise rarely gives such a small one. */
static const double least_d0 = 0.6;

static bool has_noise(const gt_log_sample *sample)
{
    return sample->count > 1 && sample->variance > 0 && isfinite(sample->variance);
}

/* The logarithm of the variance, corrected for the bias that the logarithm has. */
static double unbiased_log(const gt_log_sample *sample)
{
    double half = (double)(sample->count - 1) / 2;
    return log(sample->variance) - digamma(half) + log(half);
}

void gt_log_samples_share_noise(gt_log_sample *samples, size_t count, bool fully)
{
    double n = 0, mean = 0, scatter = 0, expected = 0, freedom = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        if (!has_noise(&samples[i])) continue;
        double own = (double)(samples[i].count - 1);
        n++;
        mean += unbiased_log(&samples[i]);
        expected += trigamma(own / 2);
        freedom += own;
        squares += own * samples[i].variance;
    }
    if (n < 1) return;
    mean /= n;
    for (size_t i = 0; i < count; i++)
        if (has_noise(&samples[i])) scatter += pow(unbiased_log(&samples[i]) - mean, 2);
    double more = n > 1 ? 2 * trigamma_inverse(scatter / (n - 1) - expected / n) : 0; /* d0 */
    double common = isinf(more) || n < 2 ? squares / freedom : exp(mean + digamma(more / 2) - log(more / 2));
    for (size_t i = 0; i < count; i++) {
        if (samples[i].count == 1) {
            samples[i].variance = squares / freedom;
            samples[i].freedom = freedom;
        }
        if (!has_noise(&samples[i])) continue;
        double own = (double)(samples[i].count - 1);
        double trust = fully ? 1 : more < least_d0 * own ? 0 : (1 - 2 / n) * (samples[i].count > 3 ? 1 : 0.5);
        double others = fmin(more, freedom - own) * fmax(trust, 0);
        samples[i].variance = (others * common + own * samples[i].variance) / (others + own);
        samples[i].freedom = others + own;
    }
}
