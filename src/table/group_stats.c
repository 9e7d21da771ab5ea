/* Statistics per group. Threads share the work by groups (divided_rows.h): each group is computed by one
 * thread, in the order of its rows, so the digits do not depend on the number of threads. A thread collects
 * the results of its part on its own and copies them in the end, because neighbouring results of different
 * threads would share cache lines. Compiled without fused multiply-add, like stats.c. */
#include "table/divided_rows.h"
#include "table/ranges.h"
#include "base/guard.h"
#include "base/memory.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* ---- dividing the rows ---- */

typedef struct division {
    gt_divided_rows *rows;
    size_t (*places)[GT_PARTS]; /* by range: first the number of rows of each part, then where they go */
} division;

static void count_parts(void *context, size_t range)
{
    const division *d = context;
    const gt_divided_rows *rows = d->rows;
    size_t row, end, counts[GT_PARTS] = {0};
    for (gt_table_range(rows->row_count, range, &row, &end); row < end; row++)
        if (rows->group_of_row[row] < rows->group_count) counts[rows->group_of_row[row] % GT_PARTS]++;
    memcpy(d->places[range], counts, sizeof counts);
}

static void list_parts(void *context, size_t range)
{
    const division *d = context;
    const gt_divided_rows *rows = d->rows;
    size_t row, end, places[GT_PARTS];
    memcpy(places, d->places[range], sizeof places);
    for (gt_table_range(rows->row_count, range, &row, &end); row < end; row++)
        if (rows->group_of_row[row] < rows->group_count)
            rows->rows[places[rows->group_of_row[row] % GT_PARTS]++] = (uint32_t)row;
}

gt_divided_rows *gt_divided_rows_new(const uint32_t *group_of_row, size_t row_count, size_t group_count)
{
    if (row_count >= UINT32_MAX) gt_raise_internal("too many rows to group");
    gt_divided_rows *rows = gt_alloc_zero(1, sizeof *rows);
    rows->group_of_row = group_of_row;
    rows->row_count = row_count;
    rows->group_count = group_count;
    rows->begins[1] = row_count;
    if (group_count < 2 || !gt_table_shares(row_count)) return rows;
    size_t ranges = gt_table_range_count(row_count), total = 0;
    division d = {rows, gt_alloc(ranges * sizeof *d.places)};
    gt_parallel_each(ranges, count_parts, &d);
    for (size_t part = 0; part < GT_PARTS; part++) {
        rows->begins[part] = total;
        for (size_t range = 0; range < ranges; range++) {
            size_t here = d.places[range][part];
            d.places[range][part] = total;
            total += here;
        }
    }
    rows->begins[GT_PARTS] = total;
    rows->bits = GT_PART_BITS;
    rows->rows = gt_alloc(total * sizeof *rows->rows);
    gt_parallel_each(ranges, list_parts, &d);
    gt_free(d.places);
    return rows;
}

void gt_divided_rows_free(gt_divided_rows *rows)
{
    if (!rows) return;
    gt_free(rows->rows);
    gt_free(rows);
}

/* Room for the results of a part: the array itself if there is one part. */
static void *part_room(const gt_divided_rows *rows, size_t part, void *results, size_t item_size)
{
    return rows->bits ? gt_alloc(gt_part_groups(rows, part) * item_size) : results;
}

static void part_done(const gt_divided_rows *rows, size_t part, void *results, void *room, size_t item_size)
{
    if (room == results) return;
    size_t count = gt_part_groups(rows, part);
    for (size_t i = 0; i < count; i++)
        memcpy((char *)results + gt_part_group(rows, part, i) * item_size, (char *)room + i * item_size,
               item_size);
    gt_free(room);
}

/* ---- count, sum, least and greatest ---- */

typedef struct int_job {
    const gt_divided_rows *rows;
    const int64_t *values;
    const uint8_t *nulls;
    gt_int_summary *summaries;
    double *wide_sums;
    atomic_bool overflow;
} int_job;

static void sum_ints(void *context, size_t part)
{
    int_job *j = context;
    gt_int_summary *sums = part_room(j->rows, part, j->summaries, sizeof *sums);
    size_t count = gt_part_groups(j->rows, part), row;
    bool overflow = false;
    for (size_t g = 0; g < count; g++) sums[g] = (gt_int_summary){0, 0, INT64_MAX, INT64_MIN};
    for (size_t i = j->rows->begins[part]; i < j->rows->begins[part + 1]; i++) {
        uint32_t group = gt_part_row(j->rows, i, &row);
        if (group >= j->rows->group_count || (j->nulls && j->nulls[row])) continue;
        gt_int_summary *s = &sums[group >> j->rows->bits];
        int64_t value = j->values[row];
        s->count++;
        overflow |= __builtin_add_overflow(s->sum, value, &s->sum);
        s->min = value < s->min ? value : s->min;
        s->max = value > s->max ? value : s->max;
    }
    if (overflow) atomic_store(&j->overflow, true);
    part_done(j->rows, part, j->summaries, sums, sizeof *sums);
}

