/* Group by name and arguments, measure, describe, sort by time. */
#include "analysis/jax/unique_args.h"
#include "analysis/jax/kernel_stats.h"
#include "analysis/percentages.h"
#include "base/length.h"
#include "table/group.h"
#include "table/sort.h"

#include <stdlib.h>
#include <string.h>

static const char *const keys[] = {"name",       "op category",   "Input Dims",
                                   "Input type", "Input Strides", "Concrete Inputs"};
enum { KEYS = GT_LENGTH(keys) };

#define BOTH(kind, suffix)                                                                                   \
    {"total_direct_kernel_time", kind, "total_direct_kernel_time_" suffix},                                  \
    {                                                                                                        \
        "total_subtree_kernel_time", kind, "total_subtree_kernel_time_" suffix                               \
    }

static const gt_aggregate measures[] = {
    {NULL, GT_GROUP_SIZE, "operation_count"},
    BOTH(GT_GROUP_MEAN, "mean"),
    BOTH(GT_GROUP_MEDIAN, "median"),
    BOTH(GT_GROUP_STD, "std"),
    BOTH(GT_GROUP_MIN, "min"),
    BOTH(GT_GROUP_MAX, "max"),
    BOTH(GT_GROUP_SUM, "sum"),
    {"UID", GT_GROUP_FIRST, "ex_UID"},
};

static const gt_sort_key longest_first[] = {{"total_direct_kernel_time_sum", true}, {"ex_UID", false}};

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
    gt_table *table = gt_table_group(launchers, keys, KEYS, measures, GT_LENGTH(measures), as_seen);
    gt_table_rename(table, "kernel_launchers_unique_args");
    gt_groups groups = gt_groups_find(launchers, keys, KEYS, as_seen);
    context c = {kernels, gt_table_column(launchers, GT_JAX_KERNEL_COLUMN)->ints};
    uint32_t *cells = gt_jax_kernel_stats(&groups, gt_table_column(launchers, "name")->texts,
                                          gt_table_column(launchers, "total_direct_kernel_time")->floats,
                                          launchers->strings, rest_of, &c);
    size_t details = gt_table_add_zeroed(table, "kernel_details_summary", GT_TYPE_STRING);
    if (groups.count) memcpy(table->columns[details].texts, cells, groups.count * sizeof *cells);
    gt_free(cells);
    gt_groups_free(&groups);
    gt_table_sort(table, longest_first, GT_LENGTH(longest_first));
    gt_table_add_percentages(table, gt_table_find(table, "total_direct_kernel_time_sum"));
    return table;
}
