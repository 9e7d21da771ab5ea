/* How values are spread: the numbers behind box plots and violin plots.
 *
 * Values are finite; there is at least one. */
#ifndef GT_TABLE_DISTRIBUTION_H
#define GT_TABLE_DISTRIBUTION_H

#include <stddef.h>

/* A box plot: quartiles, whiskers at the outermost values within 1.5 times the box's height of it, and the
 * values beyond them, ascending. A whisker never ends inside the box. */
typedef struct gt_box {
    double first_quartile, median, third_quartile, mean;
    double whisker_low, whisker_high;
    double *outliers;
    size_t outlier_count;
} gt_box;

gt_box gt_box_of(const double *values, size_t count);
void gt_box_free(gt_box *box);

enum { GT_DENSITY_POINTS = 100 };

/* A violin: how dense values lie at points with equal steps from the least to the greatest, by a Gaussian
 * around each value (Scott's rule for its width). Values that are all the same have no density: a width of 0.
 */
typedef struct gt_density {
    double min, max, mean, median;
    double factor; /* the width of the Gaussians over the values' standard deviation */
    double at[GT_DENSITY_POINTS], density[GT_DENSITY_POINTS];
    double highest; /* of the density; 0 where all values are the same */
} gt_density;

gt_density gt_density_of(const double *values, size_t count);

#endif
