/* Two short views of a diff: parts and differences for the terminal, and columns for unified_perf_summary.
 *
 * Both start from diff_stats. The columns go from a kernel to the row of the sheet that counts its op, and
 * from there to all common calls of the row's kernels. */
#include "analysis/diff/internal.h"

enum { SAME, REPLACED, BELOW, ALONE, NOT_COMPARED, PARTS };
static const char *const part_names[PARTS] = {
    [SAME] = "the same kernel in both traces",
    [REPLACED] = "another kernel in its place",
    [BELOW] = "other calls below the same one",
    [ALONE] = "in this trace alone",
    [NOT_COMPARED] = "not compared (under no op, or a memset)",
};

/* ---- parts ---- */

static size_t part_of(const gt_diff_tree *tree, uint32_t node, const gt_map *sources)
{
    if (node == GT_NO_EVENT || gt_map_get(sources, node, 0) == GT_MAP_NONE ||
        gt_map_get(sources, node, 1) == GT_MAP_NONE)
        return ALONE;
    const gt_diff_node *n = &tree->nodes[node];
    for (size_t side = 0; side < 2; side++)
        if (!gt_kind_is_gpu(tree->sides[side]->trace->kind[n->rows[side]])) return BELOW;
    gt_str first = gt_event_name(&tree->sides[0]->trace->events, n->rows[0]);
    gt_str second = gt_event_name(&tree->sides[1]->trace->events, n->rows[1]);
    return gt_str_compare(first, second) == 0 ? SAME : REPLACED;
}

static double all_gpu_us(const gt_linked_view *trace)
{
    double sum_us = 0;
    for (size_t row = 0; row < trace->count; row++)
        if (gt_kind_is_gpu(trace->kind[row])) sum_us += trace->dur_us[row];
    return sum_us;
}

static void sum_parts(const gt_diff_tree *tree, const gt_diff_stats *stats, double parts_us[2][PARTS])
{
    if (!stats->table->row_count) return;
    const gt_column *ids = gt_table_column(stats->table, GT_COL_LOWEST_COMMON_ANCESTOR_ID);
    const gt_column *times = gt_table_column(stats->table, GT_COL_KERNEL_TIME);
    gt_map sources = {0}; /* (node, side): the node has GPU events of that side */
    for (size_t row = 0; row < stats->table->row_count; row++)
        *gt_map_put(&sources, gt_diff_node_at(ids, row), stats->sides[row]) = 1;
    for (size_t row = 0; row < stats->table->row_count; row++)
        parts_us[stats->sides[row]][part_of(tree, gt_diff_node_at(ids, row), &sources)] +=
            gt_column_number(times, row);
    gt_map_free(&sources);
}

gt_table *gt_diff_parts(const gt_diff_tree *tree, const gt_diff_stats *stats)
{
    double parts_us[2][PARTS] = {{0}, {0}};
    sum_parts(tree, stats, parts_us);
    gt_table *table = gt_table_new(GT_SHEET_PARTS, stats->table->strings);
    size_t part = gt_table_add_column(table, GT_COL_PART, GT_TYPE_STRING);
    for (size_t i = 0; i < PARTS; i++) gt_table_set_cstr(table, part, gt_table_add_row(table), part_names[i]);
    static const gt_col names[2][2] = {{GT_COL_TRACE1_MS, GT_COL_TRACE1_PERCENT},
                                       {GT_COL_TRACE2_MS, GT_COL_TRACE2_PERCENT}};
    for (size_t side = 0; side < 2; side++) {
        double all_us = all_gpu_us(tree->sides[side]->trace), rest_us = all_us;
        for (size_t i = 0; i < NOT_COMPARED; i++) rest_us -= parts_us[side][i];
        parts_us[side][NOT_COMPARED] = fabs(rest_us) < 1e-9 * all_us ? 0.0 : rest_us;
        size_t ms = gt_table_add_column(table, names[side][0], GT_TYPE_FLOAT);
        size_t percent = gt_table_add_column(table, names[side][1], GT_TYPE_FLOAT);
        for (size_t i = 0; i < PARTS; i++) {
            gt_table_set_float(table, ms, i, parts_us[side][i] / 1000.0);
            gt_table_set_float(table, percent, i, all_us > 0 ? 100.0 * parts_us[side][i] / all_us : 0.0);
        }
    }
    return table;
}

