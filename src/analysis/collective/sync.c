/* nccl_implicit_sync: collectives that no rank can leave before all ranks have arrived.
 *
 * Such a kernel runs from the rank's arrival to the common end, so the rank that arrives last has the
 * shortest kernel, and that kernel shows how long the transfer itself took:
 *
 *     rank 0   |---- waits ----|== transfer ==|      wait time 40, duration 55
 *     rank 1                   |== transfer ==|      wait time 0, duration 15 = comm_latency
 *
 * With start s and duration d of each rank:
 *
 *     comm_latency        min d
 *     wait time           max s - s
 *     skew in start time  max s - min s
 *     skew in end time    max (s + d) - min (s + d)
 *     algo bw (GB/s)      GB of the full message / s of comm_latency
 *     bus bw (GB/s)       algo bw * the part of it that each link carries, by type and group size n
 *
 * Times are INT if the trace has them as integers. */
#include "analysis/collective/internal.h"

#include "schema/columns.h"
#include "table/stats.h"

/* The columns of nccl_long that the sheet starts with; all ranks must agree on all but the first. */
static const gt_col shared_columns[] = {
    GT_COL_COLLECTIVE_ID,   GT_COL_PROCESS_GROUP_NAME, GT_COL_PROCESS_GROUP_RANKS,
    GT_COL_COLLECTIVE_NAME, GT_COL_GROUP_SIZE,         GT_COL_DTYPE,
    GT_COL_IN_MSG_NELEMS,   GT_COL_OUT_MSG_NELEMS,     GT_COL_IN_MSG_SIZE_MB,
    GT_COL_OUT_MSG_SIZE_MB,
};

/* By type: which message is the full one, and how much of it each link between n ranks carries. */
static const struct {
    double factor;    /* the link carries factor * (n - 1) / n of the full message */
    bool full_is_out; /* the output is the full message, otherwise the input */
} transfers[] = {
    [GT_COLLECTIVE_ALLREDUCE] = {2, false},
    [GT_COLLECTIVE_REDUCESCATTER] = {1, false},
    [GT_COLLECTIVE_ALLGATHER] = {1, true},
    [GT_COLLECTIVE_ALLTOALL] = {1, false},
};

/* ---- which collectives ---- */

/* all_to_allv has its own sheet. */
static bool is_sync(gt_collective_type type, bool by_order_alone)
{
    return type == GT_COLLECTIVE_OTHER ? by_order_alone : type != GT_COLLECTIVE_ALLTOALLV;
}

static void note_disagreeing(gt_collective_sync *sync, size_t collective)
{
    const gt_collective_matches *matches = sync->matches;
    const int64_t *ranks = gt_table_column(matches->events, GT_COL_RANK)->ints;
    if (!sync->has_disagreeing)
        sync->has_disagreeing = gt_alloc_zero((size_t)matches->ranks, sizeof *sync->has_disagreeing);
    for (size_t i = matches->begins[collective]; i < matches->begins[collective + 1]; i++)
        sync->has_disagreeing[ranks[matches->rows[i]]] = true;
}

bool gt_collective_sync_find(gt_collective_sync *sync, const gt_collective_matches *matches,
                             bool by_order_alone, gt_mismatch mismatch, gt_error *error)
{
    *sync = (gt_collective_sync){.matches = matches};
    size_t capacity = 0;
    uint8_t *differing =
        by_order_alone ? NULL
                       : gt_collective_compare(matches, shared_columns + 1, GT_LENGTH(shared_columns) - 1);
    bool found = true;
    for (size_t i = 0; i < matches->count && found; i++) {
        if (!is_sync(gt_collective_match_type(matches, i), by_order_alone)) continue;
        bool keep = true;
        gt_col column = differing && differing[i] ? shared_columns[differing[i]] : GT_NO_COL;
        found = gt_collective_check(matches, i, column, true, mismatch, &sync->disagreeing, &keep, error);
        if (keep) GT_PUSH(sync->collectives, sync->count, capacity, (uint32_t)i);
        if (column.name) note_disagreeing(sync, i);
    }
    gt_free(differing);
    if (!found) gt_collective_sync_free(sync);
    return found;
}

void gt_collective_sync_free(gt_collective_sync *sync)
{
    gt_free_all(sync->collectives, sync->has_disagreeing);
    *sync = (gt_collective_sync){0};
}

/* ---- bandwidth ---- */

