/* Statistics of arrays: sums in numpy's order of additions, medians and quantiles by selection in linear
 * time, histograms with numpy's edges, box plots and densities as matplotlib draws them. Compiled without
 * fused multiply-add, which would change the last digits. */
#include "table/stats.h"
#include "table/column.h"

/* ---- sums ---- */

enum { PAIRWISE_BLOCK = 128, LANES = 8 };

static double or_zero(double value)
{
    return isnan(value) ? 0.0 : value;
}

static double sum_block(const double *values, size_t count)
{
    double sum = 0.0, lane[LANES];
    size_t i = 0;
    if (count >= LANES) {
        for (; i < LANES; i++) lane[i] = or_zero(values[i]);
        for (; i + LANES <= count; i += LANES)
            for (size_t k = 0; k < LANES; k++) lane[k] += or_zero(values[i + k]);
        sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    }
    for (; i < count; i++) sum += or_zero(values[i]);
    return sum;
}

/* Recursion depth is at most the number of bits of the count. */
double gt_sum_pairwise(const double *values, size_t count)
{
    if (count <= PAIRWISE_BLOCK) return sum_block(values, count);
    size_t half = count / 2 / LANES * LANES;
    return gt_sum_pairwise(values, half) + gt_sum_pairwise(values + half, count - half);
}

bool gt_sum_ints(const int64_t *values, size_t count, int64_t *sum)
{
    __int128 wide = 0;
    for (size_t i = 0; i < count; i++) wide += values[i];
    *sum = (int64_t)wide;
    return *sum == wide;
}

void gt_cumulative_sum(double *out, const double *values, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        double value = values[i];
        sum += or_zero(value);
        out[i] = isnan(value) ? value : sum;
    }
}

/* ---- mean and spread ---- */

static size_t count_valued(const double *values, size_t count)
{
    size_t valued = 0;
    for (size_t i = 0; i < count; i++) valued += isnan(values[i]) ? 0 : 1;
    return valued;
}

double gt_mean(const double *values, size_t count)
{
    size_t valued = count_valued(values, count);
    return valued ? gt_sum_pairwise(values, count) / (double)valued : NAN;
}

double gt_std(const double *values, size_t count)
{
    double mean = 0.0, squares = 0.0, seen = 0.0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i])) continue;
        double before = mean;
        seen += 1.0;
        mean += (values[i] - before) / seen;
        squares += (values[i] - mean) * (values[i] - before);
    }
    return seen > 1.0 ? sqrt(squares / (seen - 1.0)) : NAN;
}

double gt_std_pairwise(const double *values, size_t count, size_t ddof)
{
    size_t valued = count_valued(values, count);
    if (valued <= ddof) return NAN;
    double mean = gt_mean(values, count), *squares = gt_alloc(count * sizeof *squares);
    for (size_t i = 0; i < count; i++) squares[i] = (values[i] - mean) * (values[i] - mean);
    double std = sqrt(gt_sum_pairwise(squares, count) / (double)(valued - ddof));
    gt_free(squares);
    return std;
}

/* ---- selection ---- */

enum { INSERTION_MAX = 8 }; /* up to this count values are sorted instead of partitioned */

static double median_of_three(double a, double b, double c)
{
    double least = a < b ? a : b, most = a < b ? b : a;
    return c < least ? least : c > most ? most : c;
}

/* Moves the values below the pivot (or also those equal to it) to the front and returns their number. It
 * always swaps and then advances conditionally, because a branch would be mispredicted half of the time. */
static size_t move_below(double *values, size_t count, double pivot, bool or_equal)
{
    size_t below = 0;
    for (size_t i = 0; i < count; i++) {
        double value = values[i];
        values[i] = values[below];
        values[below] = value;
        below += or_equal ? value <= pivot : value < pivot;
    }
    return below;
}

static uint64_t ordered_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double from_ordered_bits(uint64_t bits)
{
    double value;
    bits = bits >> 63 ? bits ^ (uint64_t)1 << 63 : ~bits;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Fallback after many bad partitions: sorts in linear time. */
static void sort_values(double *values, size_t count)
{
    uint64_t *keys = gt_alloc(count * sizeof *keys);
    uint32_t *unused = gt_alloc_zero(count, sizeof *unused);
    for (size_t i = 0; i < count; i++) keys[i] = ordered_bits(values[i]);
    gt_radix_sort(keys, unused, count, true);
    for (size_t i = 0; i < count; i++) values[i] = from_ordered_bits(keys[i]);
    gt_free_all(keys, unused);
}

static void insertion_sort(double *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        double value = values[i];
        size_t at = i;
        for (; at && values[at - 1] > value; at--) values[at] = values[at - 1];
        values[at] = value;
    }
}

double gt_select(double *values, size_t count, size_t place)
{
    size_t wanted = place; /* its index among the remaining values */
    double *left = values;
    for (unsigned splits = 2 * (64 - (unsigned)__builtin_clzll(count)); count > INSERTION_MAX && splits;
         splits--) {
        double pivot = median_of_three(left[0], left[count / 2], left[count - 1]);
        size_t below = move_below(left, count, pivot, false);
        if (wanted < below) {
            count = below;
            continue;
        }
        size_t same = move_below(left + below, count - below, pivot, true);
        if (wanted < below + same) return pivot;
        left += below + same;
        wanted -= below + same;
        count -= below + same;
    }
    if (count <= INSERTION_MAX)
        insertion_sort(left, count);
    else
        sort_values(left, count);
    return values[place];
}

