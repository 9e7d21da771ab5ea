/* nccl_all2allv, its summary and its heat map. With start s, duration d and size z (MB sent) of each rank:
 *
 *     wall_time (us)      max (s + d) - min s
 *     throughput (GB/s)   GB sent by all ranks / s of wall time; of a rank: its z / its d
 *     size_imbalance      max z / mean z: 1 if all ranks send the same amount */
#include "analysis/collective/internal.h"

#include "analysis/sheet_parts.h"
#include "schema/columns.h"

/* The columns of nccl_long that the sheet starts with; all ranks must agree on all but the first. */
static const gt_col shared_columns[] = {
    GT_COL_COLLECTIVE_ID,   GT_COL_PROCESS_GROUP_NAME, GT_COL_PROCESS_GROUP_RANKS,
    GT_COL_COLLECTIVE_NAME, GT_COL_GROUP_SIZE,         GT_COL_DTYPE,
    GT_COL_STREAM,
};

/* The figures of an exchange, in the order of their columns. */
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
    FIGURES
};

/* The columns of nccl_long from which a figure is computed: it is INT if they are.
 * FRACTIONS are always FLOAT. */
typedef enum source { FRACTIONS, ELEMENTS, STARTS, DURATIONS, ENDS } source;
static const struct {
    gt_col name;
    source from;
} figures[FIGURES] = {
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

/* Columns of nccl_long that are copied for each rank. */
static const gt_col columns_per_rank[] = {
    GT_COL_TS,
    GT_COL_DUR,
    GT_COL_IN_MSG_NELEMS,
    GT_COL_OUT_MSG_NELEMS,
    GT_COL_IN_MSG_SIZE_MB,
    GT_COL_OUT_MSG_SIZE_MB,
    GT_COL_IN_SPLIT_SIZE,
    GT_COL_OUT_SPLIT_SIZE,
};

/* Start and end times in us; first and last over the ranks. */
typedef struct exchange {
    double first, last, first_end, last_end;
    double figures[FIGURES];
} exchange;

static void set_number(gt_table *table, size_t column, size_t row, double value)
{
    if (isnan(value) || fabs(value) > 9e18) return; /* would overflow an int64; real sizes do not */
    gt_collective_set_number(table, column, row, value);
}

/* The figures of one exchange, whose kernels are `rows` of nccl_long. */
static exchange measure(const gt_table *events, const uint32_t *rows, size_t count)
{
    const gt_column *starts = gt_table_column(events, GT_COL_TS),
                    *durations = gt_table_column(events, GT_COL_DUR);
    const gt_column *sizes = gt_table_column(events, GT_COL_IN_MSG_SIZE_MB);
    const gt_column *elements = gt_table_column(events, GT_COL_IN_MSG_NELEMS);
    exchange x = {INFINITY, -INFINITY, INFINITY, -INFINITY, {0}};
    double *v = x.figures, dur_sum = 0, largest = 0, fastest = -INFINITY, slowest = INFINITY;
    v[MAX_DUR] = -INFINITY;
    v[MIN_DUR] = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double start = gt_column_number(starts, rows[i]), dur = gt_column_number(durations, rows[i]);
        double size = gt_column_number(sizes, rows[i]), elements_sent = gt_column_number(elements, rows[i]);
        x.first = fmin(x.first, start);
        x.last = fmax(x.last, start);
        x.first_end = fmin(x.first_end, start + dur);
        x.last_end = fmax(x.last_end, start + dur);
        v[MAX_DUR] = fmax(v[MAX_DUR], dur);
        v[MIN_DUR] = fmin(v[MIN_DUR], dur);
        dur_sum += dur;
        if (!isnan(elements_sent)) v[TOTAL_ELEMENTS] += elements_sent;
        if (isnan(size)) continue;
        v[TOTAL_MB] += size;
        largest = fmax(largest, size);
        if (size <= 0 || dur <= 0) continue;
        fastest = fmax(fastest, size / 1024 / (dur / 1e6));
        slowest = fmin(slowest, size / 1024 / (dur / 1e6));
    }
    double mean = v[TOTAL_MB] / (double)count;
    v[WALL] = x.last_end - x.first;
    v[AVERAGE_DUR] = dur_sum / (double)count;
    v[THROUGHPUT] = v[WALL] == 0 ? (double)NAN : v[TOTAL_MB] / 1024 / (v[WALL] / 1e6);
    v[MAX_THROUGHPUT] = isinf(fastest) ? (double)NAN : fastest;
    v[MIN_THROUGHPUT] = isinf(slowest) ? (double)NAN : slowest;
    v[IMBALANCE] = mean > 0 ? largest / mean : (double)NAN;
    v[START_SKEW] = x.last - x.first;
    v[END_SKEW] = x.last_end - x.first_end;
    return x;
}