/* ---- differences ---- */

typedef struct difference {
    uint32_t name;
    int64_t calls;
    double busy_us[2];
} difference;

typedef struct differences {
    difference *items;
    size_t count, capacity;
} differences;

static int by_size(const void *left, const void *right)
{
    const difference *a = left, *b = right;
    double first = fabs(a->busy_us[1] - a->busy_us[0]), second = fabs(b->busy_us[1] - b->busy_us[0]);
    if (first != second) return first > second ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

/* Counts the busy time of a common call once per trace. */
static differences sum_by_name(const gt_diff_stats *stats)
{
    const gt_column *ids = gt_table_column(stats->table, GT_COL_LOWEST_COMMON_ANCESTOR_ID);
    const gt_column *busy = gt_table_column(stats->table, GT_COL_BUSY_TIME);
    const uint32_t *names = gt_table_column(stats->table, GT_COL_LOWEST_COMMON_ANCESTOR_NAME)->texts;
    differences list = {0};
    gt_map places = {0}, seen = {0}; /* from a name to its index; from (node, side or 2) to 1 */
    for (size_t row = 0; row < stats->table->row_count; row++) {
        uint32_t node = gt_diff_node_at(ids, row), *place = gt_map_put(&places, names[row], 0);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)list.count;
            GT_PUSH(list.items, list.count, list.capacity, ((difference){.name = names[row]}));
        }
        difference *d = &list.items[*place];
        if (node == GT_NO_EVENT) { /* each kernel counts by itself */
            d->busy_us[stats->sides[row]] +=
                gt_column_number(gt_table_column(stats->table, GT_COL_KERNEL_TIME), row);
            d->calls++;
            continue;
        }
        uint32_t *known = gt_map_put(&seen, node, stats->sides[row]);
        if (*known == GT_MAP_NONE) d->busy_us[stats->sides[row]] += gt_column_number(busy, row);
        *known = 1;
        known = gt_map_put(&seen, node, 2);
        if (*known == GT_MAP_NONE) d->calls++;
        *known = 1;
    }
    gt_map_free(&places);
    gt_map_free(&seen);
    return list;
}

gt_table *gt_diff_differences(const gt_diff_stats *stats)
{
    differences list = sum_by_name(stats);
    qsort(list.items, list.count, sizeof *list.items, by_size);
    gt_table *table = gt_table_new(GT_SHEET_DIFFERENCES, stats->table->strings);
    size_t call = gt_table_add_column(table, GT_COL_CALL, GT_TYPE_STRING);
    size_t count = gt_table_add_column(table, GT_COL_COUNT, GT_TYPE_INT);
    size_t first = gt_table_add_column(table, GT_COL_TRACE1_MS, GT_TYPE_FLOAT);
    size_t second = gt_table_add_column(table, GT_COL_TRACE2_MS, GT_TYPE_FLOAT);
    size_t change = gt_table_add_column(table, GT_COL_DIFFERENCE_MS, GT_TYPE_FLOAT);
    for (size_t i = 0; i < list.count; i++) {
        const difference *d = &list.items[i];
        size_t row = gt_table_add_row(table);
        if (d->name == GT_STR_NONE)
            gt_table_set_cstr(table, call, row, "(no common call)");
        else
            gt_table_set_string(table, call, row, d->name);
        gt_table_set_int(table, count, row, d->calls);
        gt_table_set_float(table, first, row, d->busy_us[0] / 1000.0);
        gt_table_set_float(table, second, row, d->busy_us[1] / 1000.0);
        gt_table_set_float(table, change, row, (d->busy_us[1] - d->busy_us[0]) / 1000.0);
    }
    gt_free(list.items);
    return table;
}

/* ---- columns for unified_perf_summary ---- */

/* The keys by which an op belongs to a row. If several rows have the same keys, the last one is used. */
static const gt_col keys[] = {
    GT_COL_NAME,       GT_COL_OP_CATEGORY, GT_COL_PROCESS_NAME,  GT_COL_PROCESS_LABEL,   GT_COL_THREAD_NAME,
    GT_COL_INPUT_DIMS, GT_COL_INPUT_TYPE,  GT_COL_INPUT_STRIDES, GT_COL_CONCRETE_INPUTS,
};

