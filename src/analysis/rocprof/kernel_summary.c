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
#include "table/group.h"
#include "table/sort.h"

static const gt_aggregate of_name[] = {
    {"dur_ns", GT_GROUP_SIZE, "Count"},       {"dur_ns", GT_GROUP_MEAN, "mean_ns"},
    {"dur_ns", GT_GROUP_MEDIAN, "median_ns"}, {"dur_ns", GT_GROUP_STD, "std_ns"},
    {"dur_ns", GT_GROUP_MIN, "min_ns"},       {"dur_ns", GT_GROUP_MAX, "max_ns"},
    {"dur_ns", GT_GROUP_SUM, "total_ns"},
};

static const struct {
    const char *ns, *us;
} summary_times[] = {
    {"mean_ns", "Mean Kernel Time (µs)"}, {"median_ns", "Median Kernel Time (µs)"},
    {"std_ns", "Std Kernel Time (µs)"},   {"min_ns", "Min Kernel Time (µs)"},
    {"max_ns", "Max Kernel Time (µs)"},
};

static const char *const summary_columns[] = {
    "name",
    "Count",
    "Mean Kernel Time (µs)",
    "Median Kernel Time (µs)",
    "Std Kernel Time (µs)",
    "Min Kernel Time (µs)",
    "Max Kernel Time (µs)",
    "Percentage (%)",
    "Cumulative Percentage (%)",
    "Total Kernel Time (ms)",
    "Category",
};

/* Of a sheet without rows: readers of these files know this other order. */
static const char *const summary_columns_empty[] = {
    "name",
    "Count",
    "Mean Kernel Time (µs)",
    "Median Kernel Time (µs)",
    "Std Kernel Time (µs)",
    "Min Kernel Time (µs)",
    "Max Kernel Time (µs)",
    "Total Kernel Time (ms)",
    "Percentage (%)",
    "Cumulative Percentage (%)",
    "Category",
};

static const gt_aggregate of_category[] = {
    {"Count", GT_GROUP_SUM, "Count"},
    {"total_ns", GT_GROUP_SUM, "total_ns"},
};

static const char *const category_columns[] = {
    "op category", "Count", "total_direct_kernel_time_ms", "Percentage (%)", "Cumulative Percentage (%)",
};

static const gt_sort_key longest_first[] = {{"total_ns", true}};

void gt_kernels_add_categories(gt_table *names)
{
    size_t name = gt_table_find(names, "name");
    size_t category = gt_table_add_filled(names, "Category", GT_TYPE_STRING);
    for (size_t row = 0; row < names->row_count; row++) {
        gt_str text = gt_interner_get(names->strings, names->columns[name].texts[row]);
        gt_table_set_cstr(names, category, row, gt_kernel_category(text));
    }
}

gt_table *gt_kernels_by_name(const gt_table *kernels)
{
    static const char *const keys[] = {"name"};
    gt_table *names = gt_table_group(kernels, keys, GT_LENGTH(keys), of_name, GT_LENGTH(of_name),
                                     (gt_group_options){.sorted = true});
    gt_kernels_add_categories(names);
    return names;
}

gt_table *gt_kernel_summary(const gt_table *by_name)
{
    gt_table *summary = gt_table_copy(by_name);
    gt_table_rename(summary, "kernel_summary");
    gt_table_sort(summary, longest_first, GT_LENGTH(longest_first));
    gt_table_add_percentages(summary, gt_table_find(summary, "total_ns"));
    for (size_t i = 0; i < GT_LENGTH(summary_times); i++)
        gt_kernel_times_to_us(summary, gt_table_find(summary, summary_times[i].ns), summary_times[i].us);
    gt_kernel_times_to_ms(summary, gt_table_find(summary, "total_ns"), "Total Kernel Time (ms)");
    gt_table_select(summary, summary->row_count ? summary_columns : summary_columns_empty,
                    GT_LENGTH(summary_columns));
    return summary;
}

gt_table *gt_kernel_summary_by_category(const gt_table *by_name)
{
    static const char *const keys[] = {"Category"};
    gt_table *categories = gt_table_group(by_name, keys, GT_LENGTH(keys), of_category, GT_LENGTH(of_category),
                                          (gt_group_options){.sorted = true});
    gt_table_rename(categories, "kernel_summary_by_category");
    gt_table_sort(categories, longest_first, GT_LENGTH(longest_first));
    gt_table_add_percentages(categories, gt_table_find(categories, "total_ns"));
    gt_kernel_times_to_ms(categories, gt_table_find(categories, "total_ns"), "total_direct_kernel_time_ms");
    gt_table_rename_column(categories, gt_table_find(categories, "Category"), "op category");
    gt_table_select(categories, category_columns, GT_LENGTH(category_columns));
    return categories;
}
