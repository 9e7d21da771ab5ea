/* How long does a setting usually take, if some of its runs may have been disturbed and nobody knows how much
 * runs differ?
 *
 * The times of the undisturbed runs of a setting are lognormal. A disturbed run takes longer, by any amount
 * alike: another job on the node, a throttled GPU, a slow file system. So the runs of a setting have a few
 * explanations, each of a noise and of the runs that are disturbed:
 *
 *     1029 1030 1030 1031 1290        noise 0.1 %, the last one is disturbed      likely
 *                                     noise 9 %, none is disturbed                less likely
 *                                     noise 0.04 %, three are disturbed           hardly
 *
 * An explanation has a likelihood, and gives the usual time with a normal distribution. What is asked about
 * settings, such as "is A slower than B?", is the mean over their explanations, weighted by likelihood.
 *
 * Five runs say little about the noise, but the settings of a sweep run the same program on the same machine,
 * so the others say something about it, unless they really are differently noisy. Therefore the noise of the
 * settings is distributed around a common one: equal, or different by factors of about 1.4, 2 or 3. How
 * likely each of these and each common noise is, follows from the other settings.
 *
 * tests/sweep/simulate_sweeps.py counts how often claims are wrong, and how often the best setting is found.
 */
#include "sweep/decide/decide.h"

#include "table/stats.h"

enum { NOISES = 58, SPREADS = 4, COMMONS = NOISES * SPREADS };
static const double least_noise = 1e-4, noise_step = 0.16; /* of the logarithm */
/* How different the noise of settings is, as a standard deviation of its logarithm, and how often. */
static const double spreads[SPREADS] = {0, 0.35, 0.7, 1.1}, spread_shares[SPREADS] = {0.5, 0.05, 0.3, 0.15};
/* The density of disturbed runs, by the logarithm of how much longer they take: 8 % of runs, by up to 65 %,
 * and as many by more. A run that is too fast is rare: nothing makes a run faster than it can be. */
static const double disturbed = 0.16, longest = 0.5, too_fast = 0.01;
enum { TOO_FAST_MAX = 2 };
static const double least_weight = 1e-5; /* of what matters, compared with the most likely */

typedef struct explanation {
    size_t noise, first, kept; /* the undisturbed runs, of those in ascending order */
    double weight, mean, variance;
} explanation;

typedef struct model_setting {
    double *logs; /* ascending */
    size_t count;
    explanation *items;
    size_t item_count, item_capacity;
    size_t low, high;         /* the noises of its explanations */
    double evidence[COMMONS]; /* logarithm: how likely the runs are with this common noise and spread */
} model_setting;

struct gt_runs_model {
    model_setting *settings;
    size_t count;
    double evidence[COMMONS];       /* of all settings */
    double shares[SPREADS][NOISES]; /* of settings whose noise is so many steps from the common one */
};

static double noise_at(size_t index)
{
    return least_noise * exp(noise_step * (double)index);
}

