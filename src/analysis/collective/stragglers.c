/* straggler_summary: for which rank do the others wait?
 *
 * The straggler hardly waits itself, because it arrives last at most collectives:
 *
 *     wait in collective       1    2    3    total_wait_time
 *     rank 0                  40   35   50    125
 *     rank 1                   0    0    0      0      times_arrived_last 3: the straggler
 *     rank 2                  38   36    2     76
 *
 * So rows are in order of the total wait, the least first. A wait is max s - s over the starts s of a
 * collective's ranks (sync.c); total_nccl_dur_us is the time of all communication kernels of the rank.
 * Figures are rounded to tenths of a microsecond. */
#include "analysis/collective/internal.h"

#include "schema/columns.h"
#include "table/stats.h"

typedef struct arrivals {
    bool seen;
    size_t place;        /* in order of first appearance among the ranks that were seen */
    int64_t last, first; /* how often it arrived last and first */
    double *waits;
    size_t wait_count;
    double *durations; /* of all its kernels */
    size_t duration_count;
} arrivals;

/* What the ranks have is in two blocks, one rank after the other: small blocks for each would be a large part
 * of all memory. */
typedef struct blocks {
    double *waits, *durations;
} blocks;

static double round_to_tenths(double value)
{
    return rint(value * 10) / 10;
}

/* When do ranks arrive, on one clock? */
typedef struct clocks {
    const int64_t *ranks;
    const gt_column *starts;
    const double *offsets_us; /* by rank; NULL: all 0 */
} clocks;

static double start_of(const clocks *c, uint32_t event)
{
    double start = gt_column_number(c->starts, event);
    return c->offsets_us ? start - c->offsets_us[c->ranks[event]] : start;
}

/* Adds one collective: the waits of the ranks, and which rank arrived last and first. Of several ranks that
 * arrive last together, the one seen first counts; of several that arrive first, the one with the highest
 * rank. */
static void add_collective(arrivals *by_rank, size_t *places, const clocks *c, const uint32_t *events,
                           size_t count)
{
    double latest = -INFINITY, longest = -INFINITY;
    for (size_t i = 0; i < count; i++) latest = fmax(latest, start_of(c, events[i]));
    arrivals *last = NULL, *first = NULL;
    for (size_t i = 0; i < count; i++) {
        arrivals *s = &by_rank[c->ranks[events[i]]];
        double wait = latest - start_of(c, events[i]);
        if (!s->seen) s->place = (*places)++;
        s->seen = true;
        s->waits[s->wait_count++] = wait;
        if (wait == 0 && (!last || s->place < last->place)) last = s;
        if (wait >= longest) first = s;
        longest = fmax(longest, wait);
    }
    last->last++;
    first->first++;
}

/* Each rank gets the part of the blocks that it needs. */
static blocks share_blocks(arrivals *by_rank, const gt_collective_sync *sync)
{
    const gt_collective_matches *matches = sync->matches;
    const int64_t *ranks = gt_table_column(matches->events, GT_COL_RANK)->ints;
    size_t wait_count = 0, duration_count = matches->events->row_count;
    for (size_t i = 0; i < sync->count; i++) {
        size_t begin = matches->begins[sync->collectives[i]], end = matches->begins[sync->collectives[i] + 1];
        for (size_t k = begin; k < end; k++) by_rank[ranks[matches->rows[k]]].wait_count++;
        wait_count += end - begin;
    }
    for (size_t row = 0; row < duration_count; row++) by_rank[ranks[row]].duration_count++;
    blocks all = {.waits = gt_alloc(wait_count * sizeof *all.waits),
                  .durations = gt_alloc(duration_count * sizeof *all.durations)};
    double *waits = all.waits, *durations = all.durations;
    for (int64_t rank = 0; rank < matches->ranks; rank++) {
        arrivals *s = &by_rank[rank];
        s->waits = waits;
        s->durations = durations;
        waits += s->wait_count;
        durations += s->duration_count;
        s->wait_count = s->duration_count = 0;
    }
    return all;
}

static void collect_durations(arrivals *by_rank, const gt_table *events)
{
    const int64_t *ranks = gt_table_column(events, GT_COL_RANK)->ints;
    const gt_column *durations = gt_table_column(events, GT_COL_DUR);
    for (size_t row = 0; row < events->row_count; row++) {
        arrivals *s = &by_rank[ranks[row]];
        s->durations[s->duration_count++] = gt_column_number(durations, row);
    }
}

