/* Summary of power and memory samples: each column of samples becomes one row. Times are strings as Python
 * prints them. */
#include "analysis/rocprof/sheets.h"

#include "schema/columns.h"
#include "table/stats.h"

#include <time.h>

/* "2025-01-31 12:00:00.000123" as seconds; NaN if it is not a time. */
static double seconds_of(const char *text)
{
    struct tm t = {0};
    double seconds;
    if (sscanf(text, "%4d-%2d-%2d %2d:%2d:%lf", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour, &t.tm_min,
               &seconds) != 6)
        return NAN;
    t.tm_year -= 1900;
    t.tm_mon--;
    return (double)timegm(&t) + seconds;
}

static double *times_of(const gt_table *samples)
{
    const gt_column *column = &samples->columns[0];
    double *times = gt_alloc((samples->row_count + 1) * sizeof *times);
    for (size_t i = 0; i < samples->row_count; i++)
        times[i] = column->type == GT_TYPE_STRING
                       ? seconds_of(gt_interner_get(samples->strings, column->texts[i]).bytes)
                       : NAN;
    return times;
}

/* The cells as numbers; NaN for cells without a number ("N/A"). */
static double *values_of(const gt_column *column, size_t rows)
{
    double *values = gt_alloc((rows + 1) * sizeof *values);
    for (size_t i = 0; i < rows; i++)
        values[i] = column->type == GT_TYPE_FLOAT                                  ? column->floats[i]
                    : column->type == GT_TYPE_INT && !gt_column_is_null(column, i) ? (double)column->ints[i]
                                                                                   : NAN;
    return values;
}

/* Trapezoids between the samples that have a value: a missing one takes no energy away. Before the first and
 * after the last value, the power is taken to be that value. */
static double energy_of(const double *watts, const double *times, size_t count)
{
    double joules = 0, since = NAN, power = NAN;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(times[i])) continue;
        bool has_power = isfinite(watts[i]);
        double elapsed = times[i] - since;
        if (isnan(since)) {
            since = times[i];
            power = has_power ? watts[i] : NAN;
        } else if (has_power) {
            if (elapsed > 0) joules += elapsed * (isnan(power) ? watts[i] : (power + watts[i]) / 2);
            since = times[i];
            power = watts[i];
        } else if (i + 1 == count && elapsed > 0 && isfinite(power)) {
            joules += elapsed * power;
        }
    }
    return joules;
}

static void add_gpu(gt_table *summary, const gt_table *samples, size_t column, const double *times,
                    bool is_power)
{
    const gt_column *c = &samples->columns[column];
    const char *last_space = strrchr(c->name, ' ');
    size_t rows = samples->row_count, row = gt_table_add_row(summary);
    double *values = values_of(c, rows), min = INFINITY, max = -INFINITY;
    int64_t count = 0;
    for (size_t i = 0; i < rows; i++) {
        if (isnan(values[i])) continue;
        count++;
        if (values[i] < min) min = values[i];
        if (values[i] > max) max = values[i];
    }
    gt_table_set_cstr(summary, 0, row, last_space ? last_space + 1 : c->name);
    gt_table_set_int(summary, 1, row, count);
    if (count) {
        gt_table_set_float(summary, 2, row, min);
        gt_table_set_float(summary, 3, row, gt_mean(values, rows));
        gt_table_set_float(summary, 4, row, max);
        gt_table_set_float(summary, 5, row, gt_quantile(values, rows, 0.95));
        if (is_power) gt_table_set_float(summary, 6, row, energy_of(values, times, rows));
    }
    gt_free(values);
}

gt_table *gt_gpu_samples_summary(const gt_table *samples, gt_sheet name, bool is_power)
{
    gt_table *summary = gt_table_new(name, samples->strings);
    gt_table_add_column(summary, GT_COL_GPU, GT_TYPE_STRING);
    gt_table_add_column(summary, GT_COL_SAMPLES, GT_TYPE_INT);
    static const gt_col statistics[] = {GT_COL_MIN, GT_COL_MEAN, GT_COL_MAX, GT_COL_P95, GT_COL_ENERGY_J};
    for (size_t i = 0; i < (is_power ? 5 : 4); i++)
        gt_table_add_column(summary, statistics[i], GT_TYPE_FLOAT);
    double *times = samples->column_count ? times_of(samples) : NULL;
    for (size_t c = 1; c < samples->column_count; c++) add_gpu(summary, samples, c, times, is_power);
    gt_free(times);
    return summary;
}
