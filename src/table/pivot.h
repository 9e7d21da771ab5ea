/* Pivot: the values of one column become columns of their own. */
#ifndef GT_TABLE_PIVOT_H
#define GT_TABLE_PIVOT_H

#include "table/table.h"

typedef struct gt_pivot {
    const gt_col *index; /* the columns that name a row of the result */
    size_t index_count;
    gt_col columns;    /* its values, as text, name the columns of the result */
    gt_col values;     /* what stands in the cells */
    bool fill;         /* numeric cells without a value get fill_value; otherwise they are null */
    double fill_value; /* not whole: INT columns become FLOAT */
} gt_pivot;

/* A new table: the index columns, then one column for each different value of `columns`, both ascending. Rows
 * with a missing index or a missing column name are left out. Fails where two rows belong into one cell. */
gt_table *gt_table_pivot(const gt_table *table, const gt_pivot *pivot, gt_error *error);

#endif
