/* Box plots and violins as numbers; see distribution.h. Quartiles are numpy's (linear between neighbours),
 * the rest is what matplotlib draws of them. */
#include "table/distribution.h"
#include "base/memory.h"
#include "table/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const double WHISKER_REACH = 1.5; /* times the distance of the quartiles */

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
    /* What is left in `sorted` are the values outside: those before `first`, then those from `end` on. */
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