bool gt_group_ints(const gt_divided_rows *rows, const int64_t *values, const uint8_t *nulls,
                   gt_int_summary *summaries)
{
    int_job j = {.rows = rows, .values = values, .nulls = nulls, .summaries = summaries};
    atomic_init(&j.overflow, false);
    gt_parallel_each(gt_part_count(rows), sum_ints, &j);
    return !atomic_load(&j.overflow);
}

static void sum_wide(void *context, size_t part)
{
    const int_job *j = context;
    size_t count = gt_part_groups(j->rows, part), row;
    __int128 *wide = gt_alloc_zero(count, sizeof *wide);
    for (size_t i = j->rows->begins[part]; i < j->rows->begins[part + 1]; i++) {
        uint32_t group = gt_part_row(j->rows, i, &row);
        if (group < j->rows->group_count && !(j->nulls && j->nulls[row]))
            wide[group >> j->rows->bits] += j->values[row];
    }
    for (size_t g = 0; g < count; g++) j->wide_sums[gt_part_group(j->rows, part, g)] = (double)wide[g];
    gt_free(wide);
}

void gt_group_wide_sums(const gt_divided_rows *rows, const int64_t *values, const uint8_t *nulls,
                        double *sums)
{
    int_job j = {.rows = rows, .values = values, .nulls = nulls, .wide_sums = sums};
    gt_parallel_each(gt_part_count(rows), sum_wide, &j);
}

typedef struct float_job {
    const gt_divided_rows *rows;
    const double *values;
    gt_float_summary *summaries;
} float_job;

static void sum_floats(void *context, size_t part)
{
    const float_job *j = context;
    gt_float_summary *sums = part_room(j->rows, part, j->summaries, sizeof *sums);
    size_t count = gt_part_groups(j->rows, part), row;
    for (size_t g = 0; g < count; g++) sums[g] = (gt_float_summary){.min = INFINITY, .max = -INFINITY};
    for (size_t i = j->rows->begins[part]; i < j->rows->begins[part + 1]; i++) {
        uint32_t group = gt_part_row(j->rows, i, &row);
        double value = j->values[row];
        if (group >= j->rows->group_count || isnan(value)) continue;
        gt_float_summary *s = &sums[group >> j->rows->bits];
        double added = value - s->carry, sum = s->sum + added, carry = (sum - s->sum) - added;
        s->count++;
        s->carry = isnan(carry) ? 0.0 : carry; /* NaN after infinity: the sum stays infinite */
        s->sum = sum;
        s->min = value < s->min ? value : s->min;
        s->max = value > s->max ? value : s->max;
    }
    part_done(j->rows, part, j->summaries, sums, sizeof *sums);
}

void gt_group_floats(const gt_divided_rows *rows, const double *values, gt_float_summary *summaries)
{
    float_job j = {rows, values, summaries};
    gt_parallel_each(gt_part_count(rows), sum_floats, &j);
}

/* ---- spread and middle ---- */

typedef struct number_job {
    const gt_divided_rows *rows;
    gt_numbers values;
    double *results;
} number_job;

/* The number in a row; NaN if null. */
static inline double number_at(gt_numbers values, size_t row)
{
    if (!values.ints) return values.floats[row];
    return values.nulls && values.nulls[row] ? NAN : (double)values.ints[row];
}

typedef struct running {
    double mean, squares, count;
} running;

static void find_stds(void *context, size_t part)
{
    const number_job *j = context;
    size_t count = gt_part_groups(j->rows, part), row;
    running *state = gt_alloc_zero(count, sizeof *state);
    for (size_t i = j->rows->begins[part]; i < j->rows->begins[part + 1]; i++) {
        uint32_t group = gt_part_row(j->rows, i, &row);
        double value = number_at(j->values, row);
        if (group >= j->rows->group_count || isnan(value)) continue;
        running *s = &state[group >> j->rows->bits];
        double before = s->mean;
        s->count += 1.0;
        s->mean += (value - before) / s->count;
        s->squares += (value - s->mean) * (value - before);
    }
    for (size_t g = 0; g < count; g++)
        j->results[gt_part_group(j->rows, part, g)] =
            state[g].count > 1.0 ? sqrt(state[g].squares / (state[g].count - 1.0)) : NAN;
    gt_free(state);
}

