/* The table of launchers (gt_ops), and the sheets ops_summary_by_category and ops_summary:
 *
 *     [parent_module]                of the launchers (modules.c)
 *     Count                          launchers
 *     total_direct_kernel_time_sum   sum of the launchers' own kernel times, microseconds
 *     total_subtree_kernel_time_sum  the same with the kernels of the ops that they called
 *     total_subtree_kernel_time_count, ..._ms    one of them: launchers, or that / 1000
 *     Categories                     the categories of the launchers with that name, ascending
 *     [call_stack_first]             that of the first launcher (modules.c)
 *     [graph_source]                 graph_sources.h; only ops_summary
 *     Percentage (%)                 of the sum of total_direct_kernel_time_ms
 *     Cumulative Percentage (%)      running total of Percentage over the rows as shown */
#include "analysis/pytorch/sheets.h"

#include "analysis/sheet_parts.h"
#include "analysis/pytorch/op_category.h"
#include "analysis/pytorch/event_columns.h"
#include "analysis/pytorch/graph_sources.h"
#include "compat/python_literal.h"

/* ---- the table of launchers ---- */

enum { TRACKS = 3, ARGUMENTS = 4 };

static const gt_col track_columns[TRACKS] = {GT_COL_PROCESS_NAME, GT_COL_PROCESS_LABEL, GT_COL_THREAD_NAME};
static const struct {
    size_t event_column;
    gt_col name;
} arguments[ARGUMENTS] = {
    {GT_EVENT_INPUT_DIMS, GT_COL_INPUT_DIMS},
    {GT_EVENT_INPUT_TYPES, GT_COL_INPUT_TYPE},
    {GT_EVENT_INPUT_STRIDES, GT_COL_INPUT_STRIDES},
    {GT_EVENT_CONCRETE_INPUTS, GT_COL_CONCRETE_INPUTS},
};

/* The arrays of the table's columns. */
typedef struct filling {
    const gt_linked_view *trace;
    const gt_launchers *launchers;
    uint32_t *rows; /* by launcher */
    uint32_t *names, *first_kernels, *tracks[TRACKS], *arguments[ARGUMENTS];
    int64_t *counts, *uids;
    uint8_t *recompute; /* NULL: no column */
} filling;

/* Names of process and thread. Most launchers are on the same thread as the one before. */
static void fill_tracks(const filling *f, size_t begin, size_t end)
{
    const gt_linked_view *trace = f->trace;
    gt_track_names track = {0};
    for (size_t i = begin; i < end; i++) {
        uint32_t row = f->rows[i], before = i > begin ? f->rows[i - 1] : row;
        if (i == begin || gt_event_lane(&trace->events, row) != gt_event_lane(&trace->events, before))
            track = gt_event_track(&trace->events, row);
        f->tracks[0][i] = track.process_name;
        f->tracks[1][i] = track.process_label;
        f->tracks[2][i] = track.thread_name;
    }
}

static void fill_rows(void *context, size_t begin, size_t end)
{
    const filling *f = context;
    const gt_linked_view *trace = f->trace;
    for (size_t i = begin; i < end; i++) {
        const gt_launcher *l = &f->launchers->items[i];
        f->rows[i] = l->row;
        f->names[i] = trace->name[l->row];
        f->first_kernels[i] = trace->name[f->launchers->kernels[l->first]];
        f->counts[i] = (int64_t)l->count;
        f->uids[i] = gt_event_uid(&trace->events, l->row);
        if (f->recompute) f->recompute[i] = trace->recompute[l->row] != 0;
    }
    fill_tracks(f, begin, end);
    for (size_t a = 0; a < ARGUMENTS; a++)
        gt_store_string_ids_at(trace->store, arguments[a].event_column, f->rows + begin, end - begin,
                               f->arguments[a] + begin);
}

static uint32_t *add_strings(gt_ops *ops, gt_col name)
{
    return gt_table_add_unset(ops->table, name, GT_TYPE_STRING)->texts;
}

static void add_columns(gt_ops *ops)
{
    size_t count = ops->launchers->count;
    gt_interner *strings = ops->trace->strings;
    filling f = {.trace = ops->trace, .launchers = ops->launchers};
    f.rows = gt_alloc(count * sizeof *f.rows);
    f.first_kernels = gt_alloc(count * sizeof *f.first_kernels);
    f.names = add_strings(ops, GT_COL_NAME);
    uint32_t *found = add_strings(ops, GT_COL_OP_CATEGORY);
    for (size_t i = 0; i < TRACKS; i++) f.tracks[i] = add_strings(ops, track_columns[i]);
    for (size_t i = 0; i < ARGUMENTS; i++) f.arguments[i] = add_strings(ops, arguments[i].name);
    f.counts = gt_table_add_unset(ops->table, GT_COL_NUM_KERNELS, GT_TYPE_INT)->ints;
    f.uids = gt_table_add_unset(ops->table, GT_COL_UID, GT_TYPE_INT)->ints;
    if (ops->trace->recompute)
        f.recompute = gt_table_add_unset(ops->table, GT_COL_IS_RECOMPUTE, GT_TYPE_BOOL)->bools;
    gt_python_literals *literals = gt_python_literals_new(strings, GT_PYTHON_TUPLES);
    gt_op_categories *categories = gt_op_categories_new(strings, ops->options.extension);
    gt_parallel_ranges(count, GT_OPS_GRAIN, fill_rows, &f);
    gt_op_categories_of_all(categories, f.names, f.first_kernels, count, found);
    for (size_t a = 0; a < ARGUMENTS; a++) gt_python_literals_convert(literals, f.arguments[a], count);
    gt_op_categories_free(categories);
    gt_python_literals_free(literals);
    gt_table_add_row_sources(ops->table, ops->trace, f.rows);
    gt_free_all(f.rows, f.first_kernels);
}

