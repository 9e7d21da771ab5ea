/* The summary of diff_stats: a group-by, an order that decides every tie by the text of the cells, and the
 * maps of ops to kernels. */
#include "analysis/diff/unique_args.h"

#include "analysis/diff/op_names.h"
#include "base/length.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/number.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <stdlib.h>
#include <string.h>

/* ---- groups ---- */

static bool is_key(const gt_column *column)
{
    static const gt_col others[] = {GT_COL_KERNEL_TIME, GT_COL_LOWEST_COMMON_ANCESTOR_ID, GT_COL_GPU_OP_UID};
    for (size_t i = 0; i < GT_LENGTH(others); i++)
        if (gt_column_is(column, others[i])) return false;
    return true;
}

static gt_table *group_rows(const gt_table *stats)
{
    static const gt_aggregate measures[] = {
        {GT_NO_COL, GT_GROUP_SIZE, GT_COL_OPERATION_COUNT},
        GT_AGGREGATE(KERNEL_TIME, MEAN),
        GT_AGGREGATE(KERNEL_TIME, SUM),
    };
    gt_col *keys = gt_alloc(stats->column_count * sizeof *keys);
    size_t count = 0;
    for (size_t c = 0; c < stats->column_count; c++)
        if (is_key(&stats->columns[c])) keys[count++] = gt_col_named(stats->columns[c].name);
    gt_table *table = gt_table_group(stats, keys, count, measures, GT_LENGTH(measures),
                                     (gt_group_options){.keep_nulls = true});
    gt_free(keys);
    gt_table_rename(table, GT_SHEET_DIFF_STATS_UNIQUE_ARGS_SUMMARY);
    gt_table_move_column(table, gt_table_find(table, GT_COL_OPERATION_COUNT), 1);
    return table;
}

/* ---- order ---- */

typedef struct ordering {
    const gt_table *table;
    const gt_column *sums;
} ordering;

static gt_str cell_text(const ordering *o, const gt_column *column, uint32_t row, char *digits)
{
    if (gt_column_is_null(column, row)) return (gt_str){"None", 4};
    switch (column->type) {
    case GT_TYPE_INT:
        return (gt_str){digits, gt_print_int(digits, column->ints[row])};
    case GT_TYPE_FLOAT:
        return (gt_str){digits, gt_print_double(digits, column->floats[row])};
    default:
        return gt_interner_get(o->table->strings, column->texts[row]);
    }
}

/* The longest sum first, ties by the text of the other cells from left to right. */
static int by_sum(const void *left, const void *right, void *context)
{
    const ordering *o = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    double first = gt_column_number(o->sums, a), second = gt_column_number(o->sums, b);
    if (first != second) return first > second ? -1 : 1;
    for (size_t c = 0; c < o->table->column_count; c++) {
        const gt_column *column = &o->table->columns[c];
        char digits[2][GT_NUMBER_MAX];
        if (column == o->sums || (column->type == GT_TYPE_STRING && column->texts[a] == column->texts[b]))
            continue;
        int order = gt_str_compare(cell_text(o, column, a, digits[0]), cell_text(o, column, b, digits[1]));
        if (order) return order;
    }
    return (a > b) - (a < b);
}

static void sort_rows(gt_table *table)
{
    ordering o = {table, gt_table_column(table, GT_COL_KERNEL_TIME_SUM)};
    uint32_t *rows = gt_alloc(table->row_count * sizeof *rows);
    for (uint32_t i = 0; i < table->row_count; i++) rows[i] = i;
    qsort_r(rows, table->row_count, sizeof *rows, by_sum, &o);
    gt_table_take(table, rows, table->row_count);
    gt_free(rows);
}

/* ---- maps of ops ---- */

/* A kernel, or a module, of an op in one trace. */
typedef struct member {
    uint32_t op, source; /* op: its place among the ops; source: 0 or 1 */
    uint32_t text;
} member;

typedef struct members {
    member *items;
    size_t count, capacity;
    const gt_interner *strings;
} members;

static int by_place_and_text(const void *left, const void *right, void *context)
{
    const gt_interner *strings = context;
    const member *a = left, *b = right;
    if (a->op != b->op) return a->op < b->op ? -1 : 1;
    if (a->source != b->source) return a->source < b->source ? -1 : 1;
    return gt_str_compare(gt_interner_get(strings, a->text), gt_interner_get(strings, b->text));
}

static void add_member(members *list, gt_map *seen, member m)
{
    uint32_t *known = gt_map_put(seen, (uint64_t)m.op << 1 | m.source, m.text);
    if (*known != GT_MAP_NONE) return;
    *known = 1;
    GT_PUSH(list->items, list->count, list->capacity, m);
}

/* The different texts of a column for each op and source of the summary, in byte order. */
static members collect(const gt_table *summary, gt_col column, const uint32_t *op_places,
                       const uint8_t *sources)
{
    const uint32_t *texts = gt_table_column(summary, column)->texts;
    members list = {.strings = summary->strings};
    gt_map seen = {0};
    for (size_t row = 0; row < summary->row_count; row++)
        add_member(&list, &seen, (member){op_places[row], sources[row], texts[row]});
    gt_map_free(&seen);
    if (list.count)
        qsort_r(list.items, list.count, sizeof *list.items, by_place_and_text,
                (void *)(uintptr_t)summary->strings);
    return list;
}

