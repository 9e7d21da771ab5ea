/* nccl_all2allv and its summary. With start s, duration d and size z (MB sent) of each rank:
 *
 *     wall_time (us)      max (s + d) - min s
 *     throughput (GB/s)   GB of all ranks / s of wall time; of a rank: its z over its d
 *     size_imbalance      max z / mean z: 1 where all send the same */
#include "analysis/collective/all2allv.h"
#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <math.h>
#include <stdlib.h>

static const gt_col agreed[] = {
    GT_COL_PROCESS_GROUP_NAME,
    GT_COL_PROCESS_GROUP_RANKS,
    GT_COL_COLLECTIVE_NAME,
    GT_COL_GROUP_SIZE,
    GT_COL_DTYPE,
    GT_COL_STREAM,
};
static const gt_col taken[] = {
    GT_COL_COLLECTIVE_ID,   GT_COL_PROCESS_GROUP_NAME, GT_COL_PROCESS_GROUP_RANKS,
    GT_COL_COLLECTIVE_NAME, GT_COL_GROUP_SIZE,         GT_COL_DTYPE,
    GT_COL_STREAM,
};

/* The values of an exchange, in the order of their columns. */
enum {
    TOTAL_MB,
    TOTAL_ELEMENTS,
    WALL,
    MAX_DUR,
    MIN_DUR,
    AVERAGE_DUR,
    THROUGHPUT,
    MAX_THROUGHPUT,
    MIN_THROUGHPUT,
    IMBALANCE,
    START_SKEW,
    END_SKEW,
    VALUES
};

/* Which columns of the long table make a value: it is INT where they are. */
typedef enum source { FRACTIONS, ELEMENTS, STARTS, DURATIONS, ENDS } source;
static const struct {
    gt_col name;
    source from;
} values[VALUES] = {
    [TOTAL_MB] = {GT_COL_TOTAL_DATA_COMMUNICATED_MB, FRACTIONS},
    [TOTAL_ELEMENTS] = {GT_COL_TOTAL_NELEMS_COMMUNICATED, ELEMENTS},
    [WALL] = {GT_COL_WALL_TIME_US, ENDS},
    [MAX_DUR] = {GT_COL_MAX_RANK_DUR_US, DURATIONS},
    [MIN_DUR] = {GT_COL_MIN_RANK_DUR_US, DURATIONS},
    [AVERAGE_DUR] = {GT_COL_AVG_RANK_DUR_US, FRACTIONS},
    [THROUGHPUT] = {GT_COL_THROUGHPUT_GB_PER_S, FRACTIONS},
    [MAX_THROUGHPUT] = {GT_COL_MAX_RANK_THROUGHPUT_GB_PER_S, FRACTIONS},
    [MIN_THROUGHPUT] = {GT_COL_MIN_RANK_THROUGHPUT_GB_PER_S, FRACTIONS},
    [IMBALANCE] = {GT_COL_SIZE_IMBALANCE, FRACTIONS},
    [START_SKEW] = {GT_COL_SKEW_IN_START_TIME, STARTS},
    [END_SKEW] = {GT_COL_SKEW_IN_END_TIME, ENDS},
};

/* Columns of the long table that each rank has a copy of. */
static const gt_col copied[] = {
    GT_COL_TS,
    GT_COL_DUR,
    GT_COL_IN_MSG_NELEMS,
    GT_COL_OUT_MSG_NELEMS,
    GT_COL_IN_MSG_SIZE_MB,
    GT_COL_OUT_MSG_SIZE_MB,
    GT_COL_IN_SPLIT_SIZE,
    GT_COL_OUT_SPLIT_SIZE,
};

typedef struct exchange {
    double first, last, first_end, last_end;
    double value[VALUES];
} exchange;

static void set_number(gt_table *table, size_t column, size_t row, double value)
{
    if (isnan(value) || fabs(value) > 9e18) return; /* no sum of real sizes is out of int64's range */
    if (table->columns[column].type == GT_TYPE_INT)
        gt_table_set_int(table, column, row, (int64_t)value);
    else
        gt_table_set_float(table, column, row, value);
}

