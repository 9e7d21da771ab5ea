/* nccl_long: the communication kernels of all ranks, with the metadata that PyTorch records for them.
 *
 *     Process Group Name     "Unknown_Group" if the kernel does not say; "all" if no kernel says and
 *                            each rank has only one stream
 *     index_in_group         number of the kernel, by start, among those of its rank and group, from 0
 *     collective_id          group and index: the same for all kernels of one collective (sheets.h)
 *     In, Out msg size (MB)  elements * bytes of the dtype / 1024^2; empty for dtypes that are not in
 *                            the table below
 *
 * As in pandas, a number column with an empty cell is FLOAT. */
#include "analysis/collective/internal.h"

#include "analysis/pytorch/event_columns.h"
#include "compat/python_literal.h"
#include "schema/columns.h"
#include "trace/pytorch/event_rows.h"

static const struct {
    const char *dtype;
    int bytes;
} dtype_sizes[] = {
    {"Float", 4}, {"Int", 4},    {"Long", 8}, {"BFloat16", 2}, {"Bool", 1},
    {"Byte", 1},  {"Double", 8}, {"Half", 2}, {"Short", 2},
};

/* Columns that come from the store. JSON strings are read after the tables of all ranks have been joined. */
static const struct {
    gt_col name;
    size_t event_column;
    enum {
        INT,
        STRING,
        JSON_AS_STRING, /* always a string: "[0, 1]", "5" */
        JSON            /* a number column if all values are numbers */
    } kind;
} metadata[] = {
    {GT_COL_PROCESS_GROUP_NAME, GT_EVENT_GROUP_NAME, JSON_AS_STRING},
    {GT_COL_PROCESS_GROUP_RANKS, GT_EVENT_GROUP_RANKS, JSON_AS_STRING},
    {GT_COL_COLLECTIVE_NAME, GT_EVENT_COLLECTIVE, STRING},
    {GT_COL_GROUP_SIZE, GT_EVENT_GROUP_SIZE, INT},
    {GT_COL_DTYPE, GT_EVENT_DTYPE, STRING},
    {GT_COL_IN_MSG_NELEMS, GT_EVENT_IN_ELEMENTS, INT},
    {GT_COL_OUT_MSG_NELEMS, GT_EVENT_OUT_ELEMENTS, INT},
    {GT_COL_IN_SPLIT_SIZE, GT_EVENT_IN_SPLIT, JSON_AS_STRING},
    {GT_COL_OUT_SPLIT_SIZE, GT_EVENT_OUT_SPLIT, JSON_AS_STRING},
    {GT_COL_STREAM, GT_EVENT_STREAM, JSON},
};

static const gt_col long_columns[] = {
    GT_COL_COLLECTIVE_ID,
    GT_COL_INDEX_IN_GROUP,
    GT_COL_RANK,
    GT_COL_PROCESS_GROUP_NAME,
    GT_COL_PROCESS_GROUP_RANKS,
    GT_COL_COLLECTIVE_NAME,
    GT_COL_GROUP_SIZE,
    GT_COL_DTYPE,
    GT_COL_IN_MSG_NELEMS,
    GT_COL_IN_MSG_SIZE_MB,
    GT_COL_OUT_MSG_NELEMS,
    GT_COL_OUT_MSG_SIZE_MB,
    GT_COL_IN_SPLIT_SIZE,
    GT_COL_OUT_SPLIT_SIZE,
    GT_COL_STREAM,
    GT_COL_TS,
    GT_COL_DUR,
};

static const gt_col summary_keys[] = {
    GT_COL_RANK,
    GT_COL_PROCESS_GROUP_NAME,
    GT_COL_PROCESS_GROUP_RANKS,
    GT_COL_COLLECTIVE_NAME,
    GT_COL_GROUP_SIZE,
    GT_COL_DTYPE,
    GT_COL_IN_MSG_NELEMS,
    GT_COL_OUT_MSG_NELEMS,
    GT_COL_IN_SPLIT_SIZE,
    GT_COL_OUT_SPLIT_SIZE,
    GT_COL_STREAM,
};

