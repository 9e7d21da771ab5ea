/* Group by name and arguments, measure, describe, sort by time. */
#include "analysis/jax/unique_args.h"
#include "analysis/jax/kernel_stats.h"
#include "analysis/sheet_parts.h"
#include "base/length.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <stdlib.h>
#include <string.h>

static const gt_col keys[] = {GT_COL_NAME,       GT_COL_OP_CATEGORY,   GT_COL_INPUT_DIMS,
                              GT_COL_INPUT_TYPE, GT_COL_INPUT_STRIDES, GT_COL_CONCRETE_INPUTS};
enum { KEYS = GT_LENGTH(keys) };

#define BOTH(kind) GT_AGGREGATE(TOTAL_DIRECT_KERNEL_TIME, kind), GT_AGGREGATE(TOTAL_SUBTREE_KERNEL_TIME, kind)

static const gt_aggregate measures[] = {
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
    gt_table *table = gt_table_group(launchers, keys, KEYS, measures, GT_LENGTH(measures), as_seen);
    gt_table_rename(table, GT_SHEET_KERNEL_LAUNCHERS_UNIQUE_ARGS);
    gt_groups groups = gt_groups_find(launchers, keys, KEYS, as_seen);
    context c = {kernels, gt_table_column(launchers, GT_COL_KERNEL)->ints};
    uint32_t *cells = gt_jax_kernel_stats(&groups, gt_table_column(launchers, GT_COL_NAME)->texts,
                                          gt_table_column(launchers, GT_COL_TOTAL_DIRECT_KERNEL_TIME)->floats,
                                          launchers->strings, rest_of, &c);
    size_t details = gt_table_add_zeroed(table, GT_COL_KERNEL_DETAILS_SUMMARY, GT_TYPE_STRING);
    if (groups.count) memcpy(table->columns[details].texts, cells, groups.count * sizeof *cells);
    gt_free(cells);
    gt_groups_free(&groups);
    gt_table_sort(table, longest_first, GT_LENGTH(longest_first));
    gt_table_add_percentages(table, gt_table_find(table, GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM));
    return table;
}
