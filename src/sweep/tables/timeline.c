/* `sweep timeline`: the rows of a setting's ranks are grouped by type; pivots are made of the rows of all
 * settings. */
#include "sweep/tables/tables.h"
#include "base/guard.h"
#include "schema/columns.h"
#include "table/stats.h"

static const double ZERO_STAND_IN = 1e-10; /* in geometric means */

enum { TYPE, TIME, PERCENT, SOURCE_COLUMNS };
static const gt_col source_columns[SOURCE_COLUMNS] = {GT_COL_TYPE, GT_COL_TIME_MS, GT_COL_PERCENT};

static const struct {
    const char *type;
    gt_col column;
} summary_columns[] = {
    {"computation_time", GT_COL_COMPUTATION_TIME_MS},
    {"exposed_comm_time", GT_COL_EXPOSED_COMM_TIME_MS},
    {"busy_time", GT_COL_BUSY_TIME_MS},
    {"idle_time", GT_COL_IDLE_TIME_MS},
    {"total_time", GT_COL_TOTAL_TIME_MS},
};

/* ---- one setting ---- */

gt_table *gt_timeline_rows(const gt_setting_report *report)
{
    if (!report->table) return NULL;
    gt_table *rows = gt_table_copy(report->table);
    gt_table_select(rows, source_columns, SOURCE_COLUMNS);
    bool ok = rows->column_count == SOURCE_COLUMNS && rows->columns[TYPE].type == GT_TYPE_STRING;
    for (size_t c = TIME; ok && c < SOURCE_COLUMNS; c++) {
        ok = gt_column_is_number(&rows->columns[c]);
        if (ok && rows->columns[c].type == GT_TYPE_INT) gt_table_make_float(rows, c);
    }
    if (ok) return rows;
    gt_warn("%s: skipped, sheet gpu_timeline has no type, time ms or percent", report->path);
    gt_table_free(rows);
    return NULL;
}

static double geometric_mean(const double *values, const uint32_t *of_row, size_t rows, uint32_t group,
                             double *logs)
{
    size_t count = 0;
    for (size_t row = 0; row < rows; row++) {
        if (of_row[row] != group) continue;
        if (isnan(values[row])) return NAN;
        logs[count++] = log(values[row] == 0 ? ZERO_STAND_IN : values[row]);
    }
    return exp(gt_sum_pairwise(logs, count) / (double)count);
}

/* Replaces means with geometric means; both have the same groups in the same order. */
static void make_geometric(gt_table *means, const gt_table *rows)
{
    gt_groups groups = gt_groups_find(rows, &source_columns[TYPE], 1, (gt_group_options){.sorted = true});
    double *logs = gt_alloc(rows->row_count * sizeof *logs);
    for (uint32_t g = 0; g < groups.count; g++)
        for (size_t c = TIME; c < SOURCE_COLUMNS; c++)
            means->columns[c].floats[g] =
                geometric_mean(rows->columns[c].floats, groups.of_row, rows->row_count, g, logs);
    gt_free(logs);
    gt_groups_free(&groups);
}

gt_table *gt_timeline_means(const gt_table *rows, bool geometric)
{
    static const gt_aggregate means[] = {{GT_COL_TIME_MS, GT_GROUP_MEAN, GT_COL_TIME_MS},
                                         {GT_COL_PERCENT, GT_GROUP_MEAN, GT_COL_PERCENT}};
    gt_table *table = gt_table_group(rows, &source_columns[TYPE], 1, means, GT_LENGTH(means),
                                     (gt_group_options){.sorted = true});
    if (geometric) make_geometric(table, rows);
    return table;
}

/* The rows of All_Data of one setting. */
static gt_table *rows_of_setting(const gt_sweep *sweep, const gt_sweep_config *config, size_t ranks,
                                 gt_table *means)
{
    gt_add_setting_columns(means, sweep, config);
    size_t column = gt_table_add_column(means, GT_COL_NUM_RANKS, GT_TYPE_INT);
    for (size_t row = 0; row < means->row_count; row++) gt_table_set_int(means, column, row, (int64_t)ranks);
    for (size_t c = 0; c < SOURCE_COLUMNS; c++) gt_table_move_column(means, 0, means->column_count - 1);
    return means;
}

static void append(gt_table **all, gt_table *more)
{
    if (*all && more) gt_table_append_same(*all, more);
    if (*all)
        gt_table_free(more);
    else
        *all = more;
}

static gt_table *all_data(const gt_setting_reports *reports, bool geometric)
{
    static const gt_sort_key order[] = {
        {GT_COL_THREADS_NUM, false}, {GT_COL_CHANNELS_NUM, false}, {GT_COL_TYPE, false}};
    gt_table *all = NULL;
    for (size_t first = 0, end; first < reports->count; first = end) {
        gt_table *rows = NULL;
        for (end = first; end < reports->count && reports->items[first].config == reports->items[end].config;
             end++)
            append(&rows, gt_timeline_rows(&reports->items[end]));
        if (rows)
            append(&all, rows_of_setting(&reports->sweep, reports->items[first].config, end - first,
                                         gt_timeline_means(rows, geometric)));
        gt_table_free(rows);
    }
    if (all) {
        gt_table_rename(all, GT_SHEET_ALL_DATA);
        if (reports->sweep.is_classic) gt_table_sort(all, order, GT_LENGTH(order));
    }
    return all;
}

