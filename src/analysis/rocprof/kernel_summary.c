/* Kernel times by name and by category, the longest total first, equal totals in order of the name.
 *
 *     Count                        dispatches of that name
 *     Mean Kernel Time (µs)        sum of nanoseconds / Count / 1000
 *     Median Kernel Time (µs)      the middle one, or the mean of the two in the middle
 *     Std Kernel Time (µs)         sample standard deviation (Count - 1); empty for one dispatch
 *     Min, Max Kernel Time (µs)
 *     Percentage (%)               total / total of all kernels * 100; 0 where that is not above 0
 *     Cumulative Percentage (%)    running total of Percentage over the rows as shown
 *     Total Kernel Time (ms)       sum of nanoseconds / 1,000,000; also total_direct_kernel_time_ms
 *     Category                     by name: kernel_category.c */
#include "analysis/rocprof/kernel_summary.h"

#include "analysis/rocprof/kernel_category.h"
#include "analysis/rocprof/kernel_times.h"
#include "analysis/percentages.h"
#include "base/length.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

static const gt_aggregate of_name[] = {
    {GT_COL_DUR_NS, GT_GROUP_SIZE, GT_COL_COUNT_TITLE}, {GT_COL_DUR_NS, GT_GROUP_MEAN, GT_COL_MEAN_NS},
    {GT_COL_DUR_NS, GT_GROUP_MEDIAN, GT_COL_MEDIAN_NS}, {GT_COL_DUR_NS, GT_GROUP_STD, GT_COL_STD_NS},
    {GT_COL_DUR_NS, GT_GROUP_MIN, GT_COL_MIN_NS},       {GT_COL_DUR_NS, GT_GROUP_MAX, GT_COL_MAX_NS},
    {GT_COL_DUR_NS, GT_GROUP_SUM, GT_COL_TOTAL_NS},
};

static const struct {
    gt_col ns, us;
} summary_times[] = {
    {GT_COL_MEAN_NS, GT_COL_MEAN_KERNEL_TIME_US}, {GT_COL_MEDIAN_NS, GT_COL_MEDIAN_KERNEL_TIME_US},
    {GT_COL_STD_NS, GT_COL_STD_KERNEL_TIME_US},   {GT_COL_MIN_NS, GT_COL_MIN_KERNEL_TIME_US},
    {GT_COL_MAX_NS, GT_COL_MAX_KERNEL_TIME_US},
};

static const gt_col summary_columns[] = {
    GT_COL_NAME,
    GT_COL_COUNT_TITLE,
    GT_COL_MEAN_KERNEL_TIME_US,
    GT_COL_MEDIAN_KERNEL_TIME_US,
    GT_COL_STD_KERNEL_TIME_US,
    GT_COL_MIN_KERNEL_TIME_US,
    GT_COL_MAX_KERNEL_TIME_US,
    GT_COL_PERCENTAGE_PCT,
    GT_COL_CUMULATIVE_PERCENTAGE_PCT,
    GT_COL_TOTAL_KERNEL_TIME_MS,
    GT_COL_CATEGORY,
};

/* Of a sheet without rows: readers of these files know this other order. */
static const gt_col summary_columns_empty[] = {
    GT_COL_NAME,
    GT_COL_COUNT_TITLE,
    GT_COL_MEAN_KERNEL_TIME_US,
    GT_COL_MEDIAN_KERNEL_TIME_US,
    GT_COL_STD_KERNEL_TIME_US,
    GT_COL_MIN_KERNEL_TIME_US,
    GT_COL_MAX_KERNEL_TIME_US,
    GT_COL_TOTAL_KERNEL_TIME_MS,
    GT_COL_PERCENTAGE_PCT,
    GT_COL_CUMULATIVE_PERCENTAGE_PCT,
    GT_COL_CATEGORY,
};

static const gt_aggregate of_category[] = {
    {GT_COL_COUNT_TITLE, GT_GROUP_SUM, GT_COL_COUNT_TITLE},
    {GT_COL_TOTAL_NS, GT_GROUP_SUM, GT_COL_TOTAL_NS},
};

static const gt_col category_columns[] = {
    GT_COL_OP_CATEGORY,
    GT_COL_COUNT_TITLE,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
    GT_COL_PERCENTAGE_PCT,
    GT_COL_CUMULATIVE_PERCENTAGE_PCT,
};

static const gt_sort_key longest_first[] = {{GT_COL_TOTAL_NS, true}};

void gt_kernels_add_categories(gt_table *names)
{
    size_t name = gt_table_find(names, GT_COL_NAME);
    size_t category = gt_table_add_column(names, GT_COL_CATEGORY, GT_TYPE_STRING);
    for (size_t row = 0; row < names->row_count; row++) {
        gt_str text = gt_interner_get(names->strings, names->columns[name].texts[row]);
        gt_table_set_cstr(names, category, row, gt_kernel_category(text));
    }
}

gt_table *gt_kernels_by_name(const gt_table *kernels)
{
    static const gt_col keys[] = {GT_COL_NAME};
    gt_table *names = gt_table_group(kernels, keys, GT_LENGTH(keys), of_name, GT_LENGTH(of_name),
                                     (gt_group_options){.sorted = true});
    gt_kernels_add_categories(names);
    return names;
}

gt_table *gt_kernel_summary(const gt_table *by_name)
{
    gt_table *summary = gt_table_copy(by_name);
    gt_table_rename(summary, GT_SHEET_KERNEL_SUMMARY);
    gt_table_sort(summary, longest_first, GT_LENGTH(longest_first));
    gt_table_add_percentages(summary, gt_table_find(summary, GT_COL_TOTAL_NS));
    for (size_t i = 0; i < GT_LENGTH(summary_times); i++)
        gt_kernel_times_to_us(summary, gt_table_find(summary, summary_times[i].ns), summary_times[i].us);
    gt_kernel_times_to_ms(summary, gt_table_find(summary, GT_COL_TOTAL_NS), GT_COL_TOTAL_KERNEL_TIME_MS);
    gt_table_select(summary, summary->row_count ? summary_columns : summary_columns_empty,
                    GT_LENGTH(summary_columns));
    return summary;
}

gt_table *gt_kernel_summary_by_category(const gt_table *by_name)
{
    static const gt_col keys[] = {GT_COL_CATEGORY};
    gt_table *categories = gt_table_group(by_name, keys, GT_LENGTH(keys), of_category, GT_LENGTH(of_category),
                                          (gt_group_options){.sorted = true});
    gt_table_rename(categories, GT_SHEET_KERNEL_SUMMARY_BY_CATEGORY);
    gt_table_sort(categories, longest_first, GT_LENGTH(longest_first));
    gt_table_add_percentages(categories, gt_table_find(categories, GT_COL_TOTAL_NS));
    gt_kernel_times_to_ms(categories, gt_table_find(categories, GT_COL_TOTAL_NS),
                          GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS);
    gt_table_rename_column(categories, gt_table_find(categories, GT_COL_CATEGORY), GT_COL_OP_CATEGORY);
    gt_table_select(categories, category_columns, GT_LENGTH(category_columns));
    return categories;
}