static exchange measure(const gt_table *events, const uint32_t *rows, size_t count)
{
    const gt_column *starts = gt_table_column(events, GT_COL_TS),
                    *durations = gt_table_column(events, GT_COL_DUR);
    const gt_column *sizes = gt_table_column(events, GT_COL_IN_MSG_SIZE_MB);
    const gt_column *elements = gt_table_column(events, GT_COL_IN_MSG_NELEMS);
    exchange x = {INFINITY, -INFINITY, INFINITY, -INFINITY, {0}};
    double *v = x.value, durs = 0, largest = 0, fastest = -INFINITY, slowest = INFINITY;
    v[MAX_DUR] = -INFINITY;
    v[MIN_DUR] = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double start = gt_column_number(starts, rows[i]), dur = gt_column_number(durations, rows[i]);
        double size = gt_column_number(sizes, rows[i]), sent = gt_column_number(elements, rows[i]);
        x.first = fmin(x.first, start);
        x.last = fmax(x.last, start);
        x.first_end = fmin(x.first_end, start + dur);
        x.last_end = fmax(x.last_end, start + dur);
        v[MAX_DUR] = fmax(v[MAX_DUR], dur);
        v[MIN_DUR] = fmin(v[MIN_DUR], dur);
        durs += dur;
        if (!isnan(sent)) v[TOTAL_ELEMENTS] += sent;
        if (isnan(size)) continue;
        v[TOTAL_MB] += size;
        largest = fmax(largest, size);
        if (size <= 0 || dur <= 0) continue;
        fastest = fmax(fastest, size / 1024 / (dur / 1e6));
        slowest = fmin(slowest, size / 1024 / (dur / 1e6));
    }
    double mean = v[TOTAL_MB] / (double)count;
    v[WALL] = x.last_end - x.first;
    v[AVERAGE_DUR] = durs / (double)count;
    v[THROUGHPUT] = v[WALL] == 0 ? (double)NAN : v[TOTAL_MB] / 1024 / (v[WALL] / 1e6);
    v[MAX_THROUGHPUT] = isinf(fastest) ? (double)NAN : fastest;
    v[MIN_THROUGHPUT] = isinf(slowest) ? (double)NAN : slowest;
    v[IMBALANCE] = mean > 0 ? largest / mean : (double)NAN;
    v[START_SKEW] = x.last - x.first;
    v[END_SKEW] = x.last_end - x.first_end;
    return x;
}

/* ---- one row an exchange ---- */

static void copy_cell(gt_table *table, size_t column, size_t row, const gt_column *from, uint32_t event)
{
    if (from->type == GT_TYPE_STRING)
        table->columns[column].texts[row] = from->texts[event];
    else
        set_number(table, column, row, gt_column_number(from, event));
}

static void fill_ranks(gt_table *table, size_t row, const gt_rank_columns *of_rank, const gt_table *events,
                       const uint32_t *rows, size_t count, const exchange *x)
{
    const int64_t *ranks = gt_table_column(events, GT_COL_RANK)->ints;
    const gt_column *starts = gt_table_column(events, GT_COL_TS),
                    *durations = gt_table_column(events, GT_COL_DUR);
    for (size_t i = 0; i < count; i++) {
        size_t first = of_rank->firsts[0][ranks[rows[i]]], skews = of_rank->firsts[1][ranks[rows[i]]];
        for (size_t c = 0; c < GT_LENGTH(copied); c++)
            copy_cell(table, first + c, row, gt_table_column(events, copied[c]), rows[i]);
        double start = gt_column_number(starts, rows[i]);
        set_number(table, skews, row, start - x->first);
        set_number(table, skews + 1, row, x->last_end - (start + gt_column_number(durations, rows[i])));
    }
}

static gt_table *begin_table(const gt_collective_matches *matches, const uint32_t *exchanges, size_t count)
{
    uint32_t *firsts = gt_alloc(count * sizeof *firsts);
    for (size_t i = 0; i < count; i++) firsts[i] = matches->rows[matches->begins[exchanges[i]]];
    gt_table *table = gt_table_copy_rows(matches->events, firsts, count);
    gt_table_rename(table, GT_SHEET_NCCL_ALL2ALLV);
    gt_table_select(table, taken, GT_LENGTH(taken));
    gt_free(firsts);
    return table;
}

static gt_table *make_table(const gt_collective_matches *matches, const uint32_t *exchanges, size_t count,
                            bool rank_columns)
{
    static const gt_sort_key most_first[] = {{GT_COL_TOTAL_DATA_COMMUNICATED_MB, true}};
    const gt_table *events = matches->events;
    gt_table *table = begin_table(matches, exchanges, count);
    gt_type starts = gt_table_column(events, GT_COL_TS)->type,
            durations = gt_table_column(events, GT_COL_DUR)->type;
    const gt_type types[] = {[FRACTIONS] = GT_TYPE_FLOAT,
                             [ELEMENTS] = gt_table_column(events, GT_COL_IN_MSG_NELEMS)->type,
                             [STARTS] = starts,
                             [DURATIONS] = durations,
                             [ENDS] = starts == GT_TYPE_INT ? durations : GT_TYPE_FLOAT};
    size_t first_value = table->column_count;
    for (size_t v = 0; v < VALUES; v++) gt_table_add_column(table, values[v].name, types[values[v].from]);

    gt_column_head copies[GT_LENGTH(copied)];
    for (size_t c = 0; c < GT_LENGTH(copied); c++)
        copies[c] = (gt_column_head){copied[c], gt_table_column(events, copied[c])->type};
    const gt_column_head skews[] = {{values[START_SKEW].name, types[STARTS]},
                                    {values[END_SKEW].name, types[ENDS]}};
    gt_rank_columns of_rank = {.parts = {copies, skews},
                               .part_counts = {GT_LENGTH(copies), GT_LENGTH(skews)}};
    gt_rank_columns_begin(&of_rank, matches);
    for (size_t i = 0; i < count && rank_columns; i++)
        gt_rank_columns_add(&of_rank, table, matches, exchanges[i]);
    for (size_t row = 0; row < count; row++) {
        size_t begin = matches->begins[exchanges[row]], end = matches->begins[exchanges[row] + 1];
        exchange x = measure(events, matches->rows + begin, end - begin);
        for (size_t v = 0; v < VALUES; v++) set_number(table, first_value + v, row, x.value[v]);
        if (rank_columns) fill_ranks(table, row, &of_rank, events, matches->rows + begin, end - begin, &x);
    }
    gt_rank_columns_end(&of_rank);
    gt_table_widen_ints(table);
    gt_table_sort(table, most_first, GT_LENGTH(most_first));
    return table;
}

