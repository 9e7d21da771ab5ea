/* What is measured of each group, over plain arrays: one pass for count, sum, least and greatest; one for the
 * standard deviation; medians by laying each group's values side by side and selecting. */
#include "table/group.h"
#include "table/stats.h"
#include "base/guard.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

bool gt_group_ints(const uint32_t *group_of_row, size_t row_count, const int64_t *values,
                   const uint8_t *nulls, gt_int_summary *summaries, size_t group_count)
{
    bool overflow = false;
    for (size_t g = 0; g < group_count; g++) summaries[g] = (gt_int_summary){0, 0, INT64_MAX, INT64_MIN};
    for (size_t row = 0; row < row_count; row++) {
        uint32_t group = group_of_row[row];
        if (group >= group_count || (nulls && nulls[row])) continue;
        gt_int_summary *s = &summaries[group];
        int64_t value = values[row];
        s->count++;
        overflow |= __builtin_add_overflow(s->sum, value, &s->sum);
        s->min = value < s->min ? value : s->min;
        s->max = value > s->max ? value : s->max;
    }
    return !overflow;
}

void gt_group_wide_sums(const uint32_t *group_of_row, size_t row_count, const int64_t *values,
                        const uint8_t *nulls, double *sums, size_t group_count)
{
    __int128 *wide = gt_alloc_zero(group_count, sizeof *wide);
    for (size_t row = 0; row < row_count; row++)
        if (group_of_row[row] < group_count && !(nulls && nulls[row])) wide[group_of_row[row]] += values[row];
    for (size_t g = 0; g < group_count; g++) sums[g] = (double)wide[g];
    gt_free(wide);
}

void gt_group_floats(const uint32_t *group_of_row, size_t row_count, const double *values,
                     gt_float_summary *summaries, size_t group_count)
{
    for (size_t g = 0; g < group_count; g++)
        summaries[g] = (gt_float_summary){.min = INFINITY, .max = -INFINITY};
    for (size_t row = 0; row < row_count; row++) {
        uint32_t group = group_of_row[row];
        double value = values[row];
        if (group >= group_count || isnan(value)) continue;
        gt_float_summary *s = &summaries[group];
        double added = value - s->carry, sum = s->sum + added, carry = (sum - s->sum) - added;
        s->count++;
        s->carry = isnan(carry) ? 0.0 : carry; /* infinity: nothing is lost, the sum stays infinite */
        s->sum = sum;
        s->min = value < s->min ? value : s->min;
        s->max = value > s->max ? value : s->max;
    }
}

/* The number in a row; NaN for null. */
static inline double number_at(gt_numbers values, size_t row)
{
    if (!values.ints) return values.floats[row];
    return values.nulls && values.nulls[row] ? NAN : (double)values.ints[row];
}

typedef struct running {
    double mean, squares, count;
} running;

void gt_group_stds(const uint32_t *group_of_row, size_t row_count, gt_numbers values, double *stds,
                   size_t group_count)
{
    running *state = gt_alloc_zero(group_count, sizeof *state);
    for (size_t row = 0; row < row_count; row++) {
        uint32_t group = group_of_row[row];
        double value = number_at(values, row);
        if (group >= group_count || isnan(value)) continue;
        running *s = &state[group];
        double before = s->mean;
        s->count += 1.0;
        s->mean += (value - before) / s->count;
        s->squares += (value - s->mean) * (value - before);
    }
    for (size_t g = 0; g < group_count; g++)
        stds[g] = state[g].count > 1.0 ? sqrt(state[g].squares / (state[g].count - 1.0)) : NAN;
    gt_free(state);
}

void gt_group_medians(const uint32_t *group_of_row, size_t row_count, gt_numbers values, double *medians,
                      size_t group_count)
{
    GT_CHECK(row_count < UINT32_MAX);
    uint32_t *ends = gt_alloc_zero(group_count, sizeof *ends), total = 0, begin = 0;
    for (size_t row = 0; row < row_count; row++)
        if (group_of_row[row] < group_count && !isnan(number_at(values, row))) ends[group_of_row[row]]++;
    for (size_t g = 0; g < group_count; g++) {
        uint32_t here = ends[g];
        ends[g] = total; /* where the group begins; filling it moves this to its end */
        total += here;
    }
    double *laid_out = gt_alloc(total * sizeof *laid_out);
    for (size_t row = 0; row < row_count; row++) {
        double value = number_at(values, row);
        if (group_of_row[row] < group_count && !isnan(value)) laid_out[ends[group_of_row[row]]++] = value;
    }
    for (size_t g = 0; g < group_count; g++) {
        medians[g] = gt_median_in_place(laid_out + begin, ends[g] - begin);
        begin = ends[g];
    }
    gt_free(laid_out);
    gt_free(ends);
}
