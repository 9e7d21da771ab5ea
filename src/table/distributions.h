/* Probabilities of the distributions that tests compare with: Student's t and Fisher's F. Degrees of freedom
 * may be fractions, as those of Welch's test are.
 *
 * Each function returns NaN if an argument is NaN or outside of its range. */
#pragma once

#include "base/base.h"

/* The regularized incomplete beta function I_x(a, b), from which the others follow. a, b > 0. */
double gt_beta_share(double a, double b, double x);

/* The probability that |T| >= |t|. freedom > 0; t may be infinite. */
double gt_student_p(double t, double freedom);
/* The value below which the share q of the distribution is: gt_student_quantile(0.975, 4) is 2.776. */
double gt_student_quantile(double q, double freedom);
/* The probability that F >= f. Both degrees of freedom > 0; f >= 0 may be infinite. */
double gt_fisher_p(double f, double freedom, double error_freedom);