double gt_collective_link_bytes(const gt_table *events, uint32_t row)
{
    uint32_t name = gt_table_column(events, GT_COL_COLLECTIVE_NAME)->texts[row];
    gt_collective_type type = gt_collective_type_of(gt_interner_get(events->strings, name).bytes);
    if ((size_t)type >= GT_LENGTH(transfers) || transfers[type].factor == 0) return NAN;
    gt_col size = transfers[type].full_is_out ? GT_COL_OUT_MSG_SIZE_MB : GT_COL_IN_MSG_SIZE_MB;
    double n = gt_column_number(gt_table_column(events, GT_COL_GROUP_SIZE), row);
    return gt_column_number(gt_table_column(events, size), row) * 1048576.0 *
           (transfers[type].factor * (n - 1) / n);
}

/* ---- one row per collective ---- */

typedef struct columns {
    const gt_column *starts, *durations, *ranks;                              /* of nccl_long */
    size_t full, latency, start_skew, earliest, average, end_skew, algo, bus; /* of the sheet */
    gt_rank_columns of_rank;
} columns;

static void fill_bandwidths(gt_table *table, const columns *c, size_t row, gt_collective_type type,
                            double latency_us)
{
    if (type == GT_COLLECTIVE_OTHER) return;
    gt_col size = transfers[type].full_is_out ? GT_COL_OUT_MSG_SIZE_MB : GT_COL_IN_MSG_SIZE_MB;
    double full_mb = gt_column_number(gt_table_column(table, size), row);
    gt_table_set_float(table, c->full, row, full_mb);
    if (isnan(full_mb) || latency_us == 0) return;
    double algo = full_mb / 1024 / (latency_us / 1e6);
    double n = gt_column_number(gt_table_column(table, GT_COL_GROUP_SIZE), row);
    gt_table_set_float(table, c->algo, row, algo);
    if (!isnan(n)) gt_table_set_float(table, c->bus, row, algo * (transfers[type].factor * (n - 1) / n));
}

/* The ranks of one collective: when they arrive and leave. */
typedef struct sync_times {
    double first, last, first_end, last_end, latency_us, waits, longest;
    int64_t earliest;
} sync_times;

static void compare_times(const columns *c, const uint32_t *events, size_t count, sync_times *a)
{
    for (size_t i = 0; i < count; i++) {
        double start = gt_column_number(c->starts, events[i]);
        double dur = gt_column_number(c->durations, events[i]), end = start + dur;
        a->first = fmin(a->first, start);
        a->last = fmax(a->last, start);
        a->first_end = fmin(a->first_end, end);
        a->last_end = fmax(a->last_end, end);
        a->latency_us = fmin(a->latency_us, dur);
    }
}

/* When the last arrival is known. */
static void add_waits(gt_table *table, const columns *c, size_t row, const uint32_t *events, size_t count,
                      sync_times *a)
{
    for (size_t i = 0; i < count; i++) {
        double start = gt_column_number(c->starts, events[i]), wait = a->last - start;
        int64_t rank = c->ranks->ints[events[i]];
        a->waits += wait;
        if (!(wait < a->longest)) { /* of equal waits, that of the highest rank */
            a->longest = wait;
            a->earliest = rank;
        }
        if (!c->of_rank.parts[0]) continue;
        gt_collective_set_number(table, c->of_rank.firsts[0][rank], row, start);
        gt_collective_set_number(table, c->of_rank.firsts[0][rank] + 1, row,
                                 gt_column_number(c->durations, events[i]));
        gt_collective_set_number(table, c->of_rank.firsts[1][rank], row, wait);
    }
}

/* The rows of a rank are next to each other, those of a collective are not. So some ranks of all collectives
 * are looked at, then the next ones: a part of the table that is in memory, or in the cache, is enough. */
static void find_arrivals(gt_table *table, const columns *c, const gt_collective_sync *sync, sync_times *all)
{
    enum { RANKS_AT_ONCE = 64 };
    const gt_collective_matches *matches = sync->matches;
    for (int pass = 0; pass < 2; pass++)
        for (size_t from = 0, more = 1; more; from += RANKS_AT_ONCE) {
            more = 0;
            for (size_t row = 0; row < sync->count; row++) {
                size_t begin = matches->begins[sync->collectives[row]] + from;
                size_t end = matches->begins[sync->collectives[row] + 1];
                if (begin >= end) continue;
                size_t count = end - begin < RANKS_AT_ONCE ? end - begin : RANKS_AT_ONCE;
                more += end - begin - count;
                if (pass == 0)
                    compare_times(c, matches->rows + begin, count, &all[row]);
                else
                    add_waits(table, c, row, matches->rows + begin, count, &all[row]);
            }
        }
}

