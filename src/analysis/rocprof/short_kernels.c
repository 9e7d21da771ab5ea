/* Short kernels: those with a duration strictly below the threshold.
 *
 *     Short Kernel count                                dispatches of that name below the threshold
 *     Short Kernel duration (µs) sum                    sum of nanoseconds / 1000
 *     Short Kernel duration (µs) mean                   sum of nanoseconds / count / 1000
 *     Short Kernel duration (µs) percent of total time  sum / time of all kernels * 100; 0 where that is not
 * above 0
 *
 * The histogram's edges are numpy's: step = (longest - shortest) / bins, edge i = i * step + shortest, the
 * last edge the longest itself; where all are equal, from half a microsecond below to half above. A bin holds
 * its lower edge, the last one both. */
#include "analysis/rocprof/short_kernels.h"

#include "analysis/rocprof/kernel_times.h"
#include "analysis/percentages.h"
#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"
#include "table/stats.h"

#include <stdlib.h>

static const gt_aggregate of_name[] = {
    {GT_COL_DUR_NS, GT_GROUP_SIZE, GT_COL_SHORT_KERNEL_COUNT},
    {GT_COL_DUR_NS, GT_GROUP_SUM, GT_COL_SUM_NS},
    {GT_COL_DUR_NS, GT_GROUP_MEAN, GT_COL_MEAN_NS},
};

gt_table *gt_short_kernels(const gt_table *kernels, int64_t threshold_us)
{
    __int128 threshold_ns = (__int128)threshold_us * 1000;
    const int64_t *dur_ns = kernels->columns[GT_KERNEL_DUR_NS].ints;
    uint32_t *rows = gt_alloc(kernels->row_count * sizeof *rows);
    size_t count = 0;
    for (size_t row = 0; row < kernels->row_count; row++) {
        rows[count] = (uint32_t)row;
        count += dur_ns[row] < threshold_ns;
    }
    gt_table *short_kernels = gt_table_copy_rows(kernels, rows, count);
    gt_free(rows);
    return short_kernels;
}

gt_table *gt_short_kernels_summary(const gt_table *short_kernels, int64_t all_ns)
{
    static const gt_col keys[] = {GT_COL_NAME};
    static const gt_sort_key longest_first[] = {{GT_COL_SUM_NS, true}};
    gt_table *summary = gt_table_group(short_kernels, keys, GT_LENGTH(keys), of_name, GT_LENGTH(of_name),
                                       (gt_group_options){.sorted = true});
    gt_table_rename(summary, GT_SHEET_SHORT_KERNELS_SUMMARY);
    gt_table_sort(summary, longest_first, GT_LENGTH(longest_first));
    size_t sum = gt_table_find(summary, GT_COL_SUM_NS), mean = gt_table_find(summary, GT_COL_MEAN_NS);
    gt_table_add_percentage(summary, sum, (double)all_ns,
                            GT_COL_SHORT_KERNEL_DURATION_US_PERCENT_OF_TOTAL_TIME);
    gt_kernel_times_to_us(summary, sum, GT_COL_SHORT_KERNEL_DURATION_US_SUM);
    gt_kernel_times_to_us(summary, mean, GT_COL_SHORT_KERNEL_DURATION_US_MEAN);
    return summary;
}

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
    size_t in_bin = gt_table_add_column(histogram, GT_COL_COUNT, GT_TYPE_INT);
    if (!count) return histogram;

    size_t rows = (size_t)bins;
    double *edges = gt_alloc((rows + 1) * sizeof *edges);
    gt_table_add_rows(histogram, rows);
    bool binned = gt_histogram(dur_us, count, rows, edges, histogram->columns[in_bin].ints);
    for (size_t row = 0; binned && row < rows; row++) {
        histogram->columns[start].floats[row] = edges[row];
        histogram->columns[end].floats[row] = edges[row + 1];
    }
    gt_free(edges);
    if (binned) return histogram;
    gt_table_free(histogram);
    gt_fail(error, "the durations of the short kernels are too far out to be put in bins");
    return NULL;
}
