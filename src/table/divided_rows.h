/* Internal to src/table: the rows of groups, divided so that all threads of the team can aggregate them.
 *
 * Sums of floats depend on the order of their additions, so the rows of one group must be added in order, by
 * one thread. Groups are therefore divided into parts, and the rows of each part are listed in order. With
 * one thread or few rows there is one part, of all rows, and no list is made. */
#ifndef GT_TABLE_DIVIDED_ROWS_H
#define GT_TABLE_DIVIDED_ROWS_H

#include "table/stats.h"

enum { GT_PART_BITS = 6, GT_PARTS = 1 << GT_PART_BITS };

struct gt_divided_rows {
    const uint32_t *group_of_row;
    size_t row_count, group_count;
    unsigned bits;  /* group g is in part g % 2^bits, where its index is g >> bits */
    uint32_t *rows; /* those of part p from begins[p] to begins[p + 1]; NULL: all rows, in one part */
    size_t begins[GT_PARTS + 1];
};

static inline size_t gt_part_count(const gt_divided_rows *rows)
{
    return (size_t)1 << rows->bits;
}

/* The number of groups in a part. */
static inline size_t gt_part_groups(const gt_divided_rows *rows, size_t part)
{
    return (rows->group_count + gt_part_count(rows) - 1 - part) >> rows->bits;
}

/* The group with this index in a part. */
static inline size_t gt_part_group(const gt_divided_rows *rows, size_t part, size_t index)
{
    return (index << rows->bits) + part;
}

/* The row at place i of a part's list, and its group; rows without a group have one that is not below
 * group_count. */
static inline uint32_t gt_part_row(const gt_divided_rows *rows, size_t i, size_t *row)
{
    *row = rows->rows ? rows->rows[i] : i;
    return rows->group_of_row[*row];
}

#endif