/* ---- other sheets ---- */

/* Types and settings without any value are omitted, like pandas does. */
static gt_table *pivot_of(const gt_table *all, gt_col values, gt_sheet name, gt_error *error)
{
    static const gt_col index[] = {GT_COL_TYPE};
    gt_table *filled = gt_table_copy(all);
    uint8_t *keep = gt_alloc(all->row_count + 1);
    for (size_t row = 0; row < all->row_count; row++)
        keep[row] = !gt_column_is_null(gt_table_column(all, values), row);
    gt_table_keep(filled, keep);
    gt_free(keep);
    gt_table *pivot = gt_table_pivot(
        filled,
        &(gt_pivot){.index = index, .index_count = 1, .columns = GT_COL_FULL_CONFIG, .values = values},
        error);
    if (pivot) gt_table_rename(pivot, name);
    gt_table_free(filled);
    return pivot;
}

/* The columns of All_Data that a run has only one value of: those of its axes, without the texts of threads
 * and channels, and the number of ranks. */
static size_t list_firsts(const gt_sweep *sweep, gt_aggregate *firsts)
{
    gt_col columns[GT_SETTING_COLUMNS_MAX];
    size_t all = gt_setting_columns(sweep, columns), count = 0;
    for (size_t i = 1; i < all; i++)
        if (strcmp(columns[i].name, GT_COL_THREAD_CONFIG.name) != 0 &&
            strcmp(columns[i].name, GT_COL_CHANNEL_CONFIG.name) != 0)
            firsts[count++] = (gt_aggregate){columns[i], GT_GROUP_FIRST, columns[i]};
    firsts[count++] = (gt_aggregate){GT_COL_NUM_RANKS, GT_GROUP_FIRST, GT_COL_NUM_RANKS};
    return count;
}

static gt_table *summary_of(const gt_sweep *sweep, const gt_table *all)
{
    static const gt_col keys[] = {GT_COL_FULL_CONFIG};
    gt_aggregate firsts[GT_SETTING_COLUMNS_MAX + 1];
    size_t first_count = list_firsts(sweep, firsts);
    const gt_group_options sorted = {.sorted = true};
    gt_table *summary = gt_table_group(all, keys, 1, firsts, first_count, sorted);
    gt_table_rename(summary, GT_SHEET_SUMMARY_BY_CONFIG);
    gt_groups groups = gt_groups_find(all, keys, 1, sorted);
    const gt_column *type = gt_table_column(all, GT_COL_TYPE), *time = gt_table_column(all, GT_COL_TIME_MS);
    for (size_t i = 0; i < GT_LENGTH(summary_columns); i++) {
        size_t column = gt_table_add_column(summary, summary_columns[i].column, GT_TYPE_FLOAT);
        uint32_t wanted = gt_interner_add_cstr(all->strings, summary_columns[i].type);
        for (size_t row = 0; row < all->row_count; row++)
            if (type->texts[row] == wanted)
                gt_table_set_float(summary, column, groups.of_row[row], time->floats[row]);
    }
    gt_groups_free(&groups);
    return summary;
}

bool gt_sweep_timeline_tables(const gt_setting_reports *reports, bool geometric, gt_table_list *tables,
                              gt_error *error)
{
    gt_table *all = all_data(reports, geometric);
    if (!all) return gt_fail(error, "no report has a readable sheet gpu_timeline");
    gt_table_list_add(tables, all);
    static const struct {
        gt_col values;
        gt_sheet sheet;
    } pivots[] = {{GT_COL_TIME_MS, GT_SHEET_PIVOT_TIME_MS}, {GT_COL_PERCENT, GT_SHEET_PIVOT_PERCENT}};
    for (size_t i = 0; i < GT_LENGTH(pivots); i++) {
        gt_table *pivot = pivot_of(all, pivots[i].values, pivots[i].sheet, error);
        if (!pivot) return false;
        gt_table_list_add(tables, pivot);
    }
    gt_table_list_add(tables, summary_of(&reports->sweep, all));
    return true;
}

gt_table *gt_sweep_timeline_types(const gt_table *all)
{
    static const gt_aggregate count[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_SETTINGS}};
    return gt_table_group(all, (gt_col[]){GT_COL_TYPE}, 1, count, 1, (gt_group_options){.sorted = true});
}

gt_table *gt_sweep_timeline_of_type(const gt_table *all, const char *type)
{
    gt_table *rows = gt_table_copy(all);
    uint8_t *keep = gt_alloc_zero(all->row_count, 1);
    uint32_t wanted = gt_interner_add_cstr(all->strings, type);
    const gt_column *types = gt_table_column(all, GT_COL_TYPE);
    for (size_t row = 0; row < all->row_count; row++) keep[row] = types->texts[row] == wanted;
    gt_table_keep(rows, keep);
    gt_table_sort(rows, &(gt_sort_key){GT_COL_TIME_MS, false}, 1);
    gt_free(keep);
    return rows;
}