static void fill_times(gt_table *table, const columns *c, size_t row, size_t count, const sync_times *a)
{
    gt_collective_set_number(table, c->latency, row, a->latency_us);
    gt_collective_set_number(table, c->start_skew, row, a->last - a->first);
    gt_table_set_int(table, c->earliest, row, a->earliest);
    gt_table_set_float(table, c->average, row, a->waits / (double)count);
    gt_collective_set_number(table, c->end_skew, row, a->last_end - a->first_end);
}

gt_table *gt_collective_sync_table(const gt_collective_sync *sync, bool rank_columns)
{
    const gt_collective_matches *matches = sync->matches;
    if (!sync->count) return gt_table_new(GT_SHEET_NCCL_IMPLICIT_SYNC, matches->events->strings);
    gt_table *table =
        gt_collective_first_ranks(matches, sync->collectives, sync->count, GT_SHEET_NCCL_IMPLICIT_SYNC,
                                  shared_columns, GT_LENGTH(shared_columns));
    columns c = {.starts = gt_table_column(matches->events, GT_COL_TS),
                 .durations = gt_table_column(matches->events, GT_COL_DUR),
                 .ranks = gt_table_column(matches->events, GT_COL_RANK)};
    gt_type start = c.starts->type, dur = c.durations->type;
    gt_type end = start == GT_TYPE_INT ? dur : GT_TYPE_FLOAT;
    c.full = gt_table_add_column(table, GT_COL_FULL_MSG_SIZE_MB, GT_TYPE_FLOAT);
    c.latency = gt_table_add_column(table, GT_COL_COMM_LATENCY, dur);
    c.start_skew = gt_table_add_column(table, GT_COL_SKEW_IN_START_TIME, start);
    c.earliest = gt_table_add_column(table, GT_COL_EARLIEST_ARRIVAL_RANK, GT_TYPE_INT);
    c.average = gt_table_add_column(table, GT_COL_AVG_WAIT_TIME, GT_TYPE_FLOAT);
    c.end_skew = gt_table_add_column(table, GT_COL_SKEW_IN_END_TIME, end);
    c.algo = gt_table_add_column(table, GT_COL_ALGO_BW_GB_PER_S, GT_TYPE_FLOAT);
    c.bus = gt_table_add_column(table, GT_COL_BUS_BW_GB_PER_S, GT_TYPE_FLOAT);
    const gt_column_head times[] = {{GT_COL_TS, start}, {GT_COL_DUR, dur}},
                         waits[] = {{GT_COL_WAIT_TIME, start}};
    if (rank_columns) {
        c.of_rank =
            (gt_rank_columns){.parts = {times, waits}, .part_counts = {GT_LENGTH(times), GT_LENGTH(waits)}};
        gt_rank_columns_begin(&c.of_rank, matches);
        for (size_t i = 0; i < sync->count; i++)
            gt_rank_columns_add(&c.of_rank, table, matches, sync->collectives[i]);
    }
    sync_times *all = gt_alloc(sync->count * sizeof *all);
    for (size_t row = 0; row < sync->count; row++)
        all[row] = (sync_times){.first = INFINITY,
                                .last = -INFINITY,
                                .first_end = INFINITY,
                                .last_end = -INFINITY,
                                .latency_us = INFINITY,
                                .longest = -INFINITY};
    find_arrivals(table, &c, sync, all);
    for (size_t row = 0; row < sync->count; row++) {
        size_t collective = sync->collectives[row];
        fill_times(table, &c, row, matches->begins[collective + 1] - matches->begins[collective], &all[row]);
        fill_bandwidths(table, &c, row, gt_collective_match_type(matches, collective), all[row].latency_us);
    }
    gt_free(all);
    if (rank_columns) gt_rank_columns_end(&c.of_rank);
    gt_table_widen_ints(table);
    return table;
}

/* ---- summary ---- */

static const gt_col summary_keys[] = {GT_COL_COLLECTIVE_NAME, GT_COL_DTYPE, GT_COL_IN_MSG_NELEMS};
static const gt_col summary_first[] = {GT_COL_PROCESS_GROUP_NAME, GT_COL_GROUP_SIZE, GT_COL_FULL_MSG_SIZE_MB};
static const struct {
    gt_col column;
    bool if_any; /* omit if no row has a value */
} metrics[] = {
    {GT_COL_COMM_LATENCY, false},    {GT_COL_SKEW_IN_START_TIME, false}, {GT_COL_SKEW_IN_END_TIME, false},
    {GT_COL_ALGO_BW_GB_PER_S, true}, {GT_COL_BUS_BW_GB_PER_S, true},
};
static const char *const unknown = "Unknown";

