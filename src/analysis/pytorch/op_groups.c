/* Groups of ops with the same keys, and statistics of their kernels. */
#include "analysis/pytorch/op_groups.h"

#include "analysis/pytorch/graph_sources.h"

/* ---- groups ---- */

static const gt_group_options KEEP = {.keep_nulls = true};

gt_op_groups gt_op_groups_find(const gt_table *ops, const gt_col *keys, size_t key_count)
{
    gt_op_groups a = {.ops = ops, .keys = gt_alloc(key_count * sizeof *a.keys)};
    for (size_t i = 0; i < key_count; i++)
        if (gt_table_find(ops, keys[i]) != SIZE_MAX) a.keys[a.key_count++] = keys[i];
    a.groups = gt_groups_find(ops, a.keys, a.key_count, KEEP);
    a.rows = gt_group_rows_find(&a.groups);
    return a;
}

void gt_op_groups_free(gt_op_groups *a)
{
    gt_free(a->keys);
    gt_groups_free(&a->groups);
    gt_group_rows_free(&a->rows);
}

gt_table *gt_op_groups_measure(const gt_op_groups *a, const gt_aggregate *measures, size_t measure_count)
{
    gt_aggregate *used = gt_alloc(measure_count * sizeof *used);
    size_t count = 0;
    for (size_t i = 0; i < measure_count; i++)
        if (!measures[i].column.name || gt_table_find(a->ops, measures[i].column) != SIZE_MAX)
            used[count++] = measures[i];
    gt_table *sheet = gt_table_group(a->ops, a->keys, a->key_count, used, count, KEEP);
    gt_free(used);
    bool is_unified = gt_table_find(a->ops, GT_COL_KERNEL_TIME_US) != SIZE_MAX;
    gt_table_add_graph_sources(sheet, a->ops, &a->groups,
                               is_unified ? GT_COL_KERNEL_TIME_US : GT_COL_TOTAL_DIRECT_KERNEL_TIME);
    size_t group = gt_table_add_zeroed(sheet, GT_COL_GROUP, GT_TYPE_INT);
    for (size_t row = 0; row < sheet->row_count; row++) sheet->columns[group].ints[row] = (int64_t)row;
    return sheet;
}

/* ---- kernels of each group ---- */

enum { BLOCK = GT_SMALL_OR(8, 256) }; /* rows of a sheet whose cells are printed before they are kept */

typedef struct describing {
    const gt_op_groups *groups;
    const gt_kernel_source *source;
    const int64_t *group_of; /* by row of the sheet */
    size_t first;            /* row of the block */
    gt_kernel_stats *stats;  /* by row of the block */
} describing;

static void collect_row(void *context, size_t index)
{
    describing *d = context;
    const gt_group_rows *ops = &d->groups->rows;
    size_t group = (size_t)d->group_of[d->first + index], begin = ops->begins[group];
    gt_kernel_stats_collect(&d->stats[index], d->source, ops->rows + begin, ops->begins[group + 1] - begin);
}

static void print_row(void *context, size_t index)
{
    describing *d = context;
    gt_kernel_stats_print(&d->stats[index]);
}

/* Threads collect and print; this one finds call stacks in between and interns the cells afterwards, in the
 * order of the rows. */
static void describe_block(describing *d, size_t rows, gt_column *summaries, gt_column *truncs,
                           const gt_op_groups_observe *observe)
{
    gt_parallel_each(rows, collect_row, d);
    if (observe && observe->printer.text)
        for (size_t i = 0; i < rows; i++) gt_kernel_stats_find_stacks(&d->stats[i], d->source);
    gt_parallel_each(rows, print_row, d);
    for (size_t i = 0; i < rows; i++) {
        gt_kernel_stats_cells cells = gt_kernel_stats_keep(&d->stats[i]);
        summaries->texts[d->first + i] = cells.summary;
        truncs->texts[d->first + i] = cells.trunc;
        if (observe && observe->shown) observe->shown(observe->context, d->first + i, &d->stats[i]);
    }
}

