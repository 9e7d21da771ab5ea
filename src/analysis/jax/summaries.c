/* Which kernels took the time? kernel_launchers summed up by name, by class, by name and arguments;
 * df_xla_perf by name without digits. Each sheet groups the rows, sums, sorts by time and adds percentages.
 */
#include "analysis/jax/kernels.h"

#include "analysis/sheet_parts.h"
#include "compat/python_repr.h"
#include "schema/columns.h"
#include "table/stats.h"

/* ---- statistics of groups ---- */

static void add_number(gt_buffer *cell, const char *key, double value)
{
    gt_buffer_add_cstr(cell, key);
    gt_buffer_add_double(cell, value);
}

static void add_measures(gt_buffer *cell, double *dur_us, size_t count)
{
    double min = dur_us[0], max = dur_us[0];
    for (size_t i = 1; i < count; i++) {
        min = dur_us[i] < min ? dur_us[i] : min;
        max = dur_us[i] > max ? dur_us[i] : max;
    }
    gt_buffer_add_cstr(cell, ", 'count': ");
    gt_buffer_add_int(cell, (int64_t)count);
    add_number(cell, ", 'total_duration_us': ", gt_sum_pairwise(dur_us, count));
    add_number(cell, ", 'mean_duration_us': ", gt_mean(dur_us, count));
    double std_dev = gt_std_pairwise(dur_us, count, 0);
    add_number(cell, ", 'median_duration_us': ", gt_median_in_place(dur_us, count)); /* reorders the values */
    add_number(cell, ", 'std_dev_duration_us': ", std_dev);
    add_number(cell, ", 'min_duration_us': ", min);
    add_number(cell, ", 'max_duration_us': ", max);
}

size_t gt_jax_add_kernel_stats(gt_table *table, gt_col column, const gt_groups *groups, const uint32_t *names,
                               const double *dur_us, gt_jax_rest *rest, void *context)
{
    size_t added = gt_table_add_zeroed(table, column, GT_TYPE_STRING);
    gt_group_rows by_group = gt_group_rows_find(groups);
    double *in_group = gt_alloc(groups->row_count * sizeof *in_group);
    gt_buffer cell = {0};
    for (size_t g = 0; g < groups->count; g++) {
        size_t begin = by_group.begins[g], count = by_group.begins[g + 1] - begin,
               first = groups->first_row[g];
        for (size_t i = 0; i < count; i++) in_group[i] = dur_us[by_group.rows[begin + i]];
        cell.len = 0;
        gt_buffer_add_cstr(&cell, "[{'name': ");
        gt_python_add_repr(&cell, gt_interner_get(table->strings, names[first]));
        if (rest) {
            gt_str text = rest(context, first);
            gt_buffer_add(&cell, text.bytes, text.len);
        }
        add_measures(&cell, in_group, count);
        gt_buffer_add_cstr(&cell, "}]");
        table->columns[added].texts[g] = gt_interner_add(table->strings, cell.bytes, cell.len);
    }
    gt_buffer_free(&cell);
    gt_free(in_group);
    gt_group_rows_free(&by_group);
    return added;
}

/* ---- kernel_launchers_summary, kernel_launchers_summary_by_category, xla_summary ---- */

static const gt_aggregate name_aggregates[] = {
    GT_AGGREGATE(TOTAL_DIRECT_KERNEL_TIME, SUM),
    GT_AGGREGATE(TOTAL_SUBTREE_KERNEL_TIME, SUM),
    {GT_COL_TOTAL_DIRECT_KERNEL_TIME, GT_GROUP_SUM, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS},
    {GT_COL_TOTAL_SUBTREE_KERNEL_TIME, GT_GROUP_SUM, GT_COL_TOTAL_SUBTREE_KERNEL_TIME_MS},
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT_TITLE},
};
static const gt_aggregate category_aggregates[] = {
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT_TITLE},
    {GT_COL_TOTAL_DIRECT_KERNEL_TIME, GT_GROUP_SUM, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS},
};

static void convert_to_ms(gt_table *table, gt_col name)
{
    size_t column = gt_table_find(table, name);
    if (column == SIZE_MAX) return;
    for (size_t row = 0; row < table->row_count; row++) table->columns[column].floats[row] /= 1000.0;
}

