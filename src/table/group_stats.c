/* Statistics per group, in the order of the rows. Compiled without fused multiply-add, like stats.c. */
#include "table/stats.h"

/* ---- count, sum, least and greatest ---- */

bool gt_group_ints(const gt_groups *groups, const int64_t *values, const uint8_t *nulls,
                   gt_int_summary *summaries)
{
    bool overflow = false;
    for (size_t g = 0; g < groups->count; g++) summaries[g] = (gt_int_summary){0, 0, INT64_MAX, INT64_MIN};
    for (size_t row = 0; row < groups->row_count; row++) {
        uint32_t group = groups->of_row[row];
        if (group == GT_NO_GROUP || (nulls && nulls[row])) continue;
        gt_int_summary *s = &summaries[group];
        int64_t value = values[row];
        s->count++;
        overflow |= __builtin_add_overflow(s->sum, value, &s->sum);
        s->min = value < s->min ? value : s->min;
        s->max = value > s->max ? value : s->max;
    }
    return !overflow;
}

void gt_group_wide_sums(const gt_groups *groups, const int64_t *values, const uint8_t *nulls, double *sums)
{
    __int128 *wide = gt_alloc_zero(groups->count, sizeof *wide);
    for (size_t row = 0; row < groups->row_count; row++) {
        uint32_t group = groups->of_row[row];
        if (group != GT_NO_GROUP && !(nulls && nulls[row])) wide[group] += values[row];
    }
    for (size_t g = 0; g < groups->count; g++) sums[g] = (double)wide[g];
    gt_free(wide);
}

void gt_group_floats(const gt_groups *groups, const double *values, gt_float_summary *summaries)
{
    for (size_t g = 0; g < groups->count; g++)
        summaries[g] = (gt_float_summary){.min = INFINITY, .max = -INFINITY};
    for (size_t row = 0; row < groups->row_count; row++) {
        uint32_t group = groups->of_row[row];
        double value = values[row];
        if (group == GT_NO_GROUP || isnan(value)) continue;
        gt_float_summary *s = &summaries[group];
        double added = value - s->carry, sum = s->sum + added, carry = (sum - s->sum) - added;
        s->count++;
        s->carry = isnan(carry) ? 0.0 : carry; /* NaN after infinity: the sum stays infinite */
        s->sum = sum;
        s->min = value < s->min ? value : s->min;
        s->max = value > s->max ? value : s->max;
    }
}

/* ---- spread and middle ---- */

/* The number in a row; NaN if null. */
static inline double number_at(gt_numbers values, size_t row)
{
    if (!values.ints) return values.floats[row];
    return values.nulls && values.nulls[row] ? NAN : (double)values.ints[row];
}

typedef struct running {
    double mean, squares, count;
} running;

void gt_group_stds(const gt_groups *groups, gt_numbers values, double *stds)
{
    running *state = gt_alloc_zero(groups->count, sizeof *state);
    for (size_t row = 0; row < groups->row_count; row++) {
        uint32_t group = groups->of_row[row];
        double value = number_at(values, row);
        if (group == GT_NO_GROUP || isnan(value)) continue;
        running *s = &state[group];
        double before = s->mean;
        s->count += 1.0;
        s->mean += (value - before) / s->count;
        s->squares += (value - s->mean) * (value - before);
    }
    for (size_t g = 0; g < groups->count; g++)
        stds[g] = state[g].count > 1.0 ? sqrt(state[g].squares / (state[g].count - 1.0)) : NAN;
    gt_free(state);
}

/* A counting sort by group, then selection in each. */
void gt_group_medians(const gt_groups *groups, gt_numbers values, double *medians)
{
    size_t count = groups->count, *ends = gt_alloc_zero(count, sizeof *ends), total = 0, begin = 0;
    for (size_t row = 0; row < groups->row_count; row++) {
        uint32_t group = groups->of_row[row];
        if (group != GT_NO_GROUP && !isnan(number_at(values, row))) ends[group]++;
    }
    for (size_t g = 0; g < count; g++) {
        size_t here = ends[g];
        ends[g] = total; /* start of the group; filling it moves this to its end */
        total += here;
    }
    double *by_group = gt_alloc(total * sizeof *by_group);
    for (size_t row = 0; row < groups->row_count; row++) {
        uint32_t group = groups->of_row[row];
        double value = number_at(values, row);
        if (group != GT_NO_GROUP && !isnan(value)) by_group[ends[group]++] = value;
    }
    for (size_t g = 0; g < count; g++) {
        medians[g] = gt_median_in_place(by_group + begin, ends[g] - begin);
        begin = ends[g];
    }
    gt_free_all(by_group, ends);
}

/* ---- rows ---- */

void gt_group_sizes(const gt_groups *groups, bool (*counts)(const void *context, size_t row),
                    const void *context, int64_t *sizes)
{
    if (groups->count) memset(sizes, 0, groups->count * sizeof *sizes);
    for (size_t row = 0; row < groups->row_count; row++) {
        uint32_t group = groups->of_row[row];
        if (group != GT_NO_GROUP && (!counts || counts(context, row))) sizes[group]++;
    }
}

void gt_group_pick(const gt_groups *groups,
                   bool (*replaces)(const void *context, uint32_t before, uint32_t row), const void *context,
                   uint32_t *picked)
{
    for (size_t g = 0; g < groups->count; g++) picked[g] = GT_NO_ROW;
    for (size_t row = 0; row < groups->row_count; row++) {
        uint32_t group = groups->of_row[row];
        if (group == GT_NO_GROUP) continue;
        if (replaces(context, picked[group], (uint32_t)row)) picked[group] = (uint32_t)row;
    }
}
