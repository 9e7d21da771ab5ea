/* Which settings are slower than the best one, and which cannot be told apart from it?
 *
 * Each setting is compared with the one that happens to be the fastest (model.c). Plain comparisons would be
 * wrong in two ways: among many equal settings some pair always looks different, and the fastest was selected
 * because it was lucky. So the p-values are corrected step by step as in Holm's method, the smallest first,
 * for the number of all pairs of the settings that are left:
 *
 *     setting                  C         D         B
 *     p of one comparison      0.00001   0.0005    0.6
 *     pairs of settings left   6         3         1
 *     p_value                  0.00006   0.0015    0.6       C and D are slower, B cannot be told apart
 *
 * The steps go by p, not by means, so that a setting that is slow and noisy hides nothing.
 *
 * For the claim "this one is the best" no correction for the number is needed: it is wrong only if one of the
 * others is as good, and then that one must have been excluded by its own comparison, which happens in at
 * most the share alpha (Gutmann and Maymin, Annals of Statistics 15, 1987; Berger, Technometrics 24, 1982).
 * So no p-value is larger than the largest of the single ones. At least three runs of the best one must
 * agree, and most of them, or it is not told apart from the next. A setting that was run once is never told
 * apart: if something disturbed that run, the setting may be the best one. */
#include "sweep/decide/decide.h"

#include "table/distributions.h"
#include "table/stats.h"

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

gt_log_sample gt_log_sample_of_logs(const double *logs, size_t count)
{
    gt_log_sample sample = {.count = count,
                            .runs = count,
                            .mean = gt_mean(logs, count),
                            .variance = NAN,
                            .low = -INFINITY,
                            .high = INFINITY,
                            .is_clear = true};
    sample.typical = sample.mean;
    if (count > 1) {
        double std = gt_std(logs, count);
        sample.variance = std * std;
        sample.freedom = (double)count - 1;
    }
    return sample;
}

gt_log_sample gt_log_sample_of(const double *values, size_t count)
{
    double *logs = gt_alloc((count + 1) * sizeof *logs);
    gt_log_sample sample = gt_log_sample_of_logs(logs, take_logs(values, count, logs));
    gt_free(logs);
    return sample;
}

bool gt_log_sample_is_outlier(const gt_log_sample *sample, double value)
{
    return value > 0 && isfinite(value) && (log(value) < sample->low || log(value) > sample->high);
}

gt_estimate gt_log_sample_mean(const gt_log_sample *sample)
{
    gt_estimate mean = {exp(sample->mean), NAN, NAN};
    if (sample->count < 2) return mean;
    double half = gt_student_quantile(1 - GT_OUTSIDE_INTERVAL / 2, sample->freedom) *
                  sqrt(sample->variance / (double)sample->count);
    mean.low = exp(sample->mean - half);
    mean.high = exp(sample->mean + half);
    return mean;
}

gt_ratio_test gt_compare_samples(const gt_log_sample *a, const gt_log_sample *b)
{
    double difference = a->mean - b->mean, t = INFINITY, freedom = a->freedom + b->freedom;
    gt_ratio_test test = {{exp(difference), NAN, NAN}, NAN};
    if (a->count < 2 || b->count < 2) return test;
    double va = a->variance / (double)a->count, vb = b->variance / (double)b->count, all = va + vb;
    if (all > 0) {
        double fa = va / all, fb = vb / all; /* of 1, so that tiny variances do not underflow when squared */
        freedom = 1 / (fa * fa / a->freedom + fb * fb / b->freedom);
        t = fabs(difference) / sqrt(all);
    } else if (difference == 0) { /* no spread at all: equal, or different beyond doubt */
        t = 0;
    }
    test.p = gt_student_p(t, freedom);
    double half = all > 0 ? gt_student_quantile(1 - GT_OUTSIDE_INTERVAL / 2, freedom) * sqrt(all) : 0;
    test.ratio.low = exp(difference - half);
    test.ratio.high = exp(difference + half);
    return test;
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
    for (size_t i = 0; i < best->count; i++) keys[i] = (keyed){samples[i].typical, i};
    best->measured = sort_keys(keys, best->count);
    for (size_t i = 0; i < best->count; i++) {
        best->order[i] = keys[i].index;
        best->settings[keys[i].index] = (gt_standing){
            .rank = i + 1,
            .to_best = {{NAN, NAN, NAN}, NAN},
            .p = NAN,
            .is_candidate = i < best->measured,
            .runs_needed = NAN,
        };
    }
    gt_free(keys);
}

