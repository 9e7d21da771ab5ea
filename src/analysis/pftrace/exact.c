/* Sums in 128 bits. The variance is (n * sum of squares - square of the sum) / n^2 over distances from the
 * least value, so that it fits; its root is taken of integers too, to 64 bits, and rounded to a double last.
 */
#include "analysis/pftrace/exact.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 wide;
__extension__ typedef __int128 signed_wide;

static int ascending(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

/* The nearest double to a / b, b > 0. */
static double divide(signed_wide a, uint64_t b)
{
    wide size = a < 0 ? -(wide)a : (wide)a;
    int shift = 0; /* room for 64 bits and more of the quotient */
    while (size && size < (wide)1 << 120) {
        size <<= 1;
        shift++;
    }
    wide quotient = size / b;
    if (size % b) quotient |= 1; /* what is cut off counts in rounding */
    double value = ldexp((double)quotient, -shift);
    return a < 0 ? -value : value;
}

/* The greatest integer whose square is not greater. */
static uint64_t root(wide value)
{
    uint64_t low = 0, high = UINT64_MAX;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2 + 1;
        if ((wide)middle * middle <= value)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The square root of `value`, over n. */
static double root_over(wide value, size_t n)
{
    int shift = 0;
    if (!value) return 0.0;
    while (value < (wide)1 << 125) {
        value <<= 2;
        shift++;
    }
    return ldexp(divide((signed_wide)root(value), n), -shift);
}

static double deviation(const int64_t *sorted, size_t count)
{
    uint64_t spread = (uint64_t)sorted[count - 1] - (uint64_t)sorted[0];
    wide sum = 0, squares = 0;
    if ((double)spread * (double)count >
        0x1p63) { /* beyond what is exact: thousands of years of nanoseconds */
        double mean = 0, m2 = 0;
        for (size_t i = 0; i < count; i++) mean += (double)sorted[i] / (double)count;
        for (size_t i = 0; i < count; i++) m2 += ((double)sorted[i] - mean) * ((double)sorted[i] - mean);
        return sqrt(m2 / (double)count);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t distance = (uint64_t)sorted[i] - (uint64_t)sorted[0];
        sum += distance;
        squares += (wide)distance * distance;
    }
    return root_over(squares * count - sum * sum, count);
}

gt_exact_statistics gt_exact_measure(int64_t *values, size_t count)
{
    gt_exact_statistics s = {0};
    if (!count) return s;
    qsort(values, count, sizeof *values, ascending);
    signed_wide sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i];
    s.mean = divide(sum, count);
    bool odd = count % 2;
    s.median =
        odd ? (double)values[count / 2] : divide((signed_wide)values[count / 2 - 1] + values[count / 2], 2);
    s.min = values[0];
    s.max = values[count - 1];
    if (count > 1) s.std = deviation(values, count);
    return s;
}