static uint8_t *sources_of(const gt_table *table)
{
    const uint32_t *texts = gt_table_column(table, GT_COL_SOURCE)->texts;
    uint32_t second = gt_interner_add_cstr(table->strings, "trace2");
    uint8_t *sources = gt_alloc(table->row_count);
    for (size_t row = 0; row < table->row_count; row++) sources[row] = texts[row] == second;
    return sources;
}

/* Numbers the ops in the order first seen; *ops has their names. */
static uint32_t *number_ops(const gt_table *summary, gt_row_list *ops)
{
    const uint32_t *names = gt_table_column(summary, GT_COL_CPU_OP_NAME)->texts;
    uint32_t *places = gt_alloc(summary->row_count * sizeof *places);
    gt_map seen = {0};
    for (size_t row = 0; row < summary->row_count; row++) {
        uint32_t *place = gt_map_put(&seen, names[row], 0);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)ops->count;
            GT_PUSH(ops->items, ops->count, ops->capacity, names[row]);
        }
        places[row] = *place;
    }
    gt_map_free(&seen);
    return places;
}

static gt_table *new_map(gt_sheet name, gt_interner *strings, bool with_modules)
{
    static const gt_column_head columns[] = {{GT_COL_CPU_OP_NAME, GT_TYPE_STRING},
                                             {GT_COL_SOURCE, GT_TYPE_STRING},
                                             {GT_COL_KERNELS, GT_TYPE_LIST},
                                             {GT_COL_NN_MODULE_PARENTS, GT_TYPE_LIST}};
    gt_table *table = gt_table_new(name, strings);
    gt_table_add_columns(table, columns, with_modules ? 4 : 3);
    for (size_t c = 2; c < table->column_count; c++) gt_list_of(&table->columns[c], GT_TYPE_STRING);
    return table;
}

static void fill_list(gt_table *table, gt_col column, size_t row, const members *list, size_t *at, member of)
{
    gt_column *cells = gt_table_column(table, column);
    gt_list_begin(cells, row);
    for (; *at < list->count && list->items[*at].op == of.op && list->items[*at].source == of.source; ++*at)
        gt_list_push_string(cells, list->items[*at].text);
}

/* One row an op and source. */
static gt_table *map_ops(const gt_table *summary)
{
    gt_row_list ops = {0};
    uint32_t *places = number_ops(summary, &ops);
    uint8_t *sources = sources_of(summary);
    members kernels = collect(summary, GT_COL_NAME, places, sources);
    members modules = collect(summary, GT_COL_NN_MODULE_PARENT, places, sources);
    gt_table *table = new_map(GT_SHEET_CPU_OP_MAP, summary->strings, true);
    for (size_t k = 0, m = 0; k < kernels.count;) {
        member of = kernels.items[k];
        size_t row = gt_table_add_row(table);
        gt_table_set_string(table, 0, row, ops.items[of.op]);
        gt_table_set_cstr(table, 1, row, of.source ? "trace2" : "trace1");
        fill_list(table, GT_COL_KERNELS, row, &kernels, &k, of);
        fill_list(table, GT_COL_NN_MODULE_PARENTS, row, &modules, &m, of);
    }
    gt_free(kernels.items);
    gt_free(modules.items);
    gt_free(places);
    gt_free(sources);
    gt_free(ops.items);
    return table;
}

/* The rows of one source, by name. */
static gt_table *map_of_source(const gt_table *both, size_t source, gt_sheet name)
{
    gt_table *table = gt_table_copy(both);
    const uint32_t *sources = gt_table_column(table, GT_COL_SOURCE)->texts;
    uint32_t wanted = gt_interner_add_cstr(table->strings, source ? "trace2" : "trace1");
    uint32_t *rows = gt_alloc(table->row_count * sizeof *rows);
    size_t count = 0;
    for (uint32_t row = 0; row < table->row_count; row++)
        if (sources[row] == wanted) rows[count++] = row;
    gt_order_by_strings(rows, count, gt_table_column(table, GT_COL_CPU_OP_NAME)->texts, table->strings,
                        false);
    gt_table_take(table, rows, count);
    gt_table_drop_column(table, gt_table_find(table, GT_COL_NN_MODULE_PARENTS));
    gt_table_drop_column(table, gt_table_find(table, GT_COL_SOURCE));
    gt_table_rename(table, name);
    gt_free(rows);
    return table;
}

/* ---- */

static void drop_second(gt_table *table)
{
    uint8_t *drop = sources_of(table);
    for (size_t row = 0; row < table->row_count; row++) drop[row] = !drop[row];
    gt_table_keep(table, drop);
    gt_table_drop_column(table, gt_table_find(table, GT_COL_SOURCE));
    gt_free(drop);
}

gt_diff_summary gt_diff_summarise(const gt_diff_stats *stats)
{
    gt_diff_summary s = {.table = group_rows(stats->table)};
    sort_rows(s.table);
    gt_table *original = map_ops(s.table);
    s.op_maps[0] = map_of_source(original, 0, GT_SHEET_CPU_OP_MAP_TRACE1);
    s.op_maps[1] = map_of_source(original, 1, GT_SHEET_CPU_OP_MAP_TRACE2);
    gt_table_free(original);
    gt_diff_name_ops(s.table, stats);
    s.op_map = map_ops(s.table);
    if (stats->identical) {
        drop_second(s.table);
        drop_second(s.op_map);
    }
    return s;
}
