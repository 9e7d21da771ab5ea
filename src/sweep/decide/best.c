/* Which settings are slower than the best one, and which cannot be told apart from it?
 *
 * Comparing every setting with the one that happens to be the fastest is wrong in two ways: among many equal
 * settings some pair always looks different, and the fastest was selected because it was lucky. With 16 equal
 * settings, a plain test against the fastest one finds a "difference" in most sweeps.
 *
 * The method is a step-down test with the studentized range, whose distribution is that of the difference
 * between the slowest and the fastest of k equal settings: selection and number are both part of it. Settings
 * are sorted by their means. If the slowest of all k settings does not differ from the fastest in this
 * distribution, nothing can be told apart. Otherwise it is excluded, and the slowest of the remaining k - 1
 * is compared in the distribution for k - 1, and so on:
 *
 *     mean      100   100.4   103    110
 *     k = 4                          110 / 100: p = 0.0001   excluded
 *     k = 3                   103 / 100: p = 0.02            excluded
 *     k = 2            100.4 / 100: p = 0.6                  cannot be told apart: the set is {100, 100.4}
 *
 * The p-value of a setting is the largest of its own step and the steps before, so that the order of the
 * p-values is that of the steps.
 *
 * Why not others. Hsu's comparisons with the best answer a weaker question: they name a set that contains a
 * best setting, and of two equal settings they exclude one in 10 % of all sweeps. Tukey's test compares all
 * pairs at the full k and finds less. Holm's correction of plain tests ignores the selection. For the claim
 * "this one is the best" all settings must be excluded; the last step is then a two-sided test of the two
 * fastest, which is enough for that claim even when there are many others (Gutmann and Maymin, Annals of
 * Statistics 15, 1987). Excluding too much can only happen among settings that are as good as the best, and
 * the first step that reaches them is a range test of at least as many settings.
 *
 * Each comparison uses the spread of its two settings only (Welch; Games and Howell for the range), because
 * settings may be differently noisy. tests/sweep/test_decide.c simulates sweeps without differences, with
 * equal and with different noise, and counts false claims. */
#include "sweep/decide/decide.h"

#include "base/memory.h"
#include "table/distributions.h"
#include "table/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- samples ---- */

static bool is_usable(double value)
{
    return value > 0 && isfinite(value);
}

/* The logarithms of the usable values; returns their number. */
static size_t take_logs(const double *values, size_t count, double *logs)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (is_usable(values[i])) logs[used++] = log(values[i]);
    return used;
}

gt_log_sample gt_log_sample_of(const double *values, size_t count)
{
    double *logs = gt_alloc((count + 1) * sizeof *logs);
    gt_log_sample sample = {.count = take_logs(values, count, logs), .mean = NAN, .variance = NAN};
    if (sample.count) sample.mean = gt_mean(logs, sample.count);
    if (sample.count > 1) {
        double std = gt_std(logs, sample.count);
        sample.variance = std * std;
        sample.freedom = (double)sample.count - 1;
    }
    gt_free(logs);
    return sample;
}

gt_estimate gt_log_sample_mean(const gt_log_sample *sample)
{
    gt_estimate mean = {exp(sample->mean), NAN, NAN};
    if (sample->count < 2) return mean;
    double half = gt_student_quantile(1 - GT_DECIDE_ALPHA / 2, sample->freedom) *
                  sqrt(sample->variance / (double)sample->count);
    mean.low = exp(sample->mean - half);
    mean.high = exp(sample->mean + half);
    return mean;
}

gt_ratio_test gt_compare_samples(const gt_log_sample *a, const gt_log_sample *b)
{
    double difference = a->mean - b->mean;
    gt_ratio_test test = {{exp(difference), NAN, NAN}, NAN, NAN, NAN};
    if (a->count < 2 || b->count < 2) return test;
    double va = a->variance / (double)a->count, vb = b->variance / (double)b->count, all = va + vb;
    test.error = sqrt(all);
    if (!(all > 0)) { /* no spread at all: equal, or different beyond doubt */
        test.freedom = a->freedom + b->freedom;
        test.p = difference == 0 ? 1 : 0;
        test.ratio.low = test.ratio.high = test.ratio.value;
        return test;
    }
    double fa = va / all, fb = vb / all; /* of 1, so that tiny variances do not underflow when squared */
    test.freedom = 1 / (fa * fa / a->freedom + fb * fb / b->freedom);
    if (a->pool > 0) test.freedom = fmin(test.freedom, a->pool); /* shared noise is not independent */
    if (b->pool > 0) test.freedom = fmin(test.freedom, b->pool);
    test.p = gt_student_p(difference / test.error, test.freedom);
    double half = gt_student_quantile(1 - GT_DECIDE_ALPHA / 2, test.freedom) * test.error;
    test.ratio.low = exp(difference - half);
    test.ratio.high = exp(difference + half);
    return test;
}

