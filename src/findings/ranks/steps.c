/* rank_steps, rank_step_times: how long were the steps, and how do ranks differ in that?
 *
 * A step of a rank lasts from its first op until the first op of the next step, as in the window of findings.
 * Steps of different ranks are the same step if the profiler gave them the same number (ProfilerStep#5).
 *
 *     rank_steps        one row per step: over its ranks min, median, p95 and max, and which rank took
 * longest rank_step_times   one row per rank: over its steps mean, sample standard deviation, min, median and
 * max, and in how many steps it took longest
 *
 * Ranks leave the collectives of a step together, so that in most runs their steps are equally long, also if
 * one of them makes the others wait; who does is said in rank_causes and critical_path. */
#include "findings/ranks/across.h"

#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/stats.h"

#include <math.h>
#include <stdlib.h>

typedef struct step_time {
    int64_t number;
    uint32_t rank;
    double ms;
} step_time;

static int by_number(const void *a, const void *b)
{
    const step_time *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return (x->ms > y->ms) - (x->ms < y->ms);
}

static step_time *collect(const gt_rank_findings *found, size_t *count)
{
    step_time *times = NULL;
    size_t capacity = 0;
    *count = 0;
    for (size_t r = 0; r < found->rank_count; r++) {
        const gt_rank_facts *facts = found->ranks[r].facts;
        gt_memory_poll_at(r);
        bool has_steps = facts && facts->has_steps && !found->ranks[r].left_out;
        for (size_t i = 0; has_steps && i < facts->step_count; i++) {
            const gt_rank_step *step = &facts->step_times[i];
            step_time new = {step->number, (uint32_t)r, (double)(step->end_ns - step->start_ns) / 1e6};
            GT_PUSH(times, *count, capacity, new);
        }
    }
    if (*count) qsort(times, *count, sizeof *times, by_number);
    return times;
}

/* ---- rank_steps ---- */

enum { STEP, RANKS, MIN, MEDIAN, P95, MAX, SPREAD, SLOWEST, SLOWEST_NODE };

static const gt_column_head step_columns[] = {
    [STEP] = {GT_COL_STEP, GT_TYPE_INT},
    [RANKS] = {GT_COL_RANKS, GT_TYPE_INT},
    [MIN] = {GT_COL_MIN_MS, GT_TYPE_FLOAT},
    [MEDIAN] = {GT_COL_MEDIAN_MS, GT_TYPE_FLOAT},
    [P95] = {GT_COL_P95_MS, GT_TYPE_FLOAT},
    [MAX] = {GT_COL_MAX_MS, GT_TYPE_FLOAT},
    [SPREAD] = {GT_COL_SPREAD_MS, GT_TYPE_FLOAT},
    [SLOWEST] = {GT_COL_SLOWEST_RANK, GT_TYPE_INT},
    [SLOWEST_NODE] = {GT_COL_NODE, GT_TYPE_STRING},
};

/* Of several that took longest, the lowest rank. */
static const step_time *slowest_of(const step_time *times, size_t count)
{
    const step_time *slowest = times;
    for (size_t i = 1; i < count; i++)
        if (times[i].ms > slowest->ms) slowest = &times[i];
    return slowest;
}

static void add_step(gt_table *sheet, const gt_rank_findings *found, const step_time *times, size_t count,
                     double *values)
{
    static const double qs[] = {0, 0.5, 0.95, 1};
    double results[GT_LENGTH(qs)];
    const step_time *slowest = slowest_of(times, count);
    size_t row = gt_table_add_row(sheet), ranks = 0;
    for (size_t i = 0; i < count; i++) {
        values[i] = times[i].ms;
        ranks += !i || times[i].rank != times[i - 1].rank;
    }
    gt_quantiles(values, count, qs, GT_LENGTH(qs), results);
    gt_table_set_int(sheet, STEP, row, times->number);
    gt_table_set_int(sheet, RANKS, row, (int64_t)ranks);
    gt_table_set_float(sheet, MIN, row, results[0]);
    gt_table_set_float(sheet, MEDIAN, row, results[1]);
    gt_table_set_float(sheet, P95, row, results[2]);
    gt_table_set_float(sheet, MAX, row, results[3]);
    gt_table_set_float(sheet, SPREAD, row, results[3] - results[0]);
    gt_table_set_int(sheet, SLOWEST, row, slowest->rank);
    gt_rank_set_node(found, slowest->rank, sheet, SLOWEST_NODE, row);
}

