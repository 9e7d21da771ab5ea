/* Sheets ops_unique_args and ops_unique_args_kl_overlap:
 *
 *     keys                            name to Concrete Inputs, with [parent_module]; [num_kernels],
 *                                     [is_recompute]
 *     operation_count                 launchers
 *     first_occurrence_time           start of the first one, relative to the first of all
 *     total_direct_kernel_time_*      of the launchers' own kernel times, microseconds
 *     total_subtree_kernel_time_*     the same with the kernels of the ops that they called
 *     ex_UID, [call_stack]            the first launcher
 *     [graph_source]                  graph_sources.h
 *     kernel_details_summary, trunc_kernel_details     op_groups.h
 *     overlapping_kernels_details_summary, trunc_overlapping_kernels_details, overlap_pct_*    overlap.h
 *     Percentage (%)                  of the sum of total_direct_kernel_time_sum
 *     Cumulative Percentage (%)       running total of Percentage over the rows as shown */
#include "analysis/pytorch/sheets.h"

#include "analysis/sheet_parts.h"

#define PAIR(kind) GT_AGGREGATE(TOTAL_DIRECT_KERNEL_TIME, kind), GT_AGGREGATE(TOTAL_SUBTREE_KERNEL_TIME, kind)

static const gt_col keys[] = {
    GT_COL_NAME,
    GT_COL_OVERLAPPING_KERNEL_NAMES,
    GT_COL_OP_CATEGORY,
    GT_COL_PARENT_MODULE,
    GT_COL_PROCESS_NAME,
    GT_COL_PROCESS_LABEL,
    GT_COL_THREAD_NAME,
    GT_COL_INPUT_DIMS,
    GT_COL_INPUT_TYPE,
    GT_COL_INPUT_STRIDES,
    GT_COL_CONCRETE_INPUTS,
    GT_COL_NUM_KERNELS,
    GT_COL_IS_RECOMPUTE,
};

static const gt_aggregate measures[] = {
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL_OPERATION_COUNT},
    {GT_COL_TS, GT_GROUP_MIN, GT_COL_FIRST_OCCURRENCE_TIME},
    PAIR(MEAN),
    PAIR(MEDIAN),
    PAIR(STD),
    PAIR(MIN),
    PAIR(MAX),
    PAIR(SUM),
    {GT_COL_UID, GT_GROUP_FIRST, GT_COL_EX_UID},
    {GT_COL_CALL_STACK, GT_GROUP_FIRST, GT_COL_CALL_STACK},
    GT_AGGREGATE(OVERLAP_PCT, MEAN),
    GT_AGGREGATE(OVERLAP_PCT, MEDIAN),
    GT_AGGREGATE(OVERLAP_PCT, STD),
    GT_AGGREGATE(OVERLAP_PCT, MIN),
    GT_AGGREGATE(OVERLAP_PCT, MAX),
};

/* The columns after the keys; those that a sheet does not have are ignored. */
static const gt_col columns[] = {
    GT_COL_OPERATION_COUNT,
    GT_COL_FIRST_OCCURRENCE_TIME,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_MEAN,
    GT_COL_TOTAL_SUBTREE_KERNEL_TIME_MEAN,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_MEDIAN,
    GT_COL_TOTAL_SUBTREE_KERNEL_TIME_MEDIAN,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_STD,
    GT_COL_TOTAL_SUBTREE_KERNEL_TIME_STD,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_MIN,
    GT_COL_TOTAL_SUBTREE_KERNEL_TIME_MIN,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_MAX,
    GT_COL_TOTAL_SUBTREE_KERNEL_TIME_MAX,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM,
    GT_COL_TOTAL_SUBTREE_KERNEL_TIME_SUM,
    GT_COL_EX_UID,
    GT_COL_CALL_STACK,
    GT_COL_GRAPH_SOURCE,
    GT_COL_KERNEL_DETAILS_SUMMARY,
    GT_COL_TRUNC_KERNEL_DETAILS,
    GT_COL_OVERLAPPING_KERNELS_DETAILS_SUMMARY,
    GT_COL_TRUNC_OVERLAPPING_KERNELS_DETAILS,
    GT_COL_OVERLAP_PCT_MEAN,
    GT_COL_OVERLAP_PCT_MEDIAN,
    GT_COL_OVERLAP_PCT_STD,
    GT_COL_OVERLAP_PCT_MIN,
    GT_COL_OVERLAP_PCT_MAX,
    GT_COL_PERCENTAGE_PCT,
    GT_COL_CUMULATIVE_PERCENTAGE_PCT,
};

static const gt_sort_key longest_first[] = {{GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM, true},
                                            {GT_COL_EX_UID, false}};

/* ---- kernels of each launcher ---- */

static size_t count_kernels(const void *context, size_t op)
{
    const gt_launchers *l = context;
    return l->items[op].count;
}

static void add_kernels(const void *context, size_t op, gt_row_list *list)
{
    const gt_launchers *l = context;
    const gt_launcher *item = &l->items[op];
    list->items = gt_grow(list->items, &list->capacity, list->count + item->count, sizeof *list->items);
    memcpy(list->items + list->count, l->kernels + item->first, item->count * sizeof *list->items);
    list->count += item->count;
}

/* The kernels that overlap them. Adds the columns overlapping_kernel_names and overlap_pct to the table of
 * ops. */
