/* `sweep comms`: rows are collected in the order of the files, then sorted by operation and setting.
 * Columns have the type that pandas gives them: integer if all files have integers. */
#include "sweep/tables/tables.h"
#include "schema/columns.h"

/* The columns of the result; marked: columns of the sheet. */
static const struct {
    gt_col name;
    bool of_sheet;
} columns[] = {
    {GT_COL_OPERATION_ID, false},
    {GT_COL_OPERATION_NAME, false},
    {GT_COL_FULL_MSG_SIZE_MB, true},
    {GT_COL_IN_MSG_NELEMS, true},
    {GT_COL_FULL_CONFIG, false}, /* after the other columns of the run */
    {GT_COL_COLLECTIVE_NAME, true},
    {GT_COL_DTYPE, true},
    {GT_COL_GROUP_SIZE, true},
    {GT_COL_COUNT, true},
    {GT_COL_COMM_LATENCY_MEAN, true},
    {GT_COL_COMM_LATENCY_MEDIAN, true},
    {GT_COL_COMM_LATENCY_MIN, true},
    {GT_COL_COMM_LATENCY_MAX, true},
    {GT_COL_TOTAL_COMM_LATENCY_MS, true},
    {GT_COL_ALGO_BW_GB_PER_S_MEAN, true},
    {GT_COL_ALGO_BW_GB_PER_S_MEDIAN, true},
    {GT_COL_ALGO_BW_GB_PER_S_MIN, true},
    {GT_COL_ALGO_BW_GB_PER_S_MAX, true},
    {GT_COL_BUS_BW_GB_PER_S_MEAN, true},
    {GT_COL_BUS_BW_GB_PER_S_MEDIAN, true},
    {GT_COL_BUS_BW_GB_PER_S_MIN, true},
    {GT_COL_BUS_BW_GB_PER_S_MAX, true},
    {GT_COL_SKEW_IN_START_TIME_MEAN, true},
    {GT_COL_SKEW_IN_START_TIME_MEDIAN, true},
    {GT_COL_SKEW_IN_START_TIME_MIN, true},
    {GT_COL_SKEW_IN_START_TIME_MAX, true},
    {GT_COL_SKEW_IN_END_TIME_MEAN, true},
    {GT_COL_SKEW_IN_END_TIME_MEDIAN, true},
    {GT_COL_SKEW_IN_END_TIME_MIN, true},
    {GT_COL_SKEW_IN_END_TIME_MAX, true},
    {GT_COL_PROCESS_GROUP_NAME, true},
    {GT_COL_SOURCE_FILE, false},
};

/* How an operation is named whose size is below each limit. */
static const double TINY_MB = 0.01, MEDIUM_MB = 100;

/* ---- one file ---- */

/* The required columns of the sheet, and the setting of the file. */
static gt_table *rows_of_report(const gt_sweep *sweep, const gt_setting_report *report, gt_error *error)
{
    gt_col wanted[GT_LENGTH(columns)];
    size_t count = 0;
    for (size_t i = 0; i < GT_LENGTH(columns); i++)
        if (columns[i].of_sheet) wanted[count++] = columns[i].name;
    gt_table *rows = gt_table_copy(report->table);
    gt_table_select(rows, wanted, count);
    for (size_t i = 0; i < count; i++)
        if (gt_table_find(rows, wanted[i]) == SIZE_MAX) {
            gt_fail(error, "%s: nccl_summary_implicit_sync has no column '%s'", report->path, wanted[i].name);
            gt_table_free(rows);
            return NULL;
        }
    gt_add_setting_columns(rows, sweep, report->config);
    gt_add_string_column(rows, GT_COL_SOURCE_FILE, report->file);
    return rows;
}

/* ---- files with different types ---- */