static bool has_any(const gt_table *table, gt_col name)
{
    const gt_column *column = gt_table_column(table, name);
    for (size_t row = 0; row < table->row_count; row++)
        if (!gt_column_is_null(column, row)) return true;
    return false;
}

static void name_missing(gt_table *table, gt_col name)
{
    gt_column *column = gt_table_column(table, name);
    uint32_t id = gt_interner_add_cstr(table->strings, unknown);
    for (size_t row = 0; row < table->row_count; row++)
        if (column->texts[row] == GT_STR_NONE) column->texts[row] = id;
}

/* A number column with nulls becomes a STRING column with "Unknown" instead of them. */
static void name_missing_numbers(gt_table *table, gt_col name)
{
    size_t from = gt_table_find(table, name);
    if (!gt_column_has_nulls(&table->columns[from], table->row_count)) return;
    size_t to = gt_table_add_column(table, name, GT_TYPE_STRING);
    for (size_t row = 0; row < table->row_count; row++) {
        char digits[GT_NUMBER_MAX + 1];
        double number = gt_column_number(&table->columns[from], row);
        digits[gt_print_double(digits, number)] = 0;
        gt_table_set_cstr(table, to, row, isnan(number) ? unknown : digits);
    }
    gt_table_drop_column(table, from);
    gt_table_move_column(table, table->column_count - 1, from);
}

/* Adds the total latency of each group, summed in numpy's order. */
static void add_totals(gt_table *summary, const gt_table *table, gt_group_options options)
{
    gt_groups groups = gt_groups_find(table, summary_keys, GT_LENGTH(summary_keys), options);
    gt_group_rows by_group = gt_group_rows_find(&groups);
    const gt_column *latency = gt_table_column(table, GT_COL_COMM_LATENCY);
    size_t total = gt_table_add_column(summary, GT_COL_TOTAL_COMM_LATENCY_MS, GT_TYPE_FLOAT);
    double *values = gt_alloc(table->row_count * sizeof *values);
    for (size_t g = 0; g < groups.count; g++) {
        size_t begin = by_group.begins[g], count = by_group.begins[g + 1] - begin;
        for (size_t i = 0; i < count; i++) values[i] = gt_column_number(latency, by_group.rows[begin + i]);
        gt_table_set_float(summary, total, g, gt_sum_pairwise(values, count) / 1000);
    }
    gt_free(values);
    gt_group_rows_free(&by_group);
    gt_groups_free(&groups);
}

gt_table *gt_collective_sync_summary(const gt_table *table, const gt_aggregations *wanted)
{
    static const gt_sort_key longest_first[] = {{GT_COL_TOTAL_COMM_LATENCY_MS, true}};
    const gt_group_options options = {.sorted = true, .keep_nulls = true};
    if (!table->row_count) return gt_table_new(GT_SHEET_NCCL_SUMMARY_IMPLICIT_SYNC, table->strings);
    gt_table *rows = gt_table_copy(table);
    name_missing(rows, GT_COL_COLLECTIVE_NAME);
    name_missing(rows, GT_COL_DTYPE);
    gt_aggregate_list list = {0};
    for (size_t i = 0; i < GT_LENGTH(summary_first); i++)
        gt_aggregate_list_add(&list, summary_first[i], GT_GROUP_FIRST, summary_first[i]);
    for (size_t i = 0; i < GT_LENGTH(metrics); i++)
        if (!metrics[i].if_any || has_any(table, metrics[i].column))
            gt_aggregate_list_add_wanted(&list, metrics[i].column, wanted);
    gt_aggregate_list_add(&list, GT_COL_COMM_LATENCY, GT_GROUP_SIZE, GT_COL_COUNT);
    gt_table *summary = gt_aggregate_list_group(&list, rows, summary_keys, GT_LENGTH(summary_keys), options);
    gt_table_rename(summary, GT_SHEET_NCCL_SUMMARY_IMPLICIT_SYNC);
    add_totals(summary, rows, options);
    name_missing_numbers(summary, GT_COL_IN_MSG_NELEMS);
    gt_table_sort(summary, longest_first, GT_LENGTH(longest_first));
    gt_table_free(rows);
    return summary;
}