/* ---- times ---- */

static gt_time_cell start_of(const void *context, size_t i)
{
    const gt_ops *ops = context;
    uint32_t row = ops->launchers->items[i].row;
    return (gt_time_cell){ops->trace->start_us[row], (ops->trace->integral[row] & GT_INTEGRAL_START) != 0};
}

static gt_time_cell direct_of(const void *context, size_t i)
{
    const gt_launcher *launcher = &((const gt_launchers *)context)->items[i];
    return (gt_time_cell){launcher->direct_us, launcher->direct_integral};
}

static gt_time_cell subtree_of(const void *context, size_t i)
{
    const gt_launcher *launcher = &((const gt_launchers *)context)->items[i];
    return (gt_time_cell){launcher->subtree_us, launcher->subtree_integral};
}

void gt_table_add_direct_times(gt_table *table, const gt_launchers *launchers)
{
    gt_table_add_times(table, GT_COL_TOTAL_DIRECT_KERNEL_TIME, direct_of, launchers);
}

gt_ops *gt_ops_new(const gt_linked_view *trace, const gt_launchers *launchers, gt_ops_options options)
{
    gt_ops *ops = gt_alloc_zero(1, sizeof *ops);
    ops->trace = trace;
    ops->launchers = launchers;
    ops->options = options;
    ops->table = gt_table_new(GT_SHEET_OPS, trace->strings);
    gt_table_add_rows(ops->table, launchers->count);
    add_columns(ops);
    if (options.by_module) gt_table_add_modules(ops->table, trace, launchers);
    gt_table_add_times(ops->table, GT_COL_TS, start_of, ops);
    gt_table_add_direct_times(ops->table, launchers);
    gt_table_add_times(ops->table, GT_COL_TOTAL_SUBTREE_KERNEL_TIME, subtree_of, launchers);
    return ops;
}

void gt_ops_free(gt_ops *ops)
{
    if (!ops) return;
    gt_table_free(ops->table);
    gt_free(ops);
}

/* ---- ops_summary_by_category and ops_summary ---- */

static const gt_aggregate sums[] = {
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT_TITLE},
    GT_AGGREGATE(TOTAL_DIRECT_KERNEL_TIME, SUM),
    GT_AGGREGATE(TOTAL_SUBTREE_KERNEL_TIME, SUM),
    GT_AGGREGATE(TOTAL_SUBTREE_KERNEL_TIME, COUNT),
    {GT_COL_CALL_STACK, GT_GROUP_FIRST, GT_COL_CALL_STACK_FIRST},
};

static const gt_col category_columns[] = {
    GT_COL_OP_CATEGORY,      GT_COL_PARENT_MODULE,
    GT_COL_IS_RECOMPUTE,     GT_COL_COUNT_TITLE,
    GT_COL_CALL_STACK_FIRST, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
    GT_COL_PERCENTAGE_PCT,   GT_COL_CUMULATIVE_PERCENTAGE_PCT,
};

static const gt_col name_columns[] = {
    GT_COL_NAME,
    GT_COL_PARENT_MODULE,
    GT_COL_IS_RECOMPUTE,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM,
    GT_COL_TOTAL_SUBTREE_KERNEL_TIME_SUM,
    GT_COL_TOTAL_SUBTREE_KERNEL_TIME_COUNT,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
    GT_COL_TOTAL_SUBTREE_KERNEL_TIME_MS,
    GT_COL_COUNT_TITLE,
    GT_COL_CATEGORIES,
    GT_COL_CALL_STACK_FIRST,
    GT_COL_GRAPH_SOURCE,
    GT_COL_PERCENTAGE_PCT,
    GT_COL_CUMULATIVE_PERCENTAGE_PCT,
};

static const gt_group_options as_first_seen = {.keep_nulls = true};

enum { KEYS_MAX = 3 };

/* The key, and parent_module and is_recompute if the ops have them. */
static size_t keys_of(const gt_ops *ops, gt_col key, gt_col *keys)
{
    size_t count = 0;
    keys[count++] = key;
    if (ops->options.by_module) keys[count++] = GT_COL_PARENT_MODULE;
    if (ops->trace->recompute) keys[count++] = GT_COL_IS_RECOMPUTE;
    return count;
}