gt_table *gt_collective_all2allv(const gt_collective_matches *matches, bool rank_columns,
                                 gt_mismatch mismatch, size_t *disagreeing, gt_error *error)
{
    uint32_t *exchanges = NULL;
    size_t count = 0, capacity = 0;
    *disagreeing = 0;
    for (size_t i = 0; i < matches->count; i++) {
        if (gt_collective_match_type(matches, i) != GT_COLLECTIVE_ALLTOALLV) continue;
        bool agrees = gt_collective_agrees(matches, i, agreed, GT_LENGTH(agreed), false, error);
        *disagreeing += !agrees;
        if (!agrees && mismatch == GT_MISMATCH_FAILS) {
            gt_free(exchanges);
            return NULL;
        }
        if (agrees || mismatch == GT_MISMATCH_KEPT) GT_PUSH(exchanges, count, capacity, (uint32_t)i);
    }
    gt_table *table = count ? make_table(matches, exchanges, count, rank_columns)
                            : gt_table_new(GT_SHEET_NCCL_ALL2ALLV, matches->events->strings);
    gt_free(exchanges);
    return table;
}

/* ---- summary ---- */

/* Behind what the user asks for. */
static const gt_aggregate always[] = {
    GT_AGGREGATE(SIZE_IMBALANCE, MEAN),
    GT_AGGREGATE(SIZE_IMBALANCE, MAX),
    GT_AGGREGATE(MAX_RANK_DUR_US, MEAN),
    GT_AGGREGATE(MAX_RANK_DUR_US, MAX),
    GT_AGGREGATE(SKEW_IN_START_TIME, MEAN),
    GT_AGGREGATE(SKEW_IN_START_TIME, MAX),
    GT_AGGREGATE(SKEW_IN_END_TIME, MEAN),
    GT_AGGREGATE(SKEW_IN_END_TIME, MAX),
    {GT_COL_COLLECTIVE_ID, GT_GROUP_SIZE, GT_COL_COUNT},
    {GT_COL_PROCESS_GROUP_RANKS, GT_GROUP_FIRST, GT_COL_PROCESS_GROUP_RANKS},
    {GT_COL_COLLECTIVE_NAME, GT_GROUP_FIRST, GT_COL_COLLECTIVE_NAME},
    {GT_COL_GROUP_SIZE, GT_GROUP_FIRST, GT_COL_GROUP_SIZE},
};

gt_table *gt_collective_all2allv_summary(const gt_table *table, const gt_aggregations *wanted)
{
    static const gt_col keys[] = {GT_COL_PROCESS_GROUP_NAME, GT_COL_DTYPE};
    static const gt_sort_key longest_first[] = {{GT_COL_TOTAL_WALL_TIME_MS, true}};
    if (!table->row_count) return gt_table_new(GT_SHEET_NCCL_SUMMARY_ALL2ALLV, table->strings);
    gt_aggregate_list list = {0};
    gt_aggregate_list_add_wanted(&list, values[TOTAL_MB].name, wanted);
    gt_aggregate_list_add_wanted(&list, values[WALL].name, wanted);
    gt_aggregate_list_add(&list, values[WALL].name, GT_GROUP_SUM, GT_COL_TOTAL_WALL_TIME_US);
    gt_aggregate_list_add_wanted(&list, values[THROUGHPUT].name, wanted);
    for (size_t i = 0; i < GT_LENGTH(always); i++)
        gt_aggregate_list_add(&list, always[i].column, always[i].kind, always[i].name);
    gt_table *summary =
        gt_aggregate_list_group(&list, table, keys, GT_LENGTH(keys), (gt_group_options){.sorted = true});
    gt_table_rename(summary, GT_SHEET_NCCL_SUMMARY_ALL2ALLV);
    size_t us = gt_table_find(summary, GT_COL_TOTAL_WALL_TIME_US);
    size_t ms = gt_table_add_column(summary, GT_COL_TOTAL_WALL_TIME_MS, GT_TYPE_FLOAT);
    for (size_t row = 0; row < summary->row_count; row++)
        gt_table_set_float(summary, ms, row, gt_column_number(&summary->columns[us], row) / 1000);
    gt_table_sort(summary, longest_first, GT_LENGTH(longest_first));
    return summary;
}
