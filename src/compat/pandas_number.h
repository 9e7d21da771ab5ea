/* A real number as pandas.read_csv reads it: off in the last digits of some, always in the same way.
 *
 * Files that went through pandas hold such numbers; who passes a CSV file on as pandas would needs the same.
 */
#ifndef GT_COMPAT_PANDAS_NUMBER_H
#define GT_COMPAT_PANDAS_NUMBER_H

#include "base/interner.h"

/* Of digits with a sign, a point and an exponent; no spaces. Infinite where the exponent is too large. */
double gt_pandas_number(gt_str text);

#endif