/* What is collected for a row of the sheet. */
typedef struct collected {
    gt_buffer ids, names;
    double first_us, second_us;
    double with_second;
    uint32_t last_call; /* GT_NO_EVENT: none yet */
} collected;

static uint32_t key_of(const gt_table *table, size_t row, gt_interner *interned)
{
    uint32_t ids[GT_LENGTH(keys)] = {0};
    for (size_t k = 0; k < GT_LENGTH(keys); k++) {
        size_t column = gt_table_find(table, keys[k]);
        if (column != SIZE_MAX) ids[k] = table->columns[column].texts[row];
    }
    return gt_interner_add(interned, ids, sizeof ids);
}

/* From a GPU event to the row of the sheet that counts it. */
static gt_map rows_of_kernels(const gt_table *sheet, gt_unified *unified)
{
    gt_unified_ops ops = gt_unified_ops_of(unified);
    gt_interner *interned = gt_interner_new();
    gt_map row_of_key = {0}, row_of_kernel = {0};
    for (uint32_t row = 0; row < sheet->row_count; row++)
        *gt_map_put(&row_of_key, key_of(sheet, row, interned), 0) = row;
    for (size_t op = 0, begin = 0; op < ops.table->row_count; begin = ops.gpu_ends[op++]) {
        uint32_t row = gt_map_get(&row_of_key, key_of(ops.table, op, interned), 0);
        for (size_t k = begin; row != GT_MAP_NONE && k < ops.gpu_ends[op]; k++)
            *gt_map_put(&row_of_kernel, ops.gpu_rows[k], 0) = row;
    }
    gt_map_free(&row_of_key);
    gt_interner_free(interned);
    return row_of_kernel;
}

/* From a common call to the first row of trace2 under it. */
static gt_map first_rows_of_second(const gt_diff_stats *stats, const gt_column *ids)
{
    gt_map first = {0};
    for (uint32_t row = 0; row < stats->table->row_count; row++) {
        if (stats->sides[row] == 0 || gt_column_is_null(ids, row)) continue;
        uint32_t *at = gt_map_put(&first, (uint64_t)gt_column_number(ids, row), 0);
        if (*at == GT_MAP_NONE) *at = row;
    }
    return first;
}

static void add_part(gt_buffer *buffer, const char *bytes, size_t len)
{
    if (buffer->len) gt_buffer_add_cstr(buffer, "; ");
    gt_buffer_add(buffer, bytes, len);
}

static void add_id(gt_buffer *buffer, const gt_column *ids, size_t row)
{
    char digits[GT_NUMBER_MAX];
    size_t len = ids->type == GT_TYPE_INT ? gt_print_int(digits, ids->ints[row])
                                          : gt_print_double(digits, ids->floats[row]);
    add_part(buffer, digits, len);
}

/* The rows of trace1 that have a common call, sorted by its number. */
static uint32_t *rows_by_call(const gt_diff_stats *stats, const gt_column *ids, size_t *count)
{
    uint32_t *rows = gt_alloc(stats->table->row_count * sizeof *rows);
    *count = 0;
    for (uint32_t row = 0; row < stats->table->row_count; row++)
        if (stats->sides[row] == 0 && !gt_column_is_null(ids, row)) rows[(*count)++] = row;
    gt_order_by_column(rows, *count, ids, stats->table->strings, false);
    return rows;
}