static const gt_aggregate summary_aggregates[] = {
    GT_AGGREGATE(IN_MSG_SIZE_MB, FIRST),
    GT_AGGREGATE(OUT_MSG_SIZE_MB, FIRST),
    GT_AGGREGATE(DUR, SUM),
    GT_AGGREGATE(DUR, MEAN),
    GT_AGGREGATE(DUR, STD),
    GT_AGGREGATE(DUR, MIN),
    GT_AGGREGATE(DUR, MAX),
    {GT_COL_COLLECTIVE_ID, GT_GROUP_COUNT, GT_COL_OPERATION_COUNT},
};

/* ---- the kernels of one rank ---- */

/* Only kernels that are linked to the host. */
uint32_t *gt_collectives_find(const gt_event_view *trace, size_t *count)
{
    uint8_t *is_communication =
        gt_alloc_zero(gt_interner_count(trace->strings), 1); /* by name: 1 no, 2 yes */
    size_t kernels;
    uint32_t *rows = gt_rows_of_kinds(trace->kind, trace->count, 1u << GT_KIND_KERNEL, &kernels);
    *count = 0;
    for (size_t i = 0; i < kernels; i++) {
        uint8_t *is = &is_communication[trace->name[rows[i]]];
        if (!*is) *is = gt_event_communicates(trace, rows[i]) ? 2 : 1;
        if (*is == 2) rows[(*count)++] = rows[i];
    }
    gt_free(is_communication);
    if (!*count) return rows;

    int64_t *correlations = gt_store_ints(trace->store, GT_EVENT_CORRELATION);
    int64_t *external_ids = gt_store_ints(trace->store, GT_EVENT_EXTERNAL_ID);
    size_t linked = 0;
    for (size_t i = 0; i < *count; i++) {
        uint32_t row = rows[i];
        if (correlations[row] != GT_EVENT_NONE || external_ids[row] != GT_EVENT_NONE) rows[linked++] = row;
    }
    gt_free_all(correlations, external_ids);
    *count = linked;
    return rows;
}

/* The row of the store from which row i of the table is made; without `rows`, all rows are used. */
static size_t row_at(const uint32_t *rows, size_t i)
{
    return rows ? rows[i] : i;
}

static void add_ints(gt_table *table, gt_col name, const gt_store *store, size_t event_column,
                     const uint32_t *rows)
{
    size_t added = gt_table_add_column(table, name, GT_TYPE_INT);
    if (!table->row_count) return; /* most traces have no collectives: unpack nothing */
    int64_t *values = gt_store_ints(store, event_column);
    for (size_t i = 0; i < table->row_count; i++)
        if (values[row_at(rows, i)] != GT_EVENT_NONE)
            gt_table_set_int(table, added, i, values[row_at(rows, i)]);
    gt_free(values);
}

static void add_strings(gt_table *table, gt_col name, const gt_store *store, size_t event_column,
                        const uint32_t *rows)
{
    size_t added = gt_table_add_column(table, name, GT_TYPE_STRING);
    if (!table->row_count) return;
    uint32_t *ids = gt_store_string_ids(store, event_column);
    for (size_t i = 0; i < table->row_count; i++) table->columns[added].texts[i] = ids[row_at(rows, i)];
    gt_free(ids);
}

/* As integers if the trace has all of them as integers. */
static void add_times(gt_table *table, gt_col name, const double *times, const uint8_t *integral,
                      uint8_t integral_bit, const uint32_t *rows)
{
    if (!table->row_count) {
        gt_table_add_column(table, name, GT_TYPE_INT);
        return;
    }
    bool whole = true;
    for (size_t i = 0; i < table->row_count && whole; i++)
        whole = (integral[row_at(rows, i)] & integral_bit) && fabs(times[row_at(rows, i)]) < 0x1p53;
    size_t added = gt_table_add_zeroed(table, name, whole ? GT_TYPE_INT : GT_TYPE_FLOAT);
    for (size_t i = 0; i < table->row_count; i++) {
        double time = times[row_at(rows, i)];
        if (whole)
            table->columns[added].ints[i] = (int64_t)time;
        else
            table->columns[added].floats[i] = time;
    }
}