static double count_gpus(const gt_table *rows)
{
    gt_groups pids = gt_groups_find(rows, (gt_col[]){GT_COL_PID}, 1, (gt_group_options){0});
    size_t count = pids.count;
    gt_groups_free(&pids);
    return count ? (double)count : 1.0;
}

static gt_table *sum_by(const gt_table *rows, gt_col key, const gt_aggregate *sums, size_t sum_count)
{
    gt_table *table = gt_table_group(rows, &key, 1, sums, sum_count, (gt_group_options){.sorted = true});
    convert_to_ms(table, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS);
    convert_to_ms(table, GT_COL_TOTAL_SUBTREE_KERNEL_TIME_MS);
    return table;
}

/* Sorts the table by time and adds percentages and time per GPU. */
static void finish_sheet(gt_table *table, gt_sheet sheet, double gpus)
{
    gt_table_sort(table, &(gt_sort_key){GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS, true}, 1);
    gt_table_rename(table, sheet);
    size_t time = gt_table_find(table, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS);
    gt_table_add_percentages(table, time);
    size_t per_gpu = gt_table_add_zeroed(table, GT_COL_TIME_MS_PER_GPU, GT_TYPE_FLOAT);
    for (size_t row = 0; row < table->row_count; row++)
        table->columns[per_gpu].floats[row] = table->columns[time].floats[row] / gpus;
}

/* Adds the classes of each group in order of their names: ['Conv', 'GEMM']. */
static void add_categories(gt_table *table, const gt_table *rows, gt_col key)
{
    gt_groups groups = gt_groups_find(rows, &key, 1, (gt_group_options){.sorted = true});
    const gt_column *categories = gt_table_column(rows, GT_COL_OP_CATEGORY);
    gt_groups pairs = gt_groups_split(&groups, categories, rows->strings);
    uint32_t *order = gt_alloc(pairs.count * sizeof *order), *texts = gt_alloc(pairs.count * sizeof *texts);
    int64_t *group_of = gt_alloc(pairs.count * sizeof *group_of);
    for (uint32_t p = 0; p < pairs.count; p++) {
        order[p] = p;
        texts[p] = categories->texts[pairs.first_row[p]];
        group_of[p] = groups.of_row[pairs.first_row[p]];
    }
    gt_order_by_strings(order, pairs.count, texts, rows->strings, false);
    gt_order_by_ints(order, pairs.count, group_of, NULL, false);

    size_t column = gt_table_add_column(table, GT_COL_CATEGORIES, GT_TYPE_STRING);
    gt_buffer cell = {0};
    for (size_t p = 0; p < pairs.count; p++) {
        bool is_first = !p || group_of[order[p - 1]] != group_of[order[p]];
        bool is_last = p + 1 == pairs.count || group_of[order[p + 1]] != group_of[order[p]];
        if (is_first) cell.len = 0;
        gt_buffer_add_cstr(&cell, is_first ? "[" : ", ");
        gt_python_add_repr(&cell, gt_interner_get(rows->strings, texts[order[p]]));
        if (is_last) gt_buffer_add_cstr(&cell, "]");
        if (is_last)
            gt_table_set_string(table, column, (size_t)group_of[order[p]],
                                gt_interner_add(rows->strings, cell.bytes, cell.len));
    }
    gt_buffer_free(&cell);
    gt_free_all(order, texts, group_of);
    gt_groups_free(&pairs);
    gt_groups_free(&groups);
}

gt_table *gt_jax_summary(const gt_table *rows)
{
    gt_table *table = sum_by(rows, GT_COL_NAME, name_aggregates, GT_LENGTH(name_aggregates));
    add_categories(table, rows, GT_COL_NAME);
    finish_sheet(table, GT_SHEET_KERNEL_LAUNCHERS_SUMMARY, count_gpus(rows));
    return table;
}

gt_table *gt_jax_summary_by_category(const gt_table *rows)
{
    gt_table *table = sum_by(rows, GT_COL_OP_CATEGORY, category_aggregates, GT_LENGTH(category_aggregates));
    finish_sheet(table, GT_SHEET_KERNEL_LAUNCHERS_SUMMARY_BY_CATEGORY, count_gpus(rows));
    return table;
}

