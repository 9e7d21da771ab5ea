/* Statistics of plain arrays, with the digits that numpy and pandas give: of a whole array, per group, and as
 * box and violin plots.
 *
 * NaN is a missing value and is skipped, as in pandas. Without values, sums are 0 and everything else is NaN.
 */
#pragma once

#include "table/operations.h"

/* ---- a whole array ---- */

double gt_sum_pairwise(const double *values, size_t count);          /* adds in numpy's order */
bool gt_sum_ints(const int64_t *values, size_t count, int64_t *sum); /* false: the sum does not fit */
double gt_mean(const double *values, size_t count);                  /* pairwise sum divided by the count */
double gt_median(const double *values, size_t count);                /* even counts: mean of the middle two */
double gt_quantile(const double *values, size_t count, double q); /* q in 0..1, linear between neighbours */
/* Several at once; ascending ones take little longer than one. */
void gt_quantiles(const double *values, size_t count, const double *qs, size_t q_count, double *results);

/* Sample standard deviation (n - 1; one value: NaN) by running mean in array order, as in group-by. */
double gt_std(const double *values, size_t count);
/* Standard deviation from the pairwise sum of squared deviations, divided by n - ddof: numpy's with ddof 0,
 * that of a pandas column with ddof 1. */
double gt_std_pairwise(const double *values, size_t count, size_t ddof);

/* out[i] = values[0] + ... + values[i], left to right; NaN where the value is NaN. out may be values. */
void gt_cumulative_sum(double *out, const double *values, size_t count);

/* Bins of equal width with numpy's edges. `edges` has room for bins + 1 numbers, `counts` for bins; bin i
 * holds edges[i] <= value < edges[i + 1], the last bin also its upper edge. Without values the edges are 0 to
 * 1. False if there are no bins or the range of the values is not finite. */
bool gt_histogram(const double *values, size_t count, size_t bins, double *edges, int64_t *counts);

/* The value at index `place` of the sorted array, without sorting it all: smaller values end up before it,
 * greater values after it. The values contain no NaN; place < count. */
double gt_select(double *values, size_t count, size_t place);
/* The median of values without NaN, which it reorders; NaN if there are none. */
double gt_median_in_place(double *values, size_t count);

/* ---- per group: values[row] belongs to groups->of_row[row] ----
 * Rows without a group are skipped. `nulls` may be NULL. Each group is computed in the order of its rows. */

typedef struct gt_int_summary {
    int64_t count, sum;
    int64_t min, max; /* without values: INT64_MAX and INT64_MIN */
} gt_int_summary;

typedef struct gt_float_summary {
    int64_t count;
    double sum, carry; /* carry: the rounding error of the additions so far */
    double min, max;   /* without values: infinity and -infinity */
} gt_float_summary;

/* False if a sum overflows: the sums are then invalid, and gt_group_wide_sums returns them as doubles. */
bool gt_group_ints(const gt_groups *groups, const int64_t *values, const uint8_t *nulls,
                   gt_int_summary *summaries);
void gt_group_wide_sums(const gt_groups *groups, const int64_t *values, const uint8_t *nulls, double *sums);
void gt_group_floats(const gt_groups *groups, const double *values, gt_float_summary *summaries);

/* Numbers of either type: `ints` with their null marks or NULL, or `floats`. */
typedef struct gt_numbers {
    const int64_t *ints;
    const uint8_t *nulls;
    const double *floats;
} gt_numbers;

void gt_group_stds(const gt_groups *groups, gt_numbers values, double *stds);
void gt_group_medians(const gt_groups *groups, gt_numbers values, double *medians);

/* The number of rows of each group, or only of those for which counts(context, row) is true. */
void gt_group_sizes(const gt_groups *groups, bool (*counts)(const void *context, size_t row),
                    const void *context, int64_t *sizes);
/* One row of each group: in row order, a row is picked instead of `before` (at first GT_NO_ROW: none) if
 * replaces(context, before, row). */
void gt_group_pick(const gt_groups *groups,
                   bool (*replaces)(const void *context, uint32_t before, uint32_t row), const void *context,
                   uint32_t *picked);

/* ---- distributions ----
 * Values are finite; there is at least one. */

/* A box plot: quartiles, whiskers at the outermost values within 1.5 box heights of the box, and the values
 * beyond them, ascending. A whisker never ends inside the box. */
typedef struct gt_box {
    double first_quartile, median, third_quartile, mean;
    double whisker_low, whisker_high;
    double *outliers;
    size_t outlier_count;
} gt_box;

gt_box gt_box_of(const double *values, size_t count);
void gt_box_free(gt_box *box);

enum { GT_DENSITY_POINTS = 100 };

/* A violin plot: the density of the values at equidistant points from the least to the greatest, estimated
 * with a Gaussian kernel (Scott's rule). Values that are all equal have no density: a width of 0. */
typedef struct gt_density {
    double min, max, mean, median;
    double factor; /* width of the Gaussians divided by the standard deviation of the values */
    double at[GT_DENSITY_POINTS], density[GT_DENSITY_POINTS];
    double highest; /* maximum of the density; 0 if all values are equal */
} gt_density;

gt_density gt_density_of(const double *values, size_t count);