static void add_both_times(gt_table *table, const double *start_us, const double *dur_us,
                           const uint8_t *integral, const uint32_t *rows)
{
    add_times(table, GT_COL_TS, start_us, integral, GT_INTEGRAL_START, rows);
    add_times(table, GT_COL_DUR, dur_us, integral, GT_INTEGRAL_DURATION, rows);
}

/* Kernels without a collective name get one from the kernel name, if it says what it does. */
static void name_collectives(gt_table *table, const gt_event_view *trace, const uint32_t *rows)
{
    size_t column = gt_table_find(table, GT_COL_COLLECTIVE_NAME);
    for (size_t i = 0; i < table->row_count; i++) {
        if (!gt_column_is_null(&table->columns[column], i)) continue;
        const char *name = gt_collective_of_kernel(gt_event_name(trace, rows[i]));
        if (name) gt_table_set_cstr(table, column, i, name);
    }
}

int gt_collective_dtype_bytes(const char *dtype)
{
    for (size_t i = 0; i < GT_LENGTH(dtype_sizes); i++)
        if (strcmp(dtype, dtype_sizes[i].dtype) == 0) return dtype_sizes[i].bytes;
    return 0;
}

static void add_sizes(gt_table *table)
{
    size_t in = gt_table_find(table, GT_COL_IN_MSG_NELEMS), out = gt_table_find(table, GT_COL_OUT_MSG_NELEMS);
    size_t dtype = gt_table_find(table, GT_COL_DTYPE);
    size_t in_size = gt_table_add_column(table, GT_COL_IN_MSG_SIZE_MB, GT_TYPE_FLOAT);
    size_t out_size = gt_table_add_column(table, GT_COL_OUT_MSG_SIZE_MB, GT_TYPE_FLOAT);
    const gt_column *columns = table->columns;
    for (size_t row = 0; row < table->row_count; row++) {
        int bytes =
            gt_collective_dtype_bytes(gt_interner_get(table->strings, columns[dtype].texts[row]).bytes);
        if (!bytes || gt_column_is_null(&columns[in], row)) continue;
        columns[in_size].floats[row] = (double)columns[in].ints[row] * bytes / 1048576.0;
        if (!gt_column_is_null(&columns[out], row))
            columns[out_size].floats[row] = (double)columns[out].ints[row] * bytes / 1048576.0;
    }
}

/* The columns that can be made from the store alone, except for the times. */
static gt_table *table_from_store(const gt_store *store, const uint32_t *rows, size_t count, int64_t rank)
{
    gt_table *table = gt_table_new(GT_SHEET_NCCL_LONG, gt_store_strings(store));
    gt_table_add_rows(table, count);
    size_t rank_column = gt_table_add_zeroed(table, GT_COL_RANK, GT_TYPE_INT);
    for (size_t i = 0; i < count; i++) table->columns[rank_column].ints[i] = rank;
    for (size_t i = 0; i < GT_LENGTH(metadata); i++) {
        if (metadata[i].kind == INT)
            add_ints(table, metadata[i].name, store, metadata[i].event_column, rows);
        else
            add_strings(table, metadata[i].name, store, metadata[i].event_column, rows);
    }
    return table;
}

gt_table *gt_collectives_of_rank(const gt_event_view *trace, int64_t rank)
{
    size_t count;
    uint32_t *rows = gt_collectives_find(trace, &count);
    gt_table *table = table_from_store(trace->store, rows, count, rank);
    add_both_times(table, trace->start_us, trace->dur_us, trace->integral, rows);
    name_collectives(table, trace, rows);
    add_sizes(table);
    gt_free(rows);
    return table;
}

gt_table *gt_collectives_of_store(const gt_store *store, int64_t rank)
{
    gt_table *table = table_from_store(store, NULL, gt_store_count(store), rank);
    double *start_us = gt_store_times(store, GT_EVENT_START),
           *dur_us = gt_store_times(store, GT_EVENT_DURATION);
    uint8_t *integral = gt_store_small_ints(store, GT_EVENT_INTEGRAL);
    add_both_times(table, start_us, dur_us, integral, NULL);
    gt_free_all(start_us, dur_us, integral);
    add_sizes(table);
    return table;
}