static uint32_t printed(const gt_table *table, const gt_column *column, size_t row)
{
    char text[GT_NUMBER_MAX];
    size_t len = 0;
    if (gt_column_is_null(column, row)) return GT_STR_NONE;
    if (column->type == GT_TYPE_BOOL)
        return gt_interner_add_cstr(table->strings, column->bools[row] ? "True" : "False");
    if (column->type == GT_TYPE_INT)
        len = gt_print_int(text, column->ints[row]);
    else
        len = gt_print_double(text, column->floats[row]);
    return gt_interner_add(table->strings, text, len);
}

static void make_text(gt_table *table, size_t index)
{
    char *name = gt_strdup(table->columns[index].name);
    size_t added = gt_table_add_column(table, gt_col_named(name), GT_TYPE_STRING);
    for (size_t row = 0; row < table->row_count; row++)
        gt_table_set_string(table, added, row, printed(table, &table->columns[index], row));
    gt_table_drop_column(table, index);
    gt_table_move_column(table, added - 1, index);
    gt_free(name);
}

/* If one file has strings and another one numbers, both become strings. */
static void unify_types(gt_table *all, gt_table *more)
{
    for (size_t c = 0; c < all->column_count; c++) {
        size_t other = gt_table_find(more, gt_col_named(all->columns[c].name));
        const gt_column *a = &all->columns[c], *b = &more->columns[other];
        if (a->type == b->type || (gt_column_is_number(a) && gt_column_is_number(b))) continue;
        if (a->type != GT_TYPE_STRING) make_text(all, c);
        if (b->type != GT_TYPE_STRING) make_text(more, other);
    }
}

/* ---- operations ---- */

static char *operation_name(double size_mb)
{
    if (isnan(size_mb)) return gt_strdup("large_nanMB");
    if (size_mb < TINY_MB) return gt_format("tiny_%.3fKB", size_mb * 1000);
    return size_mb < MEDIUM_MB ? gt_format("medium_%.2fMB", size_mb) : gt_format("large_%.2fMB", size_mb);
}

/* Numbers the distinct sizes, ascending; a missing size is last. */
static bool add_operations(gt_table *all, gt_error *error)
{
    static const gt_col keys[] = {GT_COL_FULL_MSG_SIZE_MB};
    const gt_column *sizes = gt_table_column(all, GT_COL_FULL_MSG_SIZE_MB);
    if (!gt_column_is_number(sizes))
        return gt_fail(error, "a value of the column '%s' is not a number", GT_COL_FULL_MSG_SIZE_MB.name);
    gt_groups groups = gt_groups_find(all, keys, 1, (gt_group_options){.sorted = true, .keep_nulls = true});
    size_t id = gt_table_add_column(all, GT_COL_OPERATION_ID, GT_TYPE_STRING);
    size_t name = gt_table_add_column(all, GT_COL_OPERATION_NAME, GT_TYPE_STRING);
    for (size_t row = 0; row < all->row_count; row++) {
        char *number = gt_format("OP_%02" PRIu32, groups.of_row[row] + 1);
        char *called = operation_name(gt_column_number(gt_table_column(all, GT_COL_FULL_MSG_SIZE_MB), row));
        gt_table_set_cstr(all, id, row, number);
        gt_table_set_cstr(all, name, row, called);
        gt_free_all(number, called);
    }
    gt_groups_free(&groups);
    return true;
}

/* By operation, then in the order of the runs. */
static void order_columns(const gt_sweep *sweep, gt_table *all)
{
    static const gt_sort_key order[] = {
        {GT_COL_OPERATION_ID, false}, {GT_COL_THREADS_NUM, false}, {GT_COL_CHANNELS_NUM, false}};
    gt_col names[GT_LENGTH(columns) + GT_SETTING_COLUMNS_MAX], of_run[GT_SETTING_COLUMNS_MAX];
    size_t count = 0, run_count = gt_setting_columns(sweep, of_run);
    for (size_t i = 0; i < GT_LENGTH(columns); i++) {
        bool is_run = strcmp(columns[i].name.name, GT_COL_FULL_CONFIG.name) == 0;
        for (size_t c = 1; is_run && c < run_count; c++) names[count++] = of_run[c];
        names[count++] = columns[i].name;
    }
    gt_table_select(all, names, count);
    gt_table_sort(all, order, sweep->is_classic ? GT_LENGTH(order) : 1); /* stable */
}

