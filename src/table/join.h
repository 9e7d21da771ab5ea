/* Joins: two tables side by side where their key columns agree, as pandas merges them. */
#ifndef GT_TABLE_JOIN_H
#define GT_TABLE_JOIN_H

#include "table/table.h"

typedef enum gt_join_kind {
    GT_JOIN_INNER, /* rows with a partner, in the order of the left table */
    GT_JOIN_LEFT,  /* every row of the left table, in its order */
    GT_JOIN_OUTER, /* every row of both, ascending by the keys, missing keys last */
} gt_join_kind;

typedef struct gt_join {
    gt_join_kind kind;
    const gt_col *keys; /* columns that both tables have; at least one, no LISTs */
    size_t key_count;
    const char *left_suffix, *right_suffix; /* for other columns of the same name; NULL: "_x" and "_y" */
} gt_join;

/* A new table: the columns of the left table, then those of the right one without the keys. Rows with equal
 * keys give all pairs, by left row and then by right row; a missing key equals a missing key. Fails where the
 * keys hold types that do not compare (INT and FLOAT do) or the result would have too many rows. */
gt_table *gt_table_join(const gt_table *left, const gt_table *right, const gt_join *join, gt_error *error);

#endif