static gt_kernel_lists list_overlapping(gt_ops *ops, const gt_overlaps *overlaps)
{
    gt_kernel_lists lists = {0};
    size_t names = gt_table_add_zeroed(ops->table, GT_COL_OVERLAPPING_KERNEL_NAMES, GT_TYPE_STRING);
    size_t pct = gt_table_add_zeroed(ops->table, GT_COL_OVERLAP_PCT, GT_TYPE_FLOAT);
    gt_op_overlap_reader *reader = gt_op_overlap_reader_new(ops->trace, overlaps);
    uint32_t *rows = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < ops->launchers->count; i++) {
        const gt_launcher *l = &ops->launchers->items[i];
        rows = gt_grow(rows, &capacity, l->count, sizeof *rows);
        memcpy(rows, ops->launchers->kernels + l->first, l->count * sizeof *rows);
        qsort(rows, l->count, sizeof *rows, gt_by_row); /* the reader needs file order */
        gt_op_overlap overlap = gt_op_overlap_read(reader, rows, l->count, l->direct_us);
        ops->table->columns[names].texts[i] = overlap.names;
        ops->table->columns[pct].floats[i] = overlap.overlap_pct;
        for (size_t k = 0; k < overlap.count; k++) gt_kernel_lists_push(&lists, overlap.kernels[k]);
        gt_kernel_lists_close(&lists);
    }
    gt_free(rows);
    gt_op_overlap_reader_free(reader);
    return lists;
}

static void drop_overlapping(gt_ops *ops, gt_kernel_lists *lists)
{
    gt_table_drop_column(ops->table, gt_table_find(ops->table, GT_COL_OVERLAP_PCT));
    gt_table_drop_column(ops->table, gt_table_find(ops->table, GT_COL_OVERLAPPING_KERNEL_NAMES));
    gt_kernel_lists_free(lists);
}

/* ---- the sheet ---- */

static gt_op_groups find_groups(const gt_ops *ops, gt_unique_args_options options)
{
    gt_col used[GT_LENGTH(keys)];
    size_t count = 0;
    for (size_t i = 0; i < GT_LENGTH(keys); i++)
        if (options.by_num_kernels || !gt_col_equals(keys[i], GT_COL_NUM_KERNELS)) used[count++] = keys[i];
    return gt_op_groups_find(ops->table, used, count);
}

/* Subtracts the least time from all times. */
static void make_relative(gt_column *times, size_t rows)
{
    if (!rows) return;
    if (times->type == GT_TYPE_INT) {
        int64_t first = times->ints[0];
        for (size_t row = 0; row < rows; row++) first = times->ints[row] < first ? times->ints[row] : first;
        for (size_t row = 0; row < rows; row++) times->ints[row] -= first;
        return;
    }
    double first = times->floats[0];
    for (size_t row = 0; row < rows; row++) first = fmin(first, times->floats[row]);
    for (size_t row = 0; row < rows; row++) times->floats[row] -= first;
}

/* Puts the columns in the order of the sheet and drops the others. */
static void arrange(gt_table *sheet, const gt_op_groups *groups, bool first_occurrence)
{
    gt_col shown[GT_LENGTH(keys) + GT_LENGTH(columns)];
    size_t count = 0;
    for (size_t i = 0; i < groups->key_count; i++) shown[count++] = groups->keys[i];
    for (size_t i = 0; i < GT_LENGTH(columns); i++)
        if (first_occurrence || !gt_col_equals(columns[i], GT_COL_FIRST_OCCURRENCE_TIME))
            shown[count++] = columns[i];
    gt_table_select(sheet, shown, count);
}

gt_table *gt_ops_unique_args(gt_ops *ops, gt_unique_args_options options)
{
    gt_kernel_lists overlapping = {0};
    if (options.overlaps) overlapping = list_overlapping(ops, options.overlaps);
    gt_op_groups groups = find_groups(ops, options);
    gt_table *sheet = gt_op_groups_measure(&groups, measures, GT_LENGTH(measures));
    gt_table_rename(sheet, options.overlaps ? GT_SHEET_OPS_UNIQUE_ARGS_KL_OVERLAP : GT_SHEET_OPS_UNIQUE_ARGS);
    gt_table_sort(sheet, longest_first, GT_LENGTH(longest_first));
    make_relative(gt_table_column(sheet, GT_COL_FIRST_OCCURRENCE_TIME), sheet->row_count);
    gt_table_add_percentages(sheet, gt_table_find(sheet, GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM));
    if (options.topk != GT_ALL_OPS) gt_table_head(sheet, options.topk);
    const gt_kernel_source kernels = {
        .count = count_kernels, .add = add_kernels, .context = ops->launchers, .trace = &ops->trace->events};
    gt_op_groups_describe(&groups, sheet, &kernels, GT_COL_KERNEL_DETAILS_SUMMARY,
                          GT_COL_TRUNC_KERNEL_DETAILS, NULL);
    if (options.overlaps)
        gt_op_groups_describe(&groups, sheet, &(gt_kernel_source){.lists = &overlapping},
                              GT_COL_OVERLAPPING_KERNELS_DETAILS_SUMMARY,
                              GT_COL_TRUNC_OVERLAPPING_KERNELS_DETAILS, NULL);
    arrange(sheet, &groups, options.first_occurrence);
    gt_op_groups_free(&groups);
    if (options.overlaps) drop_overlapping(ops, &overlapping);
    return sheet;
}
