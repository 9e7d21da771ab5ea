/* Numbers as Python, numpy and pandas read and round them. How Python prints them is in base/number.h,
 * because all output uses it. */
#pragma once

#include "base/base.h"

typedef enum gt_python_parsed { GT_PYTHON_PARSED, GT_PYTHON_INVALID, GT_PYTHON_TOO_LARGE } gt_python_parsed;

/* As int(): white space around, a sign, digits with single '_' between them. TOO_LARGE beyond 128 bits. */
gt_python_parsed gt_python_parse_int(gt_str text, __int128 *value);
/* As float(), except for '_' between digits: decimal numbers, inf and nan, white space around. */
bool gt_python_parse_float(gt_str text, double *value);

/* round(value, 2): the decimal digits of the exact value decide. */
double gt_python_round2(double value);
/* numpy.round(value, 2): the product with 100 is rounded, ties to even. */
double gt_numpy_round2(double value);

/* How many of `count` rows head(n) or rows[:n] keeps: all but the last -n if n is negative. */
size_t gt_pandas_head(size_t count, int64_t n);

/* A real number as pandas.read_csv reads it: wrong in the last digits of some, always in the same way. Files
 * that went through pandas hold such numbers, so whoever passes a CSV file on as pandas would needs the same.
 * The text is digits with a sign, a point and an exponent; no spaces. Infinite if the exponent is too large.
 */
double gt_pandas_number(gt_str text);