/* Sets a rounded sum, or an integer if the times are integers. */
static void set_sum(gt_table *table, size_t column, size_t row, const double *values, size_t count)
{
    double sum = gt_sum_pairwise(values, count);
    if (table->columns[column].type == GT_TYPE_INT)
        gt_table_set_int(table, column, row, (int64_t)sum);
    else
        gt_table_set_float(table, column, row, round_to_tenths(sum));
}

/* In pandas, a rank that takes no part in a collective has an empty cell there, which makes the waits FLOAT.
 */
static gt_type wait_type(const arrivals *by_rank, int64_t count, const gt_collective_sync *sync,
                         const gt_column *starts)
{
    for (int64_t rank = 0; rank < count; rank++)
        if (by_rank[rank].seen && by_rank[rank].wait_count != sync->count) return GT_TYPE_FLOAT;
    return starts->type;
}

static gt_table *make_sheet(const arrivals *by_rank, const gt_collective_sync *sync, size_t seen)
{
    const gt_table *events = sync->matches->events;
    gt_table *table = gt_table_new(GT_SHEET_STRAGGLER_SUMMARY, events->strings);
    size_t rank_column = gt_table_add_column(table, GT_COL_RANK, GT_TYPE_INT);
    size_t total = gt_table_add_column(
        table, GT_COL_TOTAL_WAIT_TIME_US,
        wait_type(by_rank, sync->matches->ranks, sync, gt_table_column(events, GT_COL_TS)));
    size_t mean = gt_table_add_column(table, GT_COL_MEAN_WAIT_TIME_US, GT_TYPE_FLOAT);
    size_t last = gt_table_add_column(table, GT_COL_TIMES_ARRIVED_LAST, GT_TYPE_INT);
    size_t first = gt_table_add_column(table, GT_COL_TIMES_ARRIVED_FIRST, GT_TYPE_INT);
    size_t percent = gt_table_add_column(table, GT_COL_PCT_ARRIVED_LAST, GT_TYPE_FLOAT);
    size_t collectives = gt_table_add_column(table, GT_COL_NUM_COLLECTIVES, GT_TYPE_INT);
    size_t dur =
        gt_table_add_column(table, GT_COL_TOTAL_NCCL_DUR_US, gt_table_column(events, GT_COL_DUR)->type);
    gt_table_reserve_together(table, seen);
    gt_table_add_rows(table, seen);
    size_t row = 0;
    for (int64_t rank = 0; rank < sync->matches->ranks; rank++) {
        const arrivals *s = &by_rank[rank];
        if (!s->seen) continue;
        gt_table_set_int(table, rank_column, row, rank);
        set_sum(table, total, row, s->waits, s->wait_count);
        gt_table_set_float(table, mean, row, round_to_tenths(gt_mean(s->waits, s->wait_count)));
        gt_table_set_int(table, last, row, s->last);
        gt_table_set_int(table, first, row, s->first);
        gt_table_set_float(table, percent, row,
                           round_to_tenths(100.0 * (double)s->last / (double)sync->count));
        gt_table_set_int(table, collectives, row, (int64_t)sync->count);
        set_sum(table, dur, row, s->durations, s->duration_count);
        row++;
    }
    return table;
}

gt_table *gt_collective_stragglers(const gt_collective_sync *sync, const double *offsets_us)
{
    static const gt_sort_key least_wait_first[] = {{GT_COL_TOTAL_WAIT_TIME_US, false}};
    const gt_collective_matches *matches = sync->matches;
    if (!sync->count) return gt_table_new(GT_SHEET_STRAGGLER_SUMMARY, matches->events->strings);
    arrivals *by_rank = gt_alloc_zero((size_t)matches->ranks, sizeof *by_rank);
    const clocks c = {gt_table_column(matches->events, GT_COL_RANK)->ints,
                      gt_table_column(matches->events, GT_COL_TS), offsets_us};
    size_t seen = 0;
    blocks all = share_blocks(by_rank, sync);
    for (size_t i = 0; i < sync->count; i++) {
        size_t begin = matches->begins[sync->collectives[i]], end = matches->begins[sync->collectives[i] + 1];
        add_collective(by_rank, &seen, &c, matches->rows + begin, end - begin);
    }
    collect_durations(by_rank, matches->events);
    gt_table *table = make_sheet(by_rank, sync, seen);
    gt_table_sort(table, least_wait_first, 1);
    gt_free_all(all.waits, all.durations, by_rank);
    return table;
}