/* ---- loaded rows ---- */

static bool is_plain(const gt_column *column, gt_col name, gt_type type)
{
    return gt_column_is(column, name) && column->type == type && !column->shown && !column->widened &&
           !column->hidden && !column->over && !column->under;
}

/* A finite number in each row. */
static bool are_times(const gt_column *column, gt_col name, size_t rows)
{
    bool whole = column->type == GT_TYPE_INT;
    if (!is_plain(column, name, whole ? GT_TYPE_INT : GT_TYPE_FLOAT) || gt_column_has_nulls(column, rows))
        return false;
    for (size_t row = 0; row < rows; row++) {
        double time = gt_column_number(column, row);
        if (!isfinite(time) || (whole && fabs(time) >= 0x1p53)) return false;
    }
    return true;
}

bool gt_collectives_are_sound(const gt_table *rows, int64_t rank)
{
    enum { FIRST = 1, TS = FIRST + GT_LENGTH(metadata), DUR, IN_SIZE, OUT_SIZE, COLUMNS };
    const gt_column *columns = rows->columns;
    size_t count = rows->row_count;
    if (!gt_table_is(rows, GT_SHEET_NCCL_LONG) || rows->is_foreign || rows->column_count != COLUMNS ||
        !is_plain(&columns[0], GT_COL_RANK, GT_TYPE_INT) || gt_column_has_nulls(&columns[0], count))
        return false;
    for (size_t row = 0; row < count; row++)
        if (columns[0].ints[row] != rank) return false;
    for (size_t i = 0; i < GT_LENGTH(metadata); i++)
        if (!is_plain(&columns[FIRST + i], metadata[i].name,
                      metadata[i].kind == INT ? GT_TYPE_INT : GT_TYPE_STRING))
            return false;
    if (!are_times(&columns[TS], GT_COL_TS, count) || !are_times(&columns[DUR], GT_COL_DUR, count) ||
        !is_plain(&columns[IN_SIZE], GT_COL_IN_MSG_SIZE_MB, GT_TYPE_FLOAT) ||
        !is_plain(&columns[OUT_SIZE], GT_COL_OUT_MSG_SIZE_MB, GT_TYPE_FLOAT))
        return false;
    for (size_t row = 0; row < count; row++)
        if (!isfinite(gt_column_number(&columns[TS], row) + gt_column_number(&columns[DUR], row)))
            return false;
    return true;
}

/* ---- all ranks together ---- */

static void name_groups(gt_table *table, bool by_order_alone)
{
    uint32_t *groups = gt_table_column(table, GT_COL_PROCESS_GROUP_NAME)->texts;
    uint32_t unknown = gt_interner_add_cstr(table->strings, "Unknown_Group");
    uint32_t all = gt_interner_add_cstr(table->strings, "all");
    for (size_t row = 0; row < table->row_count; row++) {
        if (by_order_alone)
            groups[row] = all;
        else if (groups[row] == GT_STR_NONE)
            groups[row] = unknown;
    }
}

