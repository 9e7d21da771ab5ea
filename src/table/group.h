/* Group-by: which rows belong together, and what is counted, summed and measured of each group.
 *
 *     static const gt_aggregate sheet[] = {
 *         {GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT},
 *         {GT_COL_DUR_US, GT_GROUP_SUM, GT_COL_TOTAL_US},
 *     };
 *     gt_table_group(kernels, (gt_col[]){GT_COL_NAME}, 1, sheet, 2, (gt_group_options){.sorted = true});
 *
 * Missing values do not take part, as in pandas: a group without any value has count 0, sum 0 and no mean. */
#ifndef GT_TABLE_GROUP_H
#define GT_TABLE_GROUP_H

#include "schema/columns.h"
#include "table/table.h"

typedef enum gt_group_kind {
    GT_GROUP_SIZE,     /* rows, whatever they hold; needs no column: INT */
    GT_GROUP_COUNT,    /* values: INT */
    GT_GROUP_DISTINCT, /* different values: INT (pandas: nunique) */
    GT_GROUP_SUM,  /* of INT and BOOL: INT, exact, or FLOAT if one of the sums does not fit; of FLOAT: FLOAT,
                    * compensated (Kahan) in row order */
    GT_GROUP_MEAN, /* FLOAT: that sum over the count */
    GT_GROUP_MEDIAN, /* FLOAT: the middle value or the mean of the two */
    GT_GROUP_STD,    /* FLOAT: over n - 1, by running mean in row order; null for one value */
    GT_GROUP_MIN,    /* the column's own type; text in byte order */
    GT_GROUP_MAX,
    GT_GROUP_FIRST, /* the first value in row order, any type */
    GT_GROUP_LAST,
} gt_group_kind;

typedef struct gt_aggregate {
    gt_col column; /* numbers for SUM to STD, not a LIST for MIN, MAX and DISTINCT; any for the others */
    gt_group_kind kind;
    gt_col name; /* of the column made */
} gt_aggregate;

typedef struct gt_group_options {
    bool sorted;     /* groups ascending by key, null keys last; otherwise in the order first seen */
    bool keep_nulls; /* rows with a null key form groups; otherwise they are left out */
} gt_group_options;

/* A new table: the key columns (not LISTs; none: one group of all rows), then one column an aggregate. */
gt_table *gt_table_group(const gt_table *table, const gt_col *keys, size_t key_count,
                         const gt_aggregate *aggregates, size_t aggregate_count, gt_group_options options);

/* ---- the groups themselves ---- */

#define GT_NO_GROUP UINT32_MAX

typedef struct gt_groups {
    uint32_t *of_row;    /* the group of each row, GT_NO_GROUP where left out */
    uint32_t *first_row; /* the first row of each group */
    size_t row_count, count;
} gt_groups;

gt_groups gt_groups_find(const gt_table *table, const gt_col *keys, size_t key_count,
                         gt_group_options options);
/* Groups of rows that share both their group and their value in a column; rows without either are left out.
 */
gt_groups gt_groups_split(const gt_groups *groups, const gt_column *column, const gt_interner *strings);
void gt_groups_free(gt_groups *groups);

/* ---- the same over plain arrays: values[row] belongs to group_of_row[row] ----
 * Rows whose group is not below group_count are left out. `nulls` may be NULL. */

typedef struct gt_int_summary {
    int64_t count, sum;
    int64_t min, max; /* of no values: INT64_MAX and INT64_MIN */
} gt_int_summary;

typedef struct gt_float_summary {
    int64_t count;
    double sum, carry; /* carry: what the additions so far have lost */
    double min, max;   /* of no values: infinity and -infinity */
} gt_float_summary;

/* False if a sum does not fit; the sums are then worthless and gt_group_wide_sums has them as doubles. */
bool gt_group_ints(const uint32_t *group_of_row, size_t row_count, const int64_t *values,
                   const uint8_t *nulls, gt_int_summary *summaries, size_t group_count);
void gt_group_wide_sums(const uint32_t *group_of_row, size_t row_count, const int64_t *values,
                        const uint8_t *nulls, double *sums, size_t group_count);
void gt_group_floats(const uint32_t *group_of_row, size_t row_count, const double *values,
                     gt_float_summary *summaries, size_t group_count);

/* Numbers of either type: `ints` with their null marks or NULL, or `floats`. */
typedef struct gt_numbers {
    const int64_t *ints;
    const uint8_t *nulls;
    const double *floats;
} gt_numbers;

void gt_group_stds(const uint32_t *group_of_row, size_t row_count, gt_numbers values, double *stds,
                   size_t group_count);
void gt_group_medians(const uint32_t *group_of_row, size_t row_count, gt_numbers values, double *medians,
                      size_t group_count);

#endif
