/* Parts of sheets that several domains share. Sums of INT columns are exact; sums of FLOAT columns are added
 * in numpy's order (pairwise), so that percentages are equal to pandas' to the last bit. */
#include "analysis/sheet_parts.h"

#include "base/guard.h"
#include "schema/columns.h"
#include "table/stats.h"

/* ---- columns ---- */

static double column_sum(const gt_column *column, size_t rows)
{
    if (column->type == GT_TYPE_FLOAT) return gt_sum_pairwise(column->floats, rows);
    __int128 sum = 0;
    for (size_t row = 0; row < rows; row++) sum += column->ints[row];
    return (double)sum;
}

size_t gt_table_add_ms(gt_table *table, gt_col us, gt_col ms)
{
    size_t from = gt_table_find(table, us), to = gt_table_add_zeroed(table, ms, GT_TYPE_FLOAT);
    for (size_t row = 0; row < table->row_count; row++)
        table->columns[to].floats[row] = gt_column_number(&table->columns[from], row) / 1000;
    return to;
}

static void divide_column(gt_table *table, size_t column, double divisor, gt_col name)
{
    gt_table_make_float(table, column);
    for (size_t row = 0; row < table->row_count; row++) table->columns[column].floats[row] /= divisor;
    gt_table_rename_column(table, column, name);
}

void gt_table_ns_to_us(gt_table *table, size_t column, gt_col name)
{
    divide_column(table, column, 1e3, name);
}

void gt_table_ns_to_ms(gt_table *table, size_t column, gt_col name)
{
    divide_column(table, column, 1e6, name);
}

size_t gt_table_add_percentage(gt_table *table, size_t column, double total, gt_col name)
{
    if (!(total > 0)) return gt_table_add_zeroed(table, name, GT_TYPE_INT);
    size_t added = gt_table_add_zeroed(table, name, GT_TYPE_FLOAT);
    for (size_t row = 0; row < table->row_count; row++)
        table->columns[added].floats[row] = gt_column_number(&table->columns[column], row) / total * 100.0;
    return added;
}

void gt_table_add_percentages(gt_table *table, size_t column)
{
    double total = column_sum(&table->columns[column], table->row_count);
    size_t percentage = gt_table_add_percentage(table, column, total, GT_COL_PERCENTAGE_PCT);
    gt_type type = table->columns[percentage].type;
    size_t cumulative = gt_table_add_zeroed(table, GT_COL_CUMULATIVE_PERCENTAGE_PCT, type);
    if (type == GT_TYPE_FLOAT)
        gt_cumulative_sum(table->columns[cumulative].floats, table->columns[percentage].floats,
                          table->row_count);
}

/* ---- gpu_timeline ---- */

enum { TYPE, TIME_MS, PERCENT };

gt_table *gt_gpu_timeline_new(gt_interner *strings)
{
    gt_table *timeline = gt_table_new(GT_SHEET_GPU_TIMELINE, strings);
    gt_table_add_column(timeline, GT_COL_TYPE, GT_TYPE_STRING);
    gt_table_add_column(timeline, GT_COL_TIME_MS, GT_TYPE_FLOAT);
    gt_table_add_column(timeline, GT_COL_PERCENT, GT_TYPE_FLOAT);
    return timeline;
}

static void add_ms(gt_table *timeline, const char *type, double time_ms, double percent)
{
    size_t row = gt_table_add_row(timeline);
    gt_table_set_cstr(timeline, TYPE, row, type);
    gt_table_set_float(timeline, TIME_MS, row, time_ms);
    gt_table_set_float(timeline, PERCENT, row, percent);
}

void gt_gpu_timeline_add(gt_table *timeline, const char *type, double time_us, double percent)
{
    add_ms(timeline, type, time_us / 1e3, percent);
}

void gt_gpu_timeline_add_ns(gt_table *timeline, const char *type, double time_ns, double percent)
{
    add_ms(timeline, type, time_ns / 1e6, percent);
}

gt_table *gt_gpu_timeline_by_device_new(gt_interner *strings)
{
    gt_table *by_device = gt_gpu_timeline_new(strings);
    gt_table_rename(by_device, GT_SHEET_GPU_TIMELINE_BY_DEVICE);
    gt_table_move_column(by_device, gt_table_add_column(by_device, GT_COL_DEVICE, GT_TYPE_INT), 0);
    return by_device;
}

size_t gt_gpu_timeline_add_device(gt_table *by_device, int64_t device, const gt_table *timeline)
{
    size_t first = by_device->row_count;
    gt_error error;
    if (!gt_table_append_outer(by_device, timeline, &error)) gt_raise_internal("%s", error.text);
    size_t column = gt_table_find(by_device, GT_COL_DEVICE);
    for (size_t row = first; row < by_device->row_count; row++)
        gt_table_set_int(by_device, column, row, device);
    return first;
}

/* ---- short_kernel_histogram ---- */

gt_table *gt_short_kernel_histogram(gt_interner *strings, const double *dur_us, size_t count, int64_t bins,
                                    gt_error *error)
{
    if (bins < 1 || bins > GT_HISTOGRAM_BINS_MAX) {
        gt_fail(error, "a histogram has 1 to %d bins, not %lld", GT_HISTOGRAM_BINS_MAX, (long long)bins);
        return NULL;
    }
    gt_table *histogram = gt_table_new(GT_SHEET_SHORT_KERNEL_HISTOGRAM, strings);
    size_t start = gt_table_add_column(histogram, GT_COL_BIN_START, GT_TYPE_FLOAT);
    size_t end = gt_table_add_column(histogram, GT_COL_BIN_END, GT_TYPE_FLOAT);
    size_t counts = gt_table_add_column(histogram, GT_COL_COUNT, GT_TYPE_INT);
    if (!count) return histogram;

    size_t rows = (size_t)bins;
    double *edges = gt_alloc((rows + 1) * sizeof *edges);
    gt_table_add_rows(histogram, rows);
    bool fits = gt_histogram(dur_us, count, rows, edges, histogram->columns[counts].ints);
    for (size_t row = 0; fits && row < rows; row++) {
        histogram->columns[start].floats[row] = edges[row];
        histogram->columns[end].floats[row] = edges[row + 1];
    }
    gt_free(edges);
    if (fits) return histogram;
    gt_table_free(histogram);
    gt_fail(error, "short-kernel durations do not fit the histogram range");
    return NULL;
}

/* ---- names ---- */

uint32_t gt_name_without_digits(gt_interner *strings, gt_str name)
{
    char *kept = gt_alloc(name.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < name.len; i++)
        if (name.bytes[i] < '0' || name.bytes[i] > '9') kept[len++] = name.bytes[i];
    uint32_t id = gt_interner_add(strings, kept, len);
    gt_free(kept);
    return id;
}