void gt_group_stds(const gt_divided_rows *rows, gt_numbers values, double *stds)
{
    number_job j = {rows, values, stds};
    gt_parallel_each(gt_part_count(rows), find_stds, &j);
}

/* A counting sort by group, then selection in each. */
static void find_medians(void *context, size_t part)
{
    const number_job *j = context;
    size_t count = gt_part_groups(j->rows, part), row;
    uint32_t *ends = gt_alloc_zero(count, sizeof *ends), total = 0, begin = 0;
    for (size_t i = j->rows->begins[part]; i < j->rows->begins[part + 1]; i++) {
        uint32_t group = gt_part_row(j->rows, i, &row);
        if (group < j->rows->group_count && !isnan(number_at(j->values, row))) ends[group >> j->rows->bits]++;
    }
    for (size_t g = 0; g < count; g++) {
        uint32_t here = ends[g];
        ends[g] = total; /* start of the group; filling it moves this to its end */
        total += here;
    }
    double *by_group = gt_alloc(total * sizeof *by_group);
    for (size_t i = j->rows->begins[part]; i < j->rows->begins[part + 1]; i++) {
        uint32_t group = gt_part_row(j->rows, i, &row);
        double value = number_at(j->values, row);
        if (group < j->rows->group_count && !isnan(value)) by_group[ends[group >> j->rows->bits]++] = value;
    }
    for (size_t g = 0; g < count; g++) {
        j->results[gt_part_group(j->rows, part, g)] = gt_median_in_place(by_group + begin, ends[g] - begin);
        begin = ends[g];
    }
    gt_free(by_group);
    gt_free(ends);
}

void gt_group_medians(const gt_divided_rows *rows, gt_numbers values, double *medians)
{
    number_job j = {rows, values, medians};
    gt_parallel_each(gt_part_count(rows), find_medians, &j);
}

/* ---- rows ---- */

typedef struct row_job {
    const gt_divided_rows *rows;
    bool (*counts)(const void *context, size_t row);
    const void *context;
    int64_t *sizes;
} row_job;

static void count_rows(void *context, size_t part)
{
    const row_job *j = context;
    int64_t *sizes = part_room(j->rows, part, j->sizes, sizeof *sizes);
    size_t row, groups = gt_part_groups(j->rows, part);
    if (groups) memset(sizes, 0, groups * sizeof *sizes);
    for (size_t i = j->rows->begins[part]; i < j->rows->begins[part + 1]; i++) {
        uint32_t group = gt_part_row(j->rows, i, &row);
        if (group < j->rows->group_count && (!j->counts || j->counts(j->context, row)))
            sizes[group >> j->rows->bits]++;
    }
    part_done(j->rows, part, j->sizes, sizes, sizeof *sizes);
}

void gt_group_sizes(const gt_divided_rows *rows, bool (*counts)(const void *context, size_t row),
                    const void *context, int64_t *sizes)
{
    row_job j = {rows, counts, context, sizes};
    gt_parallel_each(gt_part_count(rows), count_rows, &j);
}

typedef struct pick_job {
    const gt_divided_rows *rows;
    bool (*replaces)(const void *context, uint32_t before, uint32_t row);
    const void *context;
    uint32_t *picked;
} pick_job;

static void pick_rows(void *context, size_t part)
{
    const pick_job *j = context;
    uint32_t *picked = part_room(j->rows, part, j->picked, sizeof *picked);
    size_t row;
    memset(picked, 0xFF, gt_part_groups(j->rows, part) * sizeof *picked);
    for (size_t i = j->rows->begins[part]; i < j->rows->begins[part + 1]; i++) {
        uint32_t group = gt_part_row(j->rows, i, &row);
        if (group >= j->rows->group_count) continue;
        uint32_t *pick = &picked[group >> j->rows->bits];
        if (j->replaces(j->context, *pick, (uint32_t)row)) *pick = (uint32_t)row;
    }
    part_done(j->rows, part, j->picked, picked, sizeof *picked);
}

void gt_group_pick(const gt_divided_rows *rows,
                   bool (*replaces)(const void *context, uint32_t before, uint32_t row), const void *context,
                   uint32_t *picked)
{
    pick_job j = {rows, replaces, context, picked};
    gt_parallel_each(gt_part_count(rows), pick_rows, &j);
}