gt_table *gt_sweep_comms_table(const gt_setting_reports *reports, gt_interner *strings, gt_error *error)
{
    gt_table *all = NULL;
    bool ok = true;
    for (size_t i = 0; i < reports->count && ok; i++) {
        if (!reports->items[i].table) continue;
        gt_table *rows = rows_of_report(&reports->sweep, &reports->items[i], error);
        ok = rows != NULL;
        if (all && rows) {
            unify_types(all, rows);
            ok = gt_table_append(all, rows, error);
            gt_table_free(rows);
        } else if (rows) {
            all = rows;
            gt_table_rename(all, GT_SHEET_NCCL_DATA);
            gt_table_use_strings(all, strings);
        }
    }
    if (ok && (!all || !all->row_count)) ok = gt_fail(error, "No data was loaded");
    if (ok && add_operations(all, error)) {
        order_columns(&reports->sweep, all);
        return all;
    }
    gt_table_free(all);
    return NULL;
}

/* ---- summaries ---- */

static double number_at(const gt_column *column, size_t row)
{
    return column->type == GT_TYPE_INT ? (double)column->ints[row] : column->floats[row];
}

gt_comms_operations gt_sweep_comms_operations(const gt_table *all)
{
    const gt_column *id = gt_table_column(all, GT_COL_OPERATION_ID),
                    *name = gt_table_column(all, GT_COL_OPERATION_NAME),
                    *elements = gt_table_column(all, GT_COL_IN_MSG_NELEMS),
                    *latency = gt_table_column(all, GT_COL_COMM_LATENCY_MEAN),
                    *setting = gt_table_column(all, GT_COL_FULL_CONFIG);
    gt_comms_operations found = {.items = gt_alloc(all->row_count * sizeof *found.items),
                                 .has_latencies = gt_column_is_number(latency)};
    for (size_t row = 0, end; row < all->row_count; row = end) {
        gt_comms_operation *operation = &found.items[found.count++];
        bool counted = gt_column_is_number(elements) && !gt_column_is_null(elements, row);
        *operation =
            (gt_comms_operation){.id = gt_interner_get(all->strings, id->texts[row]),
                                 .name = gt_interner_get(all->strings, name->texts[row]),
                                 .size_mb = number_at(gt_table_column(all, GT_COL_FULL_MSG_SIZE_MB), row),
                                 .elements = counted ? number_at(elements, row) : NAN,
                                 .best_setting = {"", 0}};
        for (end = row; end < all->row_count && id->texts[end] == id->texts[row]; end++) {
            if (!found.has_latencies || gt_column_is_null(latency, end)) continue;
            double us = number_at(latency, end);
            if (operation->best_setting.len && !(us < operation->best_us)) continue;
            operation->best_setting = gt_interner_get(all->strings, setting->texts[end]);
            operation->best_us = us;
        }
    }
    return found;
}

gt_table *gt_sweep_comms_settings(const gt_table *all)
{
    static const gt_aggregate sums[] = {
        {GT_NO_COL, GT_GROUP_SIZE, GT_COL_ROWS},
        {GT_COL_TOTAL_COMM_LATENCY_MS, GT_GROUP_SUM, GT_COL_TOTAL_COMM_LATENCY_MS}};
    if (!gt_column_is_number(gt_table_column(all, GT_COL_TOTAL_COMM_LATENCY_MS))) return NULL;
    gt_table *settings = gt_table_group(all, (gt_col[]){GT_COL_FULL_CONFIG}, 1, sums, GT_LENGTH(sums),
                                        (gt_group_options){.sorted = true});
    gt_table_sort(settings, &(gt_sort_key){GT_COL_TOTAL_COMM_LATENCY_MS, false}, 1);
    return settings;
}