static gt_table *group_by(const gt_ops *ops, gt_col key)
{
    gt_col keys[KEYS_MAX];
    size_t key_count = keys_of(ops, key, keys);
    gt_aggregate used[GT_LENGTH(sums)];
    size_t count = 0;
    for (size_t i = 0; i < GT_LENGTH(sums); i++) {
        bool is_stack = gt_col_equals(sums[i].name, GT_COL_CALL_STACK_FIRST);
        bool is_count = gt_col_equals(sums[i].name, GT_COL_TOTAL_SUBTREE_KERNEL_TIME_COUNT);
        if ((ops->options.by_module || !is_stack) && (ops->options.subtree_count || !is_count))
            used[count++] = sums[i];
    }
    return gt_table_group(ops->table, keys, key_count, used, count, as_first_seen);
}

static gt_table *finish(const gt_ops *ops, gt_table *table, gt_sheet sheet, const gt_col *columns,
                        size_t column_count)
{
    static const gt_sort_key longest_first[] = {{GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM, true}};
    gt_table_rename(table, sheet);
    gt_table_sort(table, longest_first, GT_LENGTH(longest_first));
    if (!ops->options.subtree_count)
        gt_table_add_ms(table, GT_COL_TOTAL_SUBTREE_KERNEL_TIME_SUM, GT_COL_TOTAL_SUBTREE_KERNEL_TIME_MS);
    gt_table_add_percentages(table, gt_table_add_ms(table, GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM,
                                                    GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS));
    gt_table_select(table, columns, column_count);
    return table;
}

gt_table *gt_ops_summary_by_category(const gt_ops *ops)
{
    return finish(ops, group_by(ops, GT_COL_OP_CATEGORY), GT_SHEET_OPS_SUMMARY_BY_CATEGORY, category_columns,
                  GT_LENGTH(category_columns));
}

/* ---- the column Categories ---- */

typedef struct category_list {
    int64_t *group;     /* by entry: its group */
    uint32_t *category; /* by entry */
    uint32_t *order;    /* entries sorted by group, then category */
    size_t count;
} category_list;

static category_list list_categories(const gt_ops *ops)
{
    gt_col keys[KEYS_MAX];
    size_t key_count = keys_of(ops, GT_COL_NAME, keys);
    const gt_column *categories = gt_table_column(ops->table, GT_COL_OP_CATEGORY);
    gt_groups groups = gt_groups_find(ops->table, keys, key_count, as_first_seen);
    gt_groups divided = gt_groups_split(&groups, categories, ops->table->strings);
    category_list list = {.count = divided.count};
    list.group = gt_alloc(list.count * sizeof *list.group);
    list.category = gt_alloc(list.count * sizeof *list.category);
    for (size_t i = 0; i < list.count; i++) {
        list.group[i] = groups.of_row[divided.first_row[i]];
        list.category[i] = categories->texts[divided.first_row[i]];
    }
    list.order = gt_order_new(list.count);
    gt_order_by_strings(list.order, list.count, list.category, ops->table->strings, false);
    gt_order_by_ints(list.order, list.count, list.group, NULL, false);
    gt_groups_free(&groups);
    gt_groups_free(&divided);
    return list;
}

/* Row i of the table must be group i. */
static void add_categories(const gt_ops *ops, gt_table *by_name)
{
    category_list list = list_categories(ops);
    size_t column = gt_table_add_column(by_name, GT_COL_CATEGORIES, GT_TYPE_LIST), next = 0;
    gt_column *cells = &by_name->columns[column];
    gt_list_of(cells, GT_TYPE_STRING);
    for (size_t row = 0; row < by_name->row_count; row++) {
        gt_list_begin(cells, row);
        for (; next < list.count && (size_t)list.group[list.order[next]] == row; next++)
            gt_list_push_string(cells, list.category[list.order[next]]);
    }
    gt_free_all(list.group, list.category, list.order);
}

/* Row i of the table must be group i. */
static void add_sources(const gt_ops *ops, gt_table *by_name)
{
    if (!ops->trace->graph_count) return;
    gt_col keys[2];
    size_t key_count = keys_of(ops, GT_COL_NAME, keys);
    gt_groups groups = gt_groups_find(ops->table, keys, key_count, as_first_seen);
    gt_table_add_graph_sources(by_name, ops->table, &groups, GT_COL_TOTAL_DIRECT_KERNEL_TIME);
    gt_groups_free(&groups);
}

gt_table *gt_ops_summary(const gt_ops *ops)
{
    gt_table *by_name = group_by(ops, GT_COL_NAME);
    add_categories(ops, by_name);
    add_sources(ops, by_name);
    return finish(ops, by_name, GT_SHEET_OPS_SUMMARY, name_columns, GT_LENGTH(name_columns));
}