void gt_op_groups_describe(const gt_op_groups *a, gt_table *sheet, const gt_kernel_source *source,
                           gt_col summary, gt_col trunc, const gt_op_groups_observe *observe)
{
    size_t summaries = gt_table_add_zeroed(sheet, summary, GT_TYPE_STRING);
    size_t truncs = gt_table_add_zeroed(sheet, trunc, GT_TYPE_STRING);
    size_t block = sheet->row_count < BLOCK ? sheet->row_count : BLOCK;
    describing d = {.groups = a,
                    .source = source,
                    .group_of = gt_table_column(sheet, GT_COL_GROUP)->ints,
                    .stats = gt_alloc_zero(block, sizeof *d.stats)};
    for (size_t i = 0; i < block; i++)
        d.stats[i] = (gt_kernel_stats){.strings = sheet->strings,
                                       .printer = observe ? observe->printer : (gt_stack_printer){0},
                                       .hide_call_stacks = observe && observe->hide_call_stacks,
                                       .plain = observe && observe->plain};
    for (; d.first < sheet->row_count; d.first += block) {
        size_t left = sheet->row_count - d.first;
        describe_block(&d, left < block ? left : block, &sheet->columns[summaries], &sheet->columns[truncs],
                       observe);
    }
    for (size_t i = 0; i < block; i++) gt_kernel_stats_free(&d.stats[i]);
    gt_free(d.stats);
}

/* ---- overlap ---- */

void gt_op_groups_sort(gt_table *sheet, const gt_op_groups *a, gt_col apart, gt_col time, gt_col uid)
{
    const gt_sort_key order[] = {
        {GT_COL_TOGETHER_US, true}, {GT_COL_TOGETHER_UID, false}, {time, true}, {uid, false}};
    const gt_aggregate measures[] = {{time, GT_GROUP_SUM, time}, {uid, GT_GROUP_MIN, uid}};
    gt_col *keys = gt_alloc(a->key_count * sizeof *keys);
    size_t count = 0;
    for (size_t i = 0; i < a->key_count; i++)
        if (!gt_col_equals(a->keys[i], apart)) keys[count++] = a->keys[i];
    gt_groups together = gt_groups_find(sheet, keys, count, KEEP);
    gt_table *totals = gt_table_group(sheet, keys, count, measures, 2, KEEP);
    gt_table_make_float(totals, gt_table_find(totals, time));
    size_t total_us = gt_table_add_zeroed(sheet, order[0].column, GT_TYPE_FLOAT);
    size_t total_uid = gt_table_add_zeroed(sheet, order[1].column, GT_TYPE_INT);
    for (size_t row = 0; row < sheet->row_count; row++) {
        uint32_t group = together.of_row[row];
        sheet->columns[total_us].floats[row] = gt_table_column(totals, time)->floats[group];
        sheet->columns[total_uid].ints[row] = gt_table_column(totals, uid)->ints[group];
    }
    gt_table_sort(sheet, order, GT_LENGTH(order));
    gt_table_drop_column(sheet, total_uid);
    gt_table_drop_column(sheet, total_us);
    gt_table_free(totals);
    gt_groups_free(&together);
    gt_free(keys);
}

void gt_op_groups_round_overlap(gt_table *sheet)
{
    static const gt_col columns[] = {GT_COL_OVERLAP_PCT_MEAN, GT_COL_OVERLAP_PCT_MEDIAN,
                                     GT_COL_OVERLAP_PCT_STD, GT_COL_OVERLAP_PCT_MIN, GT_COL_OVERLAP_PCT_MAX};
    for (size_t i = 0; i < GT_LENGTH(columns); i++) {
        double *cells = gt_table_column(sheet, columns[i])->floats;
        for (size_t row = 0; row < sheet->row_count; row++) cells[row] = rint(cells[row] * 100.0) / 100.0;
    }
    const double *means = gt_table_column(sheet, GT_COL_OVERLAP_PCT_MEAN)->floats;
    double *stds = gt_table_column(sheet, GT_COL_OVERLAP_PCT_STD)->floats;
    for (size_t row = 0; row < sheet->row_count; row++)
        if (isnan(stds[row]) && !isnan(means[row])) stds[row] = 0.0;
}