/* Corrects the p-values of the comparisons with the best one. `is_firm`: that one may be called the best. */
static void correct(gt_best *best, bool is_firm)
{
    keyed *keys = gt_alloc((best->measured + 1) * sizeof *keys);
    size_t others = best->measured - 1;
    for (size_t r = 0; r < others; r++)
        keys[r] = (keyed){best->settings[best->order[r + 1]].to_best.p, best->order[r + 1]};
    size_t known = sort_keys(keys, others);
    double largest = 0, most = is_firm && known == others ? keys[others - 1].key : 1;
    for (size_t i = 0; i < known; i++) {
        double pairs = (double)(known - i) * (double)(known - i + 1) / 2;
        largest = fmax(largest, keys[i].key * pairs);
        best->settings[keys[i].index].p = fmin(largest, most);
    }
    gt_free(keys);
}

/* With so many runs of both settings, a difference like this one is told apart in 90 % of sweeps: it is the
 * sum of two quantiles of the normal distribution in standard errors. Small numbers of runs need more. */
static double runs_needed(const gt_log_sample *a, const gt_log_sample *b)
{
    static const double power = 0.9, many = 1e6;
    double difference = fabs(a->typical - b->typical);
    double quantiles = gt_student_quantile(1 - GT_DECIDE_ALPHA / 2, many) + gt_student_quantile(power, many);
    return ceil((a->variance + b->variance) * pow(quantiles / difference, 2)) + 1;
}

enum { FIRM_RUNS = 3 };

gt_best gt_best_find(const gt_log_sample *samples, size_t count, const gt_runs_model *model)
{
    gt_best best = {.settings = gt_alloc_zero(count + 1, sizeof *best.settings),
                    .order = gt_alloc((count + 1) * sizeof *best.order),
                    .count = count};
    rank_settings(&best, samples);
    best.candidates = best.measured;
    if (!best.measured) return best;
    const gt_log_sample *first = &samples[best.order[0]];
    bool is_firm = model && first->is_clear && first->count >= FIRM_RUNS;
    for (size_t r = 1; r < best.measured; r++) {
        gt_standing *standing = &best.settings[best.order[r]];
        standing->to_best.ratio.value = exp(samples[best.order[r]].typical - first->typical);
        if (model) standing->to_best = gt_runs_compare(model, samples, best.order[r], best.order[0], true);
    }
    best.settings[best.order[0]].to_best.ratio.value = 1;
    if (model && best.measured > 1) correct(&best, is_firm);
    for (size_t r = 1; model && r < best.measured; r++) {
        gt_standing *standing = &best.settings[best.order[r]];
        standing->is_candidate = !(standing->p < GT_DECIDE_ALPHA) || (r == 1 && !is_firm);
        if (standing->is_candidate) standing->runs_needed = runs_needed(&samples[best.order[r]], first);
        best.candidates -= !standing->is_candidate;
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
        if (below > GT_OUTSIDE_INTERVAL / 2) return r ? r - 1 : 0;
        log_ways += log((n - (double)r) / ((double)r + 1));
    }
    return 0;
}

gt_estimate gt_median_estimate(double *values, size_t count)
{
    if (!count) return (gt_estimate){NAN, NAN, NAN};
    qsort(values, count, sizeof *values, gt_by_double);
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