/* ---- permutation test ---- */

enum { PERMUTATIONS = 20000 };

/* xorshift64*: the same numbers on every machine. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

/* The number of ways to choose `k` of `n`, or a number above the limit. */
static double choices(size_t n, size_t k)
{
    double ways = 1;
    for (size_t i = 1; i <= k && ways <= PERMUTATIONS; i++) ways = ways * (double)(n - k + i) / (double)i;
    return ways;
}

/* Moves to the next choice of `count` of `all` in lexical order; false after the last one. */
static bool next_choice(size_t *chosen, size_t count, size_t all)
{
    size_t i = count;
    while (i && chosen[i - 1] == all - count + i - 1) i--;
    if (!i) return false;
    chosen[i - 1]++;
    for (; i < count; i++) chosen[i] = chosen[i - 1] + 1;
    return true;
}

/* Values whose sum is 0: a choice of some differs from the rest as far as its sum differs from 0. */
static double share_of_choices(const double *values, size_t all, size_t count, double limit)
{
    size_t *chosen = gt_alloc((count + 1) * sizeof *chosen), far = 0, tried = 0;
    for (size_t i = 0; i < count; i++) chosen[i] = i;
    do {
        double sum = 0;
        for (size_t i = 0; i < count; i++) sum += values[chosen[i]];
        far += fabs(sum) >= limit;
        tried++;
    } while (next_choice(chosen, count, all));
    gt_free(chosen);
    return (double)far / (double)tried;
}

/* The actual distribution counts as one of the tries, so that the result is never 0. */
static double share_of_random(double *values, size_t all, size_t count, double limit)
{
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
    size_t far = 1, tries = 4000000 / (all + 1);
    if (tries > PERMUTATIONS) tries = PERMUTATIONS;
    if (tries < 1000) tries = 1000;
    for (size_t t = 0; t < tries; t++) {
        double sum = 0;
        for (size_t i = 0; i < count; i++) {
            size_t with = i + (size_t)((double)(next_random(&state) >> 11) / 0x1p53 * (double)(all - i));
            double value = values[with];
            values[with] = values[i];
            values[i] = value;
            sum += value;
        }
        far += fabs(sum) >= limit;
    }
    return (double)far / (double)(tries + 1);
}

double gt_permutation_p(const double *a, size_t a_count, const double *b, size_t b_count)
{
    double *values = gt_alloc((a_count + b_count + 1) * sizeof *values), p = NAN, sum = 0;
    size_t first = take_logs(a, a_count, values), all = first + take_logs(b, b_count, values + first);
    if (first && all > first) {
        double mean = gt_mean(values, all);
        for (size_t i = 0; i < all; i++) {
            values[i] -= mean;
            if (i < first) sum += values[i];
        }
        double limit = fabs(sum) * (1 - 1e-9); /* sums that are equal but for rounding count */
        p = choices(all, first) <= PERMUTATIONS ? share_of_choices(values, all, first, limit)
                                                : share_of_random(values, all, first, limit);
    }
    gt_free(values);
    return p;
}

/* ---- Holm's correction ---- */

typedef struct keyed {
    double key;
    size_t index;
} keyed;