/* ---- rank_step_times ---- */

enum { RANK, NODE, STEPS, MEAN, SD, RANK_MIN, RANK_MEDIAN, RANK_MAX, TIMES_SLOWEST };

static const gt_column_head rank_columns[] = {
    [RANK] = {GT_COL_RANK, GT_TYPE_INT},
    [NODE] = {GT_COL_NODE, GT_TYPE_STRING},
    [STEPS] = {GT_COL_STEPS, GT_TYPE_INT},
    [MEAN] = {GT_COL_MEAN_MS, GT_TYPE_FLOAT},
    [SD] = {GT_COL_SD_MS, GT_TYPE_FLOAT},
    [RANK_MIN] = {GT_COL_MIN_MS, GT_TYPE_FLOAT},
    [RANK_MEDIAN] = {GT_COL_MEDIAN_MS, GT_TYPE_FLOAT},
    [RANK_MAX] = {GT_COL_MAX_MS, GT_TYPE_FLOAT},
    [TIMES_SLOWEST] = {GT_COL_TIMES_SLOWEST, GT_TYPE_INT},
};

static void add_rank(gt_table *sheet, const gt_rank_findings *found, size_t rank, int64_t times_slowest)
{
    const gt_rank_facts *facts = found->ranks[rank].facts;
    static const double qs[] = {0, 0.5, 1};
    double results[GT_LENGTH(qs)], *values = gt_alloc(facts->step_count * sizeof *values);
    size_t count = facts->step_count, row = gt_table_add_row(sheet);
    for (size_t i = 0; i < count; i++)
        values[i] = (double)(facts->step_times[i].end_ns - facts->step_times[i].start_ns) / 1e6;
    gt_quantiles(values, count, qs, GT_LENGTH(qs), results);
    gt_table_set_int(sheet, RANK, row, (int64_t)rank);
    gt_rank_set_node(found, rank, sheet, NODE, row);
    gt_table_set_int(sheet, STEPS, row, (int64_t)count);
    gt_table_set_float(sheet, MEAN, row, gt_mean(values, count));
    gt_table_set_float(sheet, SD, row, gt_std_pairwise(values, count, 1));
    gt_table_set_float(sheet, RANK_MIN, row, results[0]);
    gt_table_set_float(sheet, RANK_MEDIAN, row, results[1]);
    gt_table_set_float(sheet, RANK_MAX, row, results[2]);
    gt_table_set_int(sheet, TIMES_SLOWEST, row, times_slowest);
    gt_free(values);
}

void gt_rank_steps_add_sheets(const gt_rank_findings *found, gt_interner *strings, gt_table_list *tables)
{
    size_t count;
    step_time *times = collect(found, &count);
    double *values = gt_alloc(count * sizeof *values);
    int64_t *slowest = gt_alloc_zero(found->rank_count, sizeof *slowest);
    gt_table *steps = gt_table_new(GT_SHEET_RANK_STEPS, strings);
    gt_table *ranks = gt_table_new(GT_SHEET_RANK_STEP_TIMES, strings);
    gt_table_add_columns(steps, step_columns, GT_LENGTH(step_columns));
    gt_table_add_columns(ranks, rank_columns, GT_LENGTH(rank_columns));
    gt_table_reserve_together(ranks, found->rank_count);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && times[end].number == times[begin].number;) end++;
        add_step(steps, found, times + begin, end - begin, values);
        slowest[slowest_of(times + begin, end - begin)->rank]++;
    }
    for (size_t r = 0; r < found->rank_count; r++) {
        const gt_rank_facts *facts = found->ranks[r].facts;
        if (facts && facts->has_steps && facts->step_count) add_rank(ranks, found, r, slowest[r]);
    }
    gt_table_list_add(tables, steps);
    gt_table_list_add(tables, ranks);
    gt_free(times);
    gt_free(values);
    gt_free(slowest);
}