/* Copies only the columns that a summary needs, because the sheet is as large as the trace. */
static gt_table *copy_used_columns(const gt_table *sheet)
{
    static const gt_col used[] = {GT_COL_NAME, GT_COL_OP_CATEGORY, GT_COL_TOTAL_DIRECT_KERNEL_TIME,
                                  GT_COL_TOTAL_SUBTREE_KERNEL_TIME, GT_COL_PID};
    gt_table *rows = gt_table_new(GT_SHEET_UNNAMED, sheet->strings);
    for (size_t i = 0; i < GT_LENGTH(used); i++)
        gt_table_add_column(rows, used[i], gt_table_column(sheet, used[i])->type);
    gt_table_add_rows(rows, sheet->row_count);
    for (size_t i = 0; i < GT_LENGTH(used) && sheet->row_count; i++) {
        const gt_column *from = gt_table_column(sheet, used[i]);
        const size_t size = from->type == GT_TYPE_STRING ? sizeof *from->texts : sizeof *from->ints;
        memcpy(rows->columns[i].ints, from->ints, sheet->row_count * size);
    }
    return rows;
}

gt_table *gt_jax_xla_summary(const gt_table *xla_perf)
{
    gt_table *rows = copy_used_columns(xla_perf);
    uint32_t *names = gt_table_column(rows, GT_COL_NAME)->texts;
    for (size_t row = 0; row < rows->row_count; row++)
        names[row] = gt_name_without_digits(rows->strings, gt_interner_get(rows->strings, names[row]));
    gt_table *table = gt_jax_summary(rows);
    gt_table_rename(table, GT_SHEET_XLA_SUMMARY);
    gt_table_free(rows);
    return table;
}

/* ---- kernel_launchers_unique_args ---- */

static const gt_col unique_keys[] = {GT_COL_NAME,       GT_COL_OP_CATEGORY,   GT_COL_INPUT_DIMS,
                                     GT_COL_INPUT_TYPE, GT_COL_INPUT_STRIDES, GT_COL_CONCRETE_INPUTS};

#define BOTH(kind) GT_AGGREGATE(TOTAL_DIRECT_KERNEL_TIME, kind), GT_AGGREGATE(TOTAL_SUBTREE_KERNEL_TIME, kind)

static const gt_aggregate unique_measures[] = {
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL_OPERATION_COUNT},
    BOTH(MEAN),
    BOTH(MEDIAN),
    BOTH(STD),
    BOTH(MIN),
    BOTH(MAX),
    BOTH(SUM),
    {GT_COL_UID, GT_GROUP_FIRST, GT_COL_EX_UID},
};

static const gt_sort_key longest_first[] = {{GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM, true},
                                            {GT_COL_EX_UID, false}};

typedef struct context {
    gt_jax_kernels *kernels;
    const int64_t *kernel_of_row;
} context;

static gt_str rest_of(void *given, size_t row)
{
    context *c = given;
    return gt_jax_details_of(c->kernels, (size_t)c->kernel_of_row[row])->rest;
}

gt_table *gt_jax_unique_args(gt_jax_kernels *kernels, const gt_table *launchers)
{
    const gt_group_options as_seen = {0};
    gt_table *table = gt_table_group(launchers, unique_keys, GT_LENGTH(unique_keys), unique_measures,
                                     GT_LENGTH(unique_measures), as_seen);
    gt_table_rename(table, GT_SHEET_KERNEL_LAUNCHERS_UNIQUE_ARGS);
    gt_groups groups = gt_groups_find(launchers, unique_keys, GT_LENGTH(unique_keys), as_seen);
    context c = {kernels, gt_table_column(launchers, GT_COL_KERNEL)->ints};
    gt_jax_add_kernel_stats(table, GT_COL_KERNEL_DETAILS_SUMMARY, &groups,
                            gt_table_column(launchers, GT_COL_NAME)->texts,
                            gt_table_column(launchers, GT_COL_TOTAL_DIRECT_KERNEL_TIME)->floats, rest_of, &c);
    gt_groups_free(&groups);
    gt_table_sort(table, longest_first, GT_LENGTH(longest_first));
    gt_table_add_percentages(table, gt_table_find(table, GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM));
    return table;
}