/* ---- one row per exchange ---- */

static gt_str string_at(const gt_table *events, gt_col name, size_t row)
{
    return gt_interner_get(events->strings, gt_table_column(events, name)->texts[row]);
}

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
        for (size_t c = 0; c < GT_LENGTH(columns_per_rank); c++)
            copy_cell(table, first + c, row, gt_table_column(events, columns_per_rank[c]), rows[i]);
        double start = gt_column_number(starts, rows[i]);
        set_number(table, skews, row, start - x->first);
        set_number(table, skews + 1, row, x->last_end - (start + gt_column_number(durations, rows[i])));
    }
}

static gt_table *make_table(const gt_collective_matches *matches, const uint32_t *exchanges, size_t count,
                            bool rank_columns)
{
    static const gt_sort_key most_first[] = {{GT_COL_TOTAL_DATA_COMMUNICATED_MB, true}};
    const gt_table *events = matches->events;
    gt_table *table = gt_collective_first_ranks(matches, exchanges, count, GT_SHEET_NCCL_ALL2ALLV,
                                                shared_columns, GT_LENGTH(shared_columns));
    gt_type starts = gt_table_column(events, GT_COL_TS)->type,
            durations = gt_table_column(events, GT_COL_DUR)->type;
    const gt_type types[] = {[FRACTIONS] = GT_TYPE_FLOAT,
                             [ELEMENTS] = gt_table_column(events, GT_COL_IN_MSG_NELEMS)->type,
                             [STARTS] = starts,
                             [DURATIONS] = durations,
                             [ENDS] = starts == GT_TYPE_INT ? durations : GT_TYPE_FLOAT};
    size_t first_figure = table->column_count;
    for (size_t v = 0; v < FIGURES; v++) gt_table_add_column(table, figures[v].name, types[figures[v].from]);

    gt_column_head copies[GT_LENGTH(columns_per_rank)];
    for (size_t c = 0; c < GT_LENGTH(columns_per_rank); c++)
        copies[c] = (gt_column_head){columns_per_rank[c], gt_table_column(events, columns_per_rank[c])->type};
    const gt_column_head skews[] = {{figures[START_SKEW].name, types[STARTS]},
                                    {figures[END_SKEW].name, types[ENDS]}};
    gt_rank_columns of_rank = {.parts = {copies, skews},
                               .part_counts = {GT_LENGTH(copies), GT_LENGTH(skews)}};
    gt_rank_columns_begin(&of_rank, matches);
    for (size_t i = 0; i < count && rank_columns; i++)
        gt_rank_columns_add(&of_rank, table, matches, exchanges[i]);
    for (size_t row = 0; row < count; row++) {
        size_t begin = matches->begins[exchanges[row]], end = matches->begins[exchanges[row] + 1];
        exchange x = measure(events, matches->rows + begin, end - begin);
        for (size_t v = 0; v < FIGURES; v++) set_number(table, first_figure + v, row, x.figures[v]);
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
    uint8_t *differing = NULL;
    bool found = true;
    for (size_t i = 0; i < matches->count && found; i++) {
        if (gt_collective_match_type(matches, i) != GT_COLLECTIVE_ALLTOALLV) continue;
        if (!differing)
            differing = gt_collective_compare(matches, shared_columns + 1, GT_LENGTH(shared_columns) - 1);
        bool keep;
        gt_col column = differing[i] ? shared_columns[differing[i]] : GT_NO_COL;
        found = gt_collective_check(matches, i, column, false, mismatch, disagreeing, &keep, error);
        if (keep) GT_PUSH(exchanges, count, capacity, (uint32_t)i);
    }
    gt_free(differing);
    if (!found) {
        gt_free(exchanges);
        return NULL;
    }
    gt_table *table = count ? make_table(matches, exchanges, count, rank_columns)
                            : gt_table_new(GT_SHEET_NCCL_ALL2ALLV, matches->events->strings);
    gt_free(exchanges);
    return table;
}

/* Whether all splits of a row are known, and none is empty. */
static bool has_full_splits(const gt_table *events, uint32_t row, gt_int_list *splits)
{
    static const gt_col columns[] = {GT_COL_IN_SPLIT_SIZE, GT_COL_OUT_SPLIT_SIZE};
    double size = gt_column_number(gt_table_column(events, GT_COL_GROUP_SIZE), row);
    for (size_t c = 0; c < GT_LENGTH(columns); c++) {
        gt_int_list_read(splits, string_at(events, columns[c], row));
        if (!splits->is_list || (size == size && size != (double)splits->count)) return false;
        for (size_t i = 0; i < splits->count; i++)
            if (splits->items[i] <= 0) return false;
    }
    return true;
}

uint32_t *gt_collective_all2allv_full(const gt_collective_matches *matches, size_t *count)
{
    uint32_t *full = NULL;
    uint8_t *differing = NULL;
    gt_int_list splits = {0};
    size_t capacity = 0;
    *count = 0;
    for (size_t i = 0; i < matches->count; i++) {
        if (gt_collective_match_type(matches, i) != GT_COLLECTIVE_ALLTOALLV) continue;
        if (!differing)
            differing = gt_collective_compare(matches, shared_columns + 1, GT_LENGTH(shared_columns) - 2);
        size_t row = matches->begins[i], end = matches->begins[i + 1];
        while (row < end && !differing[i] && has_full_splits(matches->events, matches->rows[row], &splits))
            row++;
        if (row == end) GT_PUSH(full, *count, capacity, (uint32_t)i);
    }
    gt_free(differing);
    gt_int_list_free(&splits);
    return full;
}

/* ---- summary ---- */

/* After the aggregations that the user requests. */
static const gt_aggregate fixed_aggregates[] = {
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
    gt_aggregate_list_add_wanted(&list, figures[TOTAL_MB].name, wanted);
    gt_aggregate_list_add_wanted(&list, figures[WALL].name, wanted);
    gt_aggregate_list_add(&list, figures[WALL].name, GT_GROUP_SUM, GT_COL_TOTAL_WALL_TIME_US);
    gt_aggregate_list_add_wanted(&list, figures[THROUGHPUT].name, wanted);
    for (size_t i = 0; i < GT_LENGTH(fixed_aggregates); i++)
        gt_aggregate_list_add(&list, fixed_aggregates[i].column, fixed_aggregates[i].kind,
                              fixed_aggregates[i].name);
    gt_table *summary =
        gt_aggregate_list_group(&list, table, keys, GT_LENGTH(keys), (gt_group_options){.sorted = true});
    gt_table_rename(summary, GT_SHEET_NCCL_SUMMARY_ALL2ALLV);
    gt_table_add_ms(summary, GT_COL_TOTAL_WALL_TIME_US, GT_COL_TOTAL_WALL_TIME_MS);
    gt_table_sort(summary, longest_first, GT_LENGTH(longest_first));
    return summary;
}

/* ---- heat map ----
 *
 * The split sizes of all exchanges, added up by sender and receiver. The i-th split size of a kernel goes to
 * the i-th rank of its process group; if the group's ranks are unknown, i itself counts as the receiver.
 * PyTorch counts rows of the first dimension. */

enum { RANKS_MAX = 1024, RANKS_MANY = 256 };

typedef struct pair {
    int64_t from, to;
    double bytes;
    int64_t count;
} pair;

typedef struct heatmap {
    gt_map indices; /* (from, to) to the index of the pair */
    pair *pairs;
    size_t count, capacity;
} heatmap;

static void add_bytes(heatmap *map, int64_t from, int64_t to, double bytes)
{
    uint32_t *index = gt_map_put(&map->indices, (uint64_t)from, (uint64_t)to);
    if (*index == GT_MAP_NONE) {
        pair new_pair = {from, to, 0, 0};
        *index = (uint32_t)map->count;
        GT_PUSH(map->pairs, map->count, map->capacity, new_pair);
    }
    map->pairs[*index].bytes += bytes;
    map->pairs[*index].count++;
}

/* False if the event does not say how much it sent to whom. */
static bool add_event(heatmap *map, const gt_table *events, size_t row, gt_int_list *splits,
                      gt_int_list *group)
{
    double size = gt_column_number(gt_table_column(events, GT_COL_GROUP_SIZE), row);
    int bytes = gt_collective_dtype_bytes(string_at(events, GT_COL_DTYPE, row).bytes);
    gt_int_list_read(splits, string_at(events, GT_COL_IN_SPLIT_SIZE, row));
    if (!splits->is_list || !bytes || (size == size && size != (double)splits->count)) return false;
    gt_int_list_read(group, string_at(events, GT_COL_PROCESS_GROUP_RANKS, row));
    double elements = gt_column_number(gt_table_column(events, GT_COL_IN_MSG_NELEMS), row);
    double row_bytes = bytes * gt_collective_split_elements(splits, elements);
    bool known = group->is_list && group->count == splits->count;
    int64_t from = gt_table_column(events, GT_COL_RANK)->ints[row];
    for (size_t i = 0; i < splits->count; i++)
        add_bytes(map, from, known ? group->items[i] : (int64_t)i, (double)splits->items[i] * row_bytes);
    return true;
}

static gt_table *to_table(const heatmap *map, gt_interner *strings)
{
    static const gt_sort_key by_pair[] = {{GT_COL_SRC_RANK, false}, {GT_COL_DST_RANK, false}};
    gt_table *table = gt_table_new(GT_SHEET_NCCL_ALL2ALLV_HEATMAP, strings);
    if (!map->count) return table;
    size_t from = gt_table_add_column(table, GT_COL_SRC_RANK, GT_TYPE_INT);
    size_t to = gt_table_add_column(table, GT_COL_DST_RANK, GT_TYPE_INT);
    size_t total = gt_table_add_column(table, GT_COL_TOTAL_SENT_MB, GT_TYPE_FLOAT);
    size_t average = gt_table_add_column(table, GT_COL_AVG_SENT_MB, GT_TYPE_FLOAT);
    size_t count = gt_table_add_column(table, GT_COL_COUNT, GT_TYPE_INT);
    gt_table_add_rows(table, map->count);
    for (size_t row = 0; row < map->count; row++) {
        const pair *p = &map->pairs[row];
        double total_mb = p->bytes / 1048576.0;
        table->columns[from].ints[row] = p->from;
        table->columns[to].ints[row] = p->to;
        table->columns[total].floats[row] = total_mb;
        table->columns[average].floats[row] = total_mb / (double)p->count;
        table->columns[count].ints[row] = p->count;
    }
    gt_table_sort(table, by_pair, 2);
    return table;
}

gt_table *gt_collective_all2allv_heatmap(const gt_table *events, int64_t world_size)
{
    heatmap map = {0};
    if (world_size > RANKS_MAX) {
        gt_warn("all_to_allv heat map omitted: %lld ranks, at most %d are supported", (long long)world_size,
                RANKS_MAX);
        return to_table(&map, events->strings);
    }
    if (world_size > RANKS_MANY)
        gt_warn("the all_to_allv heat map has up to %lld rows", (long long)(world_size * world_size));
    gt_int_list splits = {0}, group = {0};
    size_t unusable = 0;
    for (size_t row = 0; row < events->row_count; row++)
        if (gt_collective_type_of(string_at(events, GT_COL_COLLECTIVE_NAME, row).bytes) ==
            GT_COLLECTIVE_ALLTOALLV)
            unusable += !add_event(&map, events, row, &splits, &group);
    if (unusable)
        gt_warn(
            "all_to_allv kernels missing from the heat map: %zu; their split sizes are missing, truncated "
            "or do not match the group, or their dtype is unknown",
            unusable);
    gt_table *table = to_table(&map, events->strings);
    gt_int_list_free(&splits);
    gt_int_list_free(&group);
    gt_map_free(&map.indices);
    gt_free(map.pairs);
    return table;
}