static size_t distance(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* ---- explanations of one setting ---- */

/* All runs are disturbed: the usual time is anywhere below the fastest one. */
static void explain_none(model_setting *s)
{
    double weight = (double)s->count * log(disturbed) + log(longest);
    for (size_t g = 0; g < NOISES; g++) {
        explanation item = {g, 0, 0, weight, s->logs[0] - longest / 2, longest * longest / 12};
        GT_PUSH(s->items, s->item_count, s->item_capacity, item);
    }
}

/* All explanations with these undisturbed runs; weights are logarithms. */
static void explain(model_setting *s, size_t first, size_t kept)
{
    double n = (double)kept, mean = gt_mean(s->logs + first, kept), squares = 0;
    size_t longer = s->count - first - kept;
    for (size_t i = first; i < first + kept; i++) squares += pow(s->logs[i] - mean, 2);
    double others = (double)first * log(too_fast) + (double)longer * log(disturbed) - log(n) / 2;
    for (size_t g = 0; g < NOISES; g++) {
        double noise = noise_at(g), variance = noise * noise;
        double weight = others - (n - 1) * log(noise * sqrt(2 * M_PI)) - squares / (2 * variance);
        explanation item = {g, first, kept, weight, mean, variance / n};
        GT_PUSH(s->items, s->item_count, s->item_capacity, item);
    }
}

/* Keeps those that matter, with weights relative to the most likely one. */
static void prune(model_setting *s)
{
    double most = -INFINITY;
    size_t kept = 0;
    for (size_t i = 0; i < s->item_count; i++) most = fmax(most, s->items[i].weight);
    for (size_t i = 0; i < s->item_count; i++) {
        s->items[i].weight = exp(s->items[i].weight - most);
        if (s->items[i].weight < least_weight) continue;
        if (!kept || s->items[i].noise < s->low) s->low = s->items[i].noise;
        if (!kept || s->items[i].noise > s->high) s->high = s->items[i].noise;
        s->items[kept++] = s->items[i];
    }
    s->item_count = kept;
}

static void explain_all(model_setting *s, const gt_number_series *values)
{
    s->logs = gt_alloc((values->count + 1) * sizeof *s->logs);
    for (size_t i = 0; i < values->count; i++)
        if (values->items[i] > 0 && isfinite(values->items[i])) s->logs[s->count++] = log(values->items[i]);
    if (!s->count) return;
    qsort(s->logs, s->count, sizeof *s->logs, gt_by_double);
    if (s->count > 2)
        explain_none(s); /* else nothing would ever be told apart from one disturbed run of two */
    size_t fast = (s->count - 1) / 4;
    for (size_t first = 0; first <= fast && first <= TOO_FAST_MAX; first++)
        for (size_t kept = 1; first + kept <= s->count; kept++) explain(s, first, kept);
    prune(s);
}

/* ---- the common noise ---- */

static void find_shares(gt_runs_model *m)
{
    m->shares[0][0] = 1;
    for (size_t k = 1; k < SPREADS; k++)
        for (size_t g = 0; g < NOISES; g++)
            m->shares[k][g] = exp(-pow(noise_step * (double)g / spreads[k], 2) / 2) * noise_step /
                              (spreads[k] * sqrt(2 * M_PI));
}

static void find_evidence(gt_runs_model *m)
{
    for (size_t c = 0; c < COMMONS; c++) m->evidence[c] = log(spread_shares[c / NOISES]);
    for (size_t i = 0; i < m->count; i++) {
        model_setting *s = &m->settings[i];
        double of_noise[NOISES] = {0};
        for (size_t k = 0; k < s->item_count; k++) of_noise[s->items[k].noise] += s->items[k].weight;
        for (size_t c = 0; c < COMMONS && s->item_count; c++) {
            double sum = 0;
            for (size_t g = 0; g < NOISES; g++)
                sum += of_noise[g] * m->shares[c / NOISES][distance(g, c % NOISES)];
            s->evidence[c] = log(sum);
            m->evidence[c] += s->evidence[c];
        }
    }
}

/* How likely it is that two settings have these noises, without a factor, by what the other settings say. Of
 * a single one (b is NULL), noises[...][0]. Only the noises that the settings may have are set. */
static void weigh_noises(const gt_runs_model *m, const model_setting *a, const model_setting *b,
                         double noises[NOISES][NOISES])
{
    double most = -INFINITY;
    size_t first = b ? b->low : 0, last = b ? b->high : 0;
    for (size_t c = 0; c < COMMONS; c++) most = fmax(most, m->evidence[c]);
    for (size_t g = a->low; g <= a->high; g++)
        for (size_t h = first; h <= last; h++) noises[g][h] = 0;
    for (size_t c = 0; c < COMMONS; c++) {
        if (!(m->evidence[c] > most + log(least_weight))) continue;
        const double *shares = m->shares[c / NOISES];
        double weight = exp(m->evidence[c] - most - a->evidence[c] - (b ? b->evidence[c] : 0));
        for (size_t g = a->low; g <= a->high; g++) {
            double of_a = weight * shares[distance(g, c % NOISES)];
            for (size_t h = first; h <= last && of_a > 0; h++)
                noises[g][h] += of_a * (b ? shares[distance(h, c % NOISES)] : 1);
        }
    }
}

/* ---- what is asked about settings ---- */

typedef struct normal {
    double weight, mean, deviation;
} normal;

/* A mixture of normal distributions. */
typedef struct mixture {
    normal *items;
    size_t count, capacity;
} mixture;

/* The logarithm of the usual time of a, or its difference to that of b. */
static mixture mixture_of(const gt_runs_model *m, const model_setting *a, const model_setting *b)
{
    static const explanation nothing = {.weight = 1};
    double noises[NOISES][NOISES], all = 0;
    mixture mix = {0};
    weigh_noises(m, a, b, noises);
    for (size_t i = 0; i < a->item_count; i++)
        for (size_t k = 0; k < (b ? b->item_count : 1); k++) {
            const explanation *x = &a->items[i], *y = b ? &b->items[k] : &nothing;
            normal item = {x->weight * y->weight * noises[x->noise][y->noise], x->mean - y->mean,
                           sqrt(x->variance + y->variance)};
            all += item.weight;
            if (item.weight > least_weight * all) GT_PUSH(mix.items, mix.count, mix.capacity, item);
        }
    for (size_t i = 0; i < mix.count; i++) mix.items[i].weight /= all;
    return mix;
}

static double share_below(const mixture *mix, double value)
{
    double share = 0;
    for (size_t i = 0; i < mix->count; i++) {
        double far = (value - mix->items[i].mean) / mix->items[i].deviation;
        if (far > -8) share += mix->items[i].weight * (far > 8 ? 1 : erfc(-far * M_SQRT1_2) / 2);
    }
    return share;
}

static double quantile(const mixture *mix, double share)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < mix->count; i++) {
        low = fmin(low, mix->items[i].mean - 8 * mix->items[i].deviation);
        high = fmax(high, mix->items[i].mean + 8 * mix->items[i].deviation);
    }
    for (int i = 0; i < 24; i++) { /* to a millionth of a deviation */
        double middle = (low + high) / 2;
        if (share_below(mix, middle) < share)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

static gt_estimate with_interval(double value, const mixture *mix)
{
    return (gt_estimate){exp(value), exp(quantile(mix, GT_OUTSIDE_INTERVAL / 2)),
                         exp(quantile(mix, 1 - GT_OUTSIDE_INTERVAL / 2))};
}

/* The undisturbed runs by the likeliest explanation, whatever the noise is. */
static gt_log_sample likeliest(const model_setting *s, double noises[NOISES][NOISES])
{
    gt_log_sample sample = gt_log_sample_of_logs(s->logs, 0);
    double most = 0;
    for (size_t i = 0, end; i < s->item_count; i = end) {
        const explanation *x = &s->items[i];
        double sum = 0;
        for (end = i; end < s->item_count && s->items[end].first == x->first && s->items[end].kept == x->kept;
             end++)
            sum += s->items[end].weight * noises[s->items[end].noise][0];
        if (sum <= most || !x->kept) continue;
        most = sum;
        sample = gt_log_sample_of_logs(s->logs + x->first, x->kept);
        sample.low = s->logs[x->first];
        sample.high = s->logs[x->first + x->kept - 1];
    }
    sample.runs = s->count;
    sample.is_clear = 2 * sample.count > s->count;
    if (s->count && !sample.is_clear) sample.typical = gt_mean(s->logs, s->count);
    return sample;
}

gt_runs_model *gt_runs_model_new(gt_log_sample *samples, const gt_number_series *values, size_t count)
{
    double noises[NOISES][NOISES];
    gt_runs_model *m = gt_alloc_zero(1, sizeof *m);
    m->settings = gt_alloc_zero(count + 1, sizeof *m->settings);
    m->count = count;
    find_shares(m);
    for (size_t i = 0; i < count; i++) explain_all(&m->settings[i], &values[i]);
    find_evidence(m);
    for (size_t i = 0; i < count; i++) {
        weigh_noises(m, &m->settings[i], NULL, noises);
        samples[i] = likeliest(&m->settings[i], noises);
    }
    return m;
}

void gt_runs_model_free(gt_runs_model *m)
{
    if (!m) return;
    for (size_t i = 0; i < m->count; i++) {
        gt_free(m->settings[i].logs);
        gt_free(m->settings[i].items);
    }
    gt_free(m->settings);
    gt_free(m);
}

gt_estimate gt_runs_mean(const gt_runs_model *m, const gt_log_sample *samples, size_t setting)
{
    gt_estimate mean = {exp(samples[setting].typical), NAN, NAN};
    if (samples[setting].runs < 2 || !samples[setting].is_clear) return mean;
    mixture mix = mixture_of(m, &m->settings[setting], NULL);
    mean = with_interval(samples[setting].typical, &mix);
    gt_free(mix.items);
    return mean;
}

gt_ratio_test gt_runs_compare(const gt_runs_model *m, const gt_log_sample *samples, size_t a, size_t b,
                              bool with_limits)
{
    double difference = samples[a].typical - samples[b].typical;
    gt_ratio_test test = {{exp(difference), NAN, NAN}, NAN};
    if (samples[a].runs < 2 || samples[b].runs < 2) return test;
    mixture mix = mixture_of(m, &m->settings[a], &m->settings[b]);
    double below = share_below(&mix, 0);
    test.p = difference == 0 ? 1 : fmin(1, 2 * (difference > 0 ? below : 1 - below));
    if (with_limits && samples[a].is_clear && samples[b].is_clear)
        test.ratio = with_interval(difference, &mix);
    gt_free(mix.items);
    return test;
}
