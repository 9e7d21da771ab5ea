/* Which runs of a setting are far from its others?
 *
 * A run that something disturbed takes longer: another job on the node, a throttled GPU, a slow file system.
 * One such run of five hides a difference of many percent in a mean. So the runs of each setting that agree
 * are found first, from the fastest on, and the others are left out and named:
 *
 *     1029 1030 1030 1031 | 1290        the last one is 200 times as far from the others as they are from
 *                                       each other
 *
 * Sorted runs are cut at the first gap that is large compared with the differences between runs of one
 * setting, of which the lower quartile of all settings is a robust measure (as in the estimate Qn of
 * Rousseeuw and Croux). A cut is undone if it may be noise: Student's test of the next run against the mean
 * of those that agree, with the variance shared between settings (noise.c), corrected for the number of runs.
 * What is faster than the others is left out too, but only of five runs or more, and few: nothing makes a run
 * faster than it can be.
 *
 * If half of the runs or more are far from the fastest ones, it is unknown which the usual ones are: then the
 * setting is unclear. It cannot be the best, but it can be slower than another one if even its fast runs are.
 * An outlier must also be far by the spread of its own setting alone to make a setting clear: a noisy setting
 * whose first runs are close to each other by chance looks like one with outliers.
 *
 * Where the fastest of several settings is selected, it is that noisy setting that looks the fastest, so more
 * is demanded of outliers than in comparisons of given settings. */
#include "sweep/decide/decide.h"

#include "table/distributions.h"
#include "table/stats.h"

/* A first guess, in standard deviations; with selection, the fewer runs, the less is known about these. */
static const double cut_at = 3, cut_at_per_run = 40;
static const double outlier_p = 0.03; /* how often a sweep without outliers has one */
/* Of the same distance by the spread of its setting alone; with selection. */
static const double clear_p = 0.01, clear_p_selected = 0.005;
static const double least_deviation = 1e-4; /* equal times of a coarse clock have no spread */

/* The runs of a setting, ascending; kept: those that agree. */
typedef struct run_list {
    double *logs;
    size_t count, first, kept;
} run_list;

static run_list take_runs(const gt_number_series *values)
{
    run_list runs = {.logs = gt_alloc((values->count + 1) * sizeof(double))};
    for (size_t i = 0; i < values->count; i++)
        if (values->items[i] > 0 && isfinite(values->items[i]))
            runs.logs[runs.count++] = log(values->items[i]);
    return runs;
}

/* Differences between runs, of which each has at most so many partners: that is all pairs of few runs. */
enum { PARTNERS_MAX = 16 };

/* The standard deviation of all settings, from the lower quartile of the differences between their runs. */
static double robust_deviation(const run_list *runs, size_t count)
{
    gt_number_series differences = {0};
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < runs[s].count; i++)
            for (size_t k = i + 1; k < runs[s].count && k <= i + PARTNERS_MAX; k++)
                gt_series_add(&differences, fabs(runs[s].logs[i] - runs[s].logs[k]));
    double quartile =
        differences.count ? gt_select(differences.items, differences.count, differences.count / 4) : 0;
    gt_free(differences.items);
    return fmax(2.2219 * quartile, least_deviation); /* of a normal distribution */
}

static size_t agreeing_from(const run_list *runs, size_t first, double most)
{
    size_t end = first + 1;
    while (end < runs->count && runs->logs[end] - runs->logs[end - 1] <= most) end++;
    return end - first;
}

static void cut(run_list *runs, double most)
{
    runs->first = 0;
    runs->kept = runs->count ? agreeing_from(runs, 0, most) : 0;
    if (!runs->count || runs->kept > (runs->count - 1) / 4) return;
    size_t after = agreeing_from(runs, runs->kept, most);
    if (2 * after <= runs->count) return;
    runs->first = runs->kept;
    runs->kept = after;
}

static gt_log_sample sample_of(const run_list *runs)
{
    gt_log_sample sample = gt_log_sample_of_logs(runs->logs + runs->first, runs->kept);
    sample.runs = runs->count;
    return sample;
}

/* How often the next run after (side 0) or before (1) those that agree is at least so far from their
 * mean. */
static double next_p(const run_list *runs, const gt_log_sample *kept, size_t side)
{
    size_t end = runs->first + runs->kept;
    if (!(kept->freedom > 0)) return 1;
    double distance = fabs(runs->logs[side ? runs->first - 1 : end] - kept->mean),
           deviation = fmax(sqrt(kept->variance), least_deviation);
    return gt_student_p(distance / (deviation * sqrt(1 + 1 / (double)kept->count)), kept->freedom);
}

static bool has_next(const run_list *runs, size_t side)
{
    return side ? runs->first > 0 : runs->first + runs->kept < runs->count;
}

/* Takes the next run back if it may be noise. */
static bool undo(run_list *runs, const gt_log_sample *kept, size_t all)
{
    for (size_t side = 0; side < 2; side++) {
        if (!has_next(runs, side) || next_p(runs, kept, side) * (double)all < outlier_p) continue;
        runs->first -= side;
        runs->kept++;
        return true;
    }
    return false;
}

static bool is_clear(const run_list *runs, const gt_log_sample *own, double most_p)
{
    for (size_t side = 0; side < 2; side++)
        if (has_next(runs, side) && !(next_p(runs, own, side) < most_p)) return false;
    return 2 * runs->kept > runs->count;
}

void gt_log_samples_make(gt_log_sample *samples, const gt_number_series *values, size_t count,
                         bool is_selected)
{
    run_list *runs = gt_alloc((count + 1) * sizeof *runs);
    size_t all = 0;
    for (size_t s = 0; s < count; s++) {
        runs[s] = take_runs(&values[s]);
        all += runs[s].count;
    }
    double most = (cut_at + (is_selected ? cut_at_per_run / (double)all : 0)) * robust_deviation(runs, count);
    for (size_t s = 0; s < count; s++) {
        if (runs[s].count) qsort(runs[s].logs, runs[s].count, sizeof(double), gt_by_double);
        cut(&runs[s], most);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t s = 0; s < count; s++) samples[s] = sample_of(&runs[s]);
        gt_log_samples_share_noise(samples, count, true);
        for (size_t s = 0; s < count; s++) changed |= undo(&runs[s], &samples[s], all);
    }
    for (size_t s = 0; s < count; s++) {
        run_list *list = &runs[s];
        samples[s] = sample_of(list);
        samples[s].is_clear = is_clear(list, &samples[s], is_selected ? clear_p_selected : clear_p);
        if (!list->count) continue;
        samples[s].low = list->logs[list->first];
        samples[s].high = list->logs[list->first + list->kept - 1];
        if (!samples[s].is_clear) samples[s].typical = gt_mean(list->logs, list->count);
    }
    for (size_t s = 0; s < count; s++) gt_free(runs[s].logs);
    gt_free(runs);
}

bool gt_log_sample_is_outlier(const gt_log_sample *sample, double value)
{
    return value > 0 && isfinite(value) && (log(value) < sample->low || log(value) > sample->high);
}