static void number_in_groups(gt_table *table, bool by_order_alone, const int64_t *steps,
                             gt_collective_unlike *unlike)
{
    static const gt_col keys[] = {GT_COL_PROCESS_GROUP_NAME, GT_COL_RANK};
    size_t id = gt_table_add_column(table, GT_COL_COLLECTIVE_ID, GT_TYPE_STRING);
    size_t index = gt_table_add_zeroed(table, GT_COL_INDEX_IN_GROUP, GT_TYPE_INT);
    const uint32_t *names = gt_table_column(table, GT_COL_PROCESS_GROUP_NAME)->texts;
    gt_groups groups = gt_groups_find(table, keys, GT_LENGTH(keys), (gt_group_options){0});
    int64_t *next = gt_alloc_zero(groups.count, sizeof *next);
    uint32_t *by_start = gt_order_new(table->row_count);
    gt_order_by_column(by_start, table->row_count, gt_table_column(table, GT_COL_TS), table->strings, false);
    gt_collective_shifts found = {0};
    if (steps) found = gt_collective_shifts_find(table, &groups, by_start, steps, unlike);
    for (size_t i = 0; found.shifts && i < groups.count; i++) next[i] = found.shifts[i];
    gt_buffer unique = {0};
    uint32_t last_name = GT_STR_NONE, last_id = GT_STR_NONE;
    int64_t last_number = -1;
    for (size_t i = 0; i < table->row_count; i++) {
        uint32_t row = by_start[i];
        if (found.skips) next[groups.of_row[row]] += found.skips[row];
        int64_t number = next[groups.of_row[row]]++;
        table->columns[index].ints[row] = number;
        if (names[row] != last_name || number != last_number) { /* mostly another rank of the same one */
            unique.len = 0;
            if (!by_order_alone) {
                gt_buffer_add_cstr(&unique, gt_interner_get(table->strings, names[row]).bytes);
                gt_buffer_add_cstr(&unique, "_");
            }
            gt_buffer_add_int(&unique, number);
            last_id = gt_interner_add(table->strings, unique.bytes, unique.len);
            last_name = names[row];
            last_number = number;
        }
        table->columns[id].texts[row] = last_id;
    }
    gt_free_all(found.shifts, found.skips);
    gt_buffer_free(&unique);
    gt_free_all(by_start, next);
    gt_groups_free(&groups);
}

static void read_json(gt_table *table)
{
    gt_python_literals *literals = gt_python_literals_new(table->strings, GT_PYTHON_TUPLES);
    for (size_t i = 0; i < GT_LENGTH(metadata); i++) {
        if (metadata[i].kind == JSON) gt_table_read_json(table, metadata[i].name);
        if (metadata[i].kind != JSON_AS_STRING) continue;
        uint32_t *ids = gt_table_column(table, metadata[i].name)->texts;
        for (size_t row = 0; row < table->row_count; row++)
            ids[row] = gt_python_literals_of(literals, ids[row]);
    }
    gt_python_literals_free(literals);
}

bool gt_collectives_number(gt_table *rows)
{
    return gt_collectives_number_by_steps(rows, NULL, NULL);
}

bool gt_collectives_number_by_steps(gt_table *rows, const int64_t *steps, gt_collective_unlike *unlike)
{
    if (!rows->row_count) {
        gt_table_select(rows, NULL, 0);
        return false;
    }
    bool one_stream = gt_ranks_have_one_stream(rows);
    gt_collectives_separate_groups(rows);
    read_json(rows);
    bool by_order_alone = one_stream && gt_all_groups_unknown(rows);
    name_groups(rows, by_order_alone);
    number_in_groups(rows, by_order_alone, steps, unlike);
    gt_table_widen_ints(rows);
    gt_col columns[GT_LENGTH(long_columns) + 1];
    size_t count = GT_LENGTH(long_columns);
    for (size_t i = 0; i < count; i++) columns[i] = long_columns[i];
    if (gt_table_find(rows, GT_COL_CLOCK_OFFSET_US) != SIZE_MAX) columns[count++] = GT_COL_CLOCK_OFFSET_US;
    gt_table_select(rows, columns, count);
    return by_order_alone;
}

gt_table *gt_collectives_summary(const gt_table *long_table)
{
    static const gt_sort_key longest_first[] = {{GT_COL_DUR_SUM, true}};
    if (!long_table->row_count) return gt_table_new(GT_SHEET_NCCL_SUMMARY_LONG, long_table->strings);
    gt_table *summary = gt_table_group(long_table, summary_keys, GT_LENGTH(summary_keys), summary_aggregates,
                                       GT_LENGTH(summary_aggregates), (gt_group_options){.sorted = true});
    gt_table_rename(summary, GT_SHEET_NCCL_SUMMARY_LONG);
    gt_table_sort(summary, longest_first, GT_LENGTH(longest_first));
    return summary;
}

gt_table *gt_coll_analysis(const gt_event_view *trace)
{
    gt_table *rows = gt_collectives_of_rank(trace, 0);
    gt_collectives_number(rows);
    gt_table *summary = gt_collectives_summary(rows);
    gt_table_rename(summary, GT_SHEET_COLL_ANALYSIS);
    gt_table_free(rows);
    return summary;
}

