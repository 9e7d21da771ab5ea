/* Statistics of one array of doubles, with the digits that numpy and pandas give.
 *
 * NaN is a missing value and is passed over, as pandas does. Of nothing, sums are 0 and the others NaN. */
#ifndef GT_TABLE_STATS_H
#define GT_TABLE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

double gt_sum_pairwise(const double *values,
                       size_t count); /* numpy's order of additions: whole-column sums */
bool gt_sum_ints(const int64_t *values, size_t count, int64_t *sum); /* false: the sum does not fit */
double gt_mean(const double *values, size_t count);                  /* the pairwise sum over the count */
double gt_median(const double *values, size_t count); /* even counts: mean of the two middle ones */
double gt_quantile(const double *values, size_t count, double q); /* q in 0..1, linear between neighbours */

/* Sample standard deviation (n - 1; one value: NaN) by running mean in the order given, as in group-by. */
double gt_std(const double *values, size_t count);
/* Standard deviation from the pairwise sum of squared distances from the mean over n - ddof: numpy's with
 * ddof 0, that of a pandas column with ddof 1. */
double gt_std_pairwise(const double *values, size_t count, size_t ddof);

/* out[i] = values[0] + ... + values[i], left to right; NaN where the value is NaN. out may be values. */
void gt_cumulative_sum(double *out, const double *values, size_t count);

/* Equal-width bins with numpy's edges. edges has room for bins + 1, counts for bins; bin i holds edges[i] <=
 * value < edges[i + 1], the last one its upper edge too. No values: 0 to 1. False where there are no bins or
 * the values have no finite width. */
bool gt_histogram(const double *values, size_t count, size_t bins, double *edges, int64_t *counts);

/* The value that would stand at `place` were the values sorted; it then does, smaller ones before it, greater
 * ones behind. No NaN among them; place < count. */
double gt_select(double *values, size_t count, size_t place);
/* The median of values without NaN, which it reorders; NaN if there are none. */
double gt_median_in_place(double *values, size_t count);

#endif