double gt_median_in_place(double *values, size_t count)
{
    if (!count) return NAN;
    size_t middle = count / 2;
    double upper = gt_select(values, count, middle);
    if (count % 2) return upper;
    double lower = values[0];
    for (size_t i = 1; i < middle; i++)
        if (values[i] > lower) lower = values[i];
    return (lower + upper) / 2.0;
}

static double *copy_valued(const double *values, size_t count, size_t *valued)
{
    double *copy = gt_alloc(count * sizeof *copy);
    *valued = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i])) copy[(*valued)++] = values[i];
    return copy;
}

double gt_median(const double *values, size_t count)
{
    size_t valued;
    double *copy = copy_valued(values, count, &valued);
    double median = gt_median_in_place(copy, valued);
    gt_free(copy);
    return median;
}

/* Interpolates between neighbours from the nearer one, as numpy does. */
static double between(double a, double b, double part)
{
    double width = b - a;
    return part >= 0.5 ? b - width * (1.0 - part) : a + width * part;
}

void gt_quantiles(const double *values, size_t count, const double *qs, size_t q_count, double *results)
{
    size_t valued, sorted = 0; /* values before `sorted` are in their places or left of all that follow */
    double *copy = copy_valued(values, count, &valued);
    for (size_t i = 0; i < q_count; i++) {
        results[i] = NAN;
        if (!valued || !(qs[i] >= 0.0 && qs[i] <= 1.0)) continue;
        double place = qs[i] * (double)(valued - 1);
        size_t below = (size_t)place;
        if (below < sorted) sorted = 0; /* not in ascending order */
        double a = gt_select(copy + sorted, valued - sorted, below - sorted);
        sorted = below;
        if (below + 1 == valued)
            results[i] = a;
        else
            results[i] =
                between(a, gt_select(copy + below + 1, valued - below - 1, 0), place - (double)below);
    }
    gt_free(copy);
}

double gt_quantile(const double *values, size_t count, double q)
{
    double result;
    gt_quantiles(values, count, &q, 1, &result);
    return result;
}

/* ---- histogram ---- */

static size_t bin_of(double value, size_t bins, const double *edges, double bins_per_unit)
{
    double guess = (value - edges[0]) * bins_per_unit;
    size_t bin = guess >= (double)bins ? bins - 1 : guess >= 0.0 ? (size_t)guess : 0;
    if (value < edges[bin]) return bin - 1;
    return bin + 1 < bins && value >= edges[bin + 1] ? bin + 1 : bin;
}

bool gt_histogram(const double *values, size_t count, size_t bins, double *edges, int64_t *counts)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (values[i] < low) low = values[i];
        if (values[i] > high) high = values[i];
    }
    if (low > high) low = 0.0, high = 1.0;
    if (low == high) low -= 0.5, high += 0.5;
    if (!bins || !isfinite(high - low) || high == low) return false;
    double step = (high - low) / (double)bins;
    for (size_t i = 0; i < bins; i++) edges[i] = (double)i * step + low;
    edges[bins] = high;
    memset(counts, 0, bins * sizeof *counts);
    double bins_per_unit = (double)bins / (high - low);
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i])) counts[bin_of(values[i], bins, edges, bins_per_unit)]++;
    return true;
}

/* ---- distributions ---- */

static const double WHISKER_REACH = 1.5; /* times the interquartile range */

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

gt_box gt_box_of(const double *values, size_t count)
{
    double *sorted = gt_alloc(count * sizeof *sorted);
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    gt_box box = {
        .first_quartile = gt_quantile(values, count, 0.25),
        .median = gt_quantile(values, count, 0.5),
        .third_quartile = gt_quantile(values, count, 0.75),
        .mean = gt_mean(values, count),
    };
    double reach = WHISKER_REACH * (box.third_quartile - box.first_quartile);
    size_t first = 0, end = count;
    while (first < count && sorted[first] < box.first_quartile - reach) first++;
    while (end > first && sorted[end - 1] > box.third_quartile + reach) end--;
    bool any = first < end;
    box.whisker_low = any ? fmin(sorted[first], box.first_quartile) : box.first_quartile;
    box.whisker_high = any ? fmax(sorted[end - 1], box.third_quartile) : box.third_quartile;
    /* The outliers are the values before `first` and those from `end` on. */
    memmove(sorted + first, sorted + end, (count - end) * sizeof *sorted);
    box.outliers = sorted;
    box.outlier_count = first + (count - end);
    return box;
}

void gt_box_free(gt_box *box)
{
    gt_free(box->outliers);
    *box = (gt_box){0};
}

static double density_at(const double *values, size_t count, double at, double width)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double distance = (at - values[i]) / width;
        sum += exp(-distance * distance / 2);
    }
    return sum / (sqrt(2 * M_PI) * width * (double)count);
}

gt_density gt_density_of(const double *values, size_t count)
{
    gt_density d = {.min = INFINITY, .max = -INFINITY, .mean = gt_mean(values, count)};
    d.median = gt_median(values, count);
    d.factor = pow((double)count, -0.2);
    for (size_t i = 0; i < count; i++) {
        d.min = fmin(d.min, values[i]);
        d.max = fmax(d.max, values[i]);
    }
    double width = d.factor * gt_std_pairwise(values, count, 1);
    bool spread = d.min < d.max && width > 0;
    for (size_t i = 0; i < GT_DENSITY_POINTS; i++) {
        d.at[i] = d.min + (d.max - d.min) * (double)i / (GT_DENSITY_POINTS - 1);
        d.density[i] = spread ? density_at(values, count, d.at[i], width) : 0;
        d.highest = fmax(d.highest, d.density[i]);
    }
    return d;
}