/* ---- lists of integers in strings ---- */

static bool is_int_list(gt_str string)
{
    if (string.len < 2) return false;
    char open = string.bytes[0], close = string.bytes[string.len - 1];
    return ((open == '[' && close == ']') || (open == '(' && close == ')')) &&
           strspn(string.bytes + 1, "0123456789, ") == string.len - 2;
}

void gt_int_list_read(gt_int_list *list, gt_str string)
{
    list->count = 0;
    list->truncated = gt_str_contains(string, "...");
    list->is_list = is_int_list(string);
    for (size_t at = 0; at < string.len;) {
        if (!isdigit((unsigned char)string.bytes[at])) {
            at++;
            continue;
        }
        int64_t value = 0;
        for (; at < string.len && isdigit((unsigned char)string.bytes[at]); at++)
            if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, string.bytes[at] - '0', &value))
                value = INT64_MAX;
        GT_PUSH(list->items, list->count, list->capacity, value);
    }
}

double gt_collective_split_elements(const gt_int_list *splits, double elements)
{
    double sum = 0;
    for (size_t i = 0; i < splits->count; i++) sum += (double)splits->items[i];
    return sum > 0 && elements > 0 && fmod(elements, sum) == 0 ? elements / sum : 1;
}

void gt_int_list_free(gt_int_list *list)
{
    gt_free(list->items);
    *list = (gt_int_list){0};
}

/* ---- nodes ----
 *
 * node_id is rank / gpus_per_node. node_span is intra_node if all ranks of the group have the same node_id,
 * otherwise inter_node; "unknown" if the group's ranks are unknown. PyTorch truncates long lists of ranks: if
 * the listed ranks are on one node, the group is still inter_node if it is larger than a node. */

static void add_node_ids(gt_table *table, int64_t gpus_per_node, int64_t world_size)
{
    size_t ranks = gt_table_find(table, GT_COL_RANK);
    if (ranks == SIZE_MAX) return;
    size_t nodes = gt_table_add_column(table, GT_COL_NODE_ID, GT_TYPE_INT);
    for (size_t row = 0; row < table->row_count; row++) {
        int64_t rank = table->columns[ranks].ints[row];
        if (rank < world_size) gt_table_set_int(table, nodes, row, rank / gpus_per_node);
    }
}

static const char *span_of(const gt_int_list *ranks, double group_size, int64_t gpus_per_node)
{
    if (!ranks->count) return "unknown";
    for (size_t i = 1; i < ranks->count; i++)
        if (ranks->items[i] / gpus_per_node != ranks->items[0] / gpus_per_node) return "inter_node";
    return ranks->truncated && group_size > (double)gpus_per_node ? "inter_node" : "intra_node";
}

static void add_node_spans(gt_table *table, int64_t gpus_per_node)
{
    size_t lists = gt_table_find(table, GT_COL_PROCESS_GROUP_RANKS),
           sizes = gt_table_find(table, GT_COL_GROUP_SIZE);
    if (lists == SIZE_MAX) return;
    size_t spans = gt_table_add_column(table, GT_COL_NODE_SPAN, GT_TYPE_STRING);
    gt_int_list ranks = {0};
    for (size_t row = 0; row < table->row_count; row++) {
        uint32_t list = table->columns[lists].texts[row];
        if (!row || list != table->columns[lists].texts[row - 1])
            gt_int_list_read(&ranks, gt_interner_get(table->strings, list));
        double size = sizes == SIZE_MAX ? (double)NAN : gt_column_number(&table->columns[sizes], row);
        gt_table_set_cstr(table, spans, row, span_of(&ranks, size, gpus_per_node));
    }
    gt_int_list_free(&ranks);
}

void gt_collective_add_nodes(gt_table *table, int64_t gpus_per_node, int64_t world_size)
{
    if (!table->row_count) return;
    add_node_ids(table, gpus_per_node, world_size);
    add_node_spans(table, gpus_per_node);
    gt_table_widen_ints(table);
}