static int by_key(const void *left, const void *right)
{
    const keyed *a = left, *b = right;
    if (isnan(a->key) || isnan(b->key)) {
        if (isnan(a->key) != isnan(b->key)) return isnan(a->key) ? 1 : -1;
    } else if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

/* The numbers ascending, NaN last, equal ones in their order. Returns how many are not NaN. */
static size_t sort_keys(keyed *keys, size_t count)
{
    if (count) qsort(keys, count, sizeof *keys, by_key);
    while (count && isnan(keys[count - 1].key)) count--;
    return count;
}

void gt_holm_correct(double *p, size_t count)
{
    keyed *keys = gt_alloc((count + 1) * sizeof *keys);
    for (size_t i = 0; i < count; i++) keys[i] = (keyed){p[i], i};
    size_t known = sort_keys(keys, count);
    double largest = 0;
    for (size_t i = 0; i < known; i++) {
        largest = fmax(largest, fmin(1, keys[i].key * (double)(known - i)));
        p[keys[i].index] = largest;
    }
    gt_free(keys);
}

/* ---- the best ---- */

static void rank_settings(gt_best *best, const gt_log_sample *samples)
{
    keyed *keys = gt_alloc((best->count + 1) * sizeof *keys);
    for (size_t i = 0; i < best->count; i++) keys[i] = (keyed){samples[i].mean, i};
    best->measured = sort_keys(keys, best->count);
    for (size_t i = 0; i < best->count; i++) {
        best->order[i] = keys[i].index;
        best->settings[keys[i].index].rank = i + 1;
    }
    gt_free(keys);
}

/* The p-value of the range of the `steps` fastest settings, the slowest of which was compared. */
static double step_p(const gt_ratio_test *test, size_t steps)
{
    if (isnan(test->p) || !(test->error > 0)) return test->p;
    double range = fabs(log(test->ratio.value)) / test->error * sqrt(2);
    return gt_studentized_range_p(range, steps, test->freedom);
}

gt_best gt_best_find(const gt_log_sample *samples, size_t count)
{
    gt_best best = {.settings = gt_alloc_zero(count + 1, sizeof *best.settings),
                    .order = gt_alloc((count + 1) * sizeof *best.order),
                    .count = count};
    rank_settings(&best, samples);
    double largest = 0;
    size_t compared = 0; /* settings that have a spread, with the best one */
    for (size_t r = 0; r < best.measured; r++) compared += samples[best.order[r]].count > 1;
    for (size_t r = count; r-- > 0;) {
        gt_standing *standing = &best.settings[best.order[r]];
        standing->p = NAN;
        standing->to_best = (gt_ratio_test){{NAN, NAN, NAN}, NAN, NAN, NAN};
        if (r >= best.measured) continue;
        standing->to_best = gt_compare_samples(&samples[best.order[r]], &samples[best.order[0]]);
        if (r == 0) {
            standing->to_best = (gt_ratio_test){{1, NAN, NAN}, NAN, NAN, NAN};
            standing->is_candidate = true;
        } else if (isnan(standing->to_best.p)) {
            standing->is_candidate = true;
        } else {
            largest = fmax(largest, step_p(&standing->to_best, compared--));
            standing->p = largest;
            standing->is_candidate = !(largest < GT_DECIDE_ALPHA);
        }
        best.candidates += standing->is_candidate;
    }
    return best;
}

void gt_best_free(gt_best *best)
{
    gt_free(best->settings);
    gt_free(best->order);
    *best = (gt_best){0};
}

/* ---- medians ---- */

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* How many values at each end can be dropped so that the rest contains the median with 95 %: the largest r
 * for which a coin shows heads fewer than r times in `count` throws with at most 2.5 %. */
static size_t droppable(size_t count)
{
    if (count > 1000) { /* the normal distribution is close enough */
        double r = ((double)count - 1.959963985 * sqrt((double)count) - 1) / 2;
        return (size_t)r;
    }
    double log_ways = 0, below = 0, n = (double)count;
    for (size_t r = 0; r < count; r++) {
        below += exp(log_ways - n * log(2));
        if (below > GT_DECIDE_ALPHA / 2) return r ? r - 1 : 0;
        log_ways += log((n - (double)r) / ((double)r + 1));
    }
    return 0;
}

gt_estimate gt_median_estimate(double *values, size_t count)
{
    if (!count) return (gt_estimate){NAN, NAN, NAN};
    qsort(values, count, sizeof *values, by_value);
    double median = (values[(count - 1) / 2] + values[count / 2]) / 2;
    if (count == 1) return (gt_estimate){median, NAN, NAN};
    size_t drop = droppable(count);
    return (gt_estimate){median, values[drop], values[count - 1 - drop]};
}

/* The method of variance estimates recovery: the distances of the limits from the estimates add up as those
 * of independent errors do. */
gt_estimate gt_ratio_of_estimates(gt_estimate a, gt_estimate b)
{
    double x = log(a.value), y = log(b.value);
    double down = hypot(x - log(a.low), log(b.high) - y), up = hypot(log(a.high) - x, y - log(b.low));
    return (gt_estimate){exp(x - y), exp(x - y - down), exp(x - y + up)};
}
