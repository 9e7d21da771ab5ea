/* Operations that make tables from tables: sort, group, join, pivot.
 *
 * They follow pandas where sheets depend on it: missing values sort last, are not aggregated, and two missing
 * join keys are equal. */
#pragma once

#include "table/table.h"

/* ---- sort ----
 * All sorts are stable. Missing values come last in both directions; text is in byte order; -0.0 equals 0.0.
 */

typedef struct gt_sort_key {
    gt_col column; /* not a LIST */
    bool descending;
} gt_sort_key;

/* Sorts by the first key, then by the second, and so on. */
void gt_table_sort(gt_table *table, const gt_sort_key *keys, size_t key_count);
/* The order without moving the rows: row numbers, first row first. The caller frees it. */
uint32_t *gt_table_order(const gt_table *table, const gt_sort_key *keys, size_t key_count);

/* Lists of row numbers. gt_order_by_* reorder a list by the values of its rows; to sort by two arrays, sort
 * by the second and then by the first. */
uint32_t *gt_order_new(size_t count); /* 0, 1, 2, ...; the caller frees it */
void gt_order_by_ints(uint32_t *rows, size_t count, const int64_t *values, const uint8_t *nulls,
                      bool descending);
void gt_order_by_floats(uint32_t *rows, size_t count, const double *values, bool descending);
void gt_order_by_strings(uint32_t *rows, size_t count, const uint32_t *ids, const gt_interner *strings,
                         bool descending);
void gt_order_by_column(uint32_t *rows, size_t count, const gt_column *column, const gt_interner *strings,
                        bool descending);

/* The order of all numbers, ascending and stable: positions in `numbers`; the caller frees it. */
uint32_t *gt_order_by_numbers(const uint32_t *numbers, size_t count);

/* Sorts distinct string ids by the bytes of their strings. */
void gt_sort_strings(uint32_t *ids, size_t count, const gt_interner *strings);

/* ---- group ----
 *
 *     static const gt_aggregate measures[] = {
 *         {GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT},
 *         GT_AGGREGATE(DUR, SUM),
 *     };
 *     gt_table_group(kernels, (gt_col[]){GT_COL_NAME}, 1, measures, 2, (gt_group_options){.sorted = true});
 *
 * A group without any value has count 0, sum 0 and no mean. */

typedef enum gt_group_kind {
    GT_GROUP_SIZE,     /* INT: the number of rows; needs no column */
    GT_GROUP_COUNT,    /* INT: the number of values */
    GT_GROUP_DISTINCT, /* INT: the number of different values (pandas: nunique) */
    GT_GROUP_SUM,      /* of INT and BOOL: INT, exact, or FLOAT if a sum does not fit; of FLOAT: FLOAT,
                        * compensated (Kahan) in row order */
    GT_GROUP_MEAN,     /* FLOAT: that sum divided by the count */
    GT_GROUP_MEDIAN,   /* FLOAT: the middle value, or the mean of the two middle values */
    GT_GROUP_STD,      /* FLOAT: divided by n - 1, by running mean in row order; null for one value */
    GT_GROUP_MIN,      /* the column's own type; text in byte order */
    GT_GROUP_MAX,
    GT_GROUP_FIRST, /* the first value in row order, any type */
    GT_GROUP_LAST,
} gt_group_kind;

typedef struct gt_aggregate {
    gt_col column; /* SUM to STD: numbers; MIN, MAX and DISTINCT: not a LIST; the others: any type */
    gt_group_kind kind;
    gt_col name; /* of the result column */
} gt_aggregate;

typedef struct gt_group_options {
    bool sorted;     /* groups ascend by key, null keys last; otherwise in order of first appearance */
    bool keep_nulls; /* rows with a null key form groups; otherwise they are dropped */
} gt_group_options;

/* A new table: the key columns (no LISTs; without keys one group of all rows), then one column per aggregate.
 */
gt_table *gt_table_group(const gt_table *table, const gt_col *keys, size_t key_count,
                         const gt_aggregate *aggregates, size_t aggregate_count, gt_group_options options);

/* The groups themselves. */
#define GT_NO_GROUP UINT32_MAX

typedef struct gt_groups {
    uint32_t *of_row;    /* the group of each row; GT_NO_GROUP for dropped rows */
    uint32_t *first_row; /* the first row of each group */
    size_t row_count, count;
} gt_groups;

gt_groups gt_groups_find(const gt_table *table, const gt_col *keys, size_t key_count,
                         gt_group_options options);
/* Splits groups by the values of a column; rows without a group or a value are dropped. */
gt_groups gt_groups_split(const gt_groups *groups, const gt_column *column, const gt_interner *strings);
void gt_groups_free(gt_groups *groups);

/* The rows of each group in row order: those of group g are rows[begins[g]] to rows[begins[g + 1] - 1]. */
typedef struct gt_group_rows {
    size_t *begins;
    uint32_t *rows;
} gt_group_rows;

gt_group_rows gt_group_rows_find(const gt_groups *groups);
void gt_group_rows_free(gt_group_rows *rows);

/* ---- join ---- */

typedef enum gt_join_kind {
    GT_JOIN_INNER, /* rows with a match, in the order of the left table */
    GT_JOIN_LEFT,  /* every row of the left table, in its order */
    GT_JOIN_OUTER, /* every row of both tables, ascending by key, missing keys last */
} gt_join_kind;

typedef struct gt_join {
    gt_join_kind kind;
    const gt_col *keys; /* columns that both tables have; at least one, no LISTs */
    size_t key_count;
    const char *left_suffix, *right_suffix; /* for other columns of the same name; NULL: "_x" and "_y" */
    size_t most_cells;                      /* of the result; 0: any number */
} gt_join;

/* A new table: the columns of the left table, then those of the right table without the keys. Rows with equal
 * keys give all pairs, ordered by left row and then by right row. Fails if the key types do not compare (INT
 * and FLOAT do) or the result would have too many rows or cells: those of n equal keys are n^2. */
gt_table *gt_table_join(const gt_table *left, const gt_table *right, const gt_join *join, gt_error *error);

/* ---- pivot ---- */

typedef struct gt_pivot {
    const gt_col *index; /* the columns that identify a row of the result */
    size_t index_count;
    gt_col columns;    /* its values, as text, become the names of the result columns */
    gt_col values;     /* its values fill the cells */
    bool fill;         /* numeric cells without a value get fill_value; otherwise they are null */
    double fill_value; /* if not whole, INT columns become FLOAT */
} gt_pivot;

/* A new table: the index columns, then one column per different value of `columns`, both ascending. Rows with
 * a missing index or column name are dropped. Fails if two rows have the same cell. */
gt_table *gt_table_pivot(const gt_table *table, const gt_pivot *pivot, gt_error *error);