static bool collect(collected *all, const gt_diff_stats *stats, const gt_map *row_of_kernel)
{
    const gt_column *ids = gt_table_column(stats->table, GT_COL_LOWEST_COMMON_ANCESTOR_ID);
    const gt_column *busy = gt_table_column(stats->table, GT_COL_BUSY_TIME);
    const uint32_t *names = gt_table_column(stats->table, GT_COL_LOWEST_COMMON_ANCESTOR_NAME)->texts;
    gt_map second_at = first_rows_of_second(stats, ids);
    size_t count;
    uint32_t *rows = rows_by_call(stats, ids, &count);
    bool any = false;
    for (size_t i = 0, first = 0; i < count; i++) {
        if (gt_column_number(ids, rows[i]) != gt_column_number(ids, rows[first])) first = i;
        uint32_t to = gt_map_get(row_of_kernel, stats->gpu_rows[rows[i]], 0),
                 call = (uint32_t)gt_column_number(ids, rows[i]);
        if (to == GT_MAP_NONE || all[to].last_call == call) continue;
        collected *c = &all[to];
        uint32_t second = gt_map_get(&second_at, call, 0);
        gt_str name = gt_interner_get(stats->table->strings, names[rows[first]]);
        c->last_call = call;
        add_id(&c->ids, ids, rows[i]);
        if (name.len) add_part(&c->names, name.bytes, name.len);
        c->first_us += gt_column_number(busy, rows[first]);
        if (second != GT_MAP_NONE) {
            c->second_us += gt_column_number(busy, second);
            c->with_second++;
        }
        any = true;
    }
    gt_map_free(&second_at);
    gt_free(rows);
    return any;
}

enum { RATIO, DELTA, COUNT, IDS, NAMES, FIRST_US, SECOND_US, COLUMNS };
static const gt_column_head added[COLUMNS] = {
    [RATIO] = {GT_COL_SPEEDUP_TRACE2_PER_TRACE1, GT_TYPE_FLOAT},
    [DELTA] = {GT_COL_DELTA_US_TRACE2_TRACE1, GT_TYPE_FLOAT},
    [COUNT] = {GT_COL_LCA_COUNT_TRACE2, GT_TYPE_FLOAT},
    [IDS] = {GT_COL_LCA_ID, GT_TYPE_STRING},
    [NAMES] = {GT_COL_LCA_NAME, GT_TYPE_STRING},
    [FIRST_US] = {GT_COL_LCA_TOTAL_KERNEL_TIME_TRACE1_US, GT_TYPE_FLOAT},
    [SECOND_US] = {GT_COL_LCA_TOTAL_KERNEL_TIME_TRACE2_US, GT_TYPE_FLOAT},
};

static uint32_t intern(gt_table *sheet, gt_buffer *buffer)
{
    gt_str text = gt_buffer_str(buffer);
    return gt_interner_add(sheet->strings, text.bytes, text.len);
}

static void fill_row(gt_table *sheet, size_t first, size_t row, collected *c)
{
    if (c->last_call == GT_NO_EVENT) return;
    double own_us = gt_column_number(gt_table_column(sheet, GT_COL_KERNEL_TIME_US_SUM), row);
    gt_table_set_float(sheet, first + RATIO, row,
                       c->first_us == 0 ? (double)NAN : c->second_us / c->first_us);
    gt_table_set_float(sheet, first + DELTA, row, c->second_us - own_us);
    gt_table_set_float(sheet, first + COUNT, row, c->with_second);
    gt_table_set_string(sheet, first + IDS, row, intern(sheet, &c->ids));
    gt_table_set_string(sheet, first + NAMES, row, intern(sheet, &c->names));
    gt_table_set_float(sheet, first + FIRST_US, row, c->first_us);
    gt_table_set_float(sheet, first + SECOND_US, row, c->second_us);
}

void gt_diff_add_columns(gt_table *sheet, gt_unified *unified, const gt_diff_stats *stats)
{
    if (!stats->table->row_count) return;
    gt_map row_of_kernel = rows_of_kernels(sheet, unified);
    collected *all = gt_alloc_zero(sheet->row_count, sizeof *all);
    for (size_t row = 0; row < sheet->row_count; row++) all[row].last_call = GT_NO_EVENT;
    if (collect(all, stats, &row_of_kernel)) {
        size_t first = sheet->column_count, after = gt_table_find(sheet, GT_COL_KERNEL_TIME_US_SUM) + 1;
        gt_table_add_columns(sheet, added, COLUMNS);
        for (size_t row = 0; row < sheet->row_count; row++) fill_row(sheet, first, row, &all[row]);
        for (size_t i = 0; i < COLUMNS; i++) gt_table_move_column(sheet, first + i, after + i);
    }
    for (size_t row = 0; row < sheet->row_count; row++) {
        gt_buffer_free(&all[row].ids);
        gt_buffer_free(&all[row].names);
    }
    gt_free(all);
    gt_map_free(&row_of_kernel);
}
