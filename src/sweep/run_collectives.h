/* The collective reports of two runs: their summary sheets below each other, and what changed from one to the
 * other. */
#ifndef GT_SWEEP_RUN_COLLECTIVES_H
#define GT_SWEEP_RUN_COLLECTIVES_H

#include "report/tables.h"

typedef struct gt_collective_side {
    const char *path, *label;
} gt_collective_side;

/* Adds the sheets of both workbooks that have "summary" in their names, then nccl_implicit_sync_cmp and
 * nccl_long_cmp: one row for each name, type and size of collective that both have. Positive percent_change:
 * faster than the baseline. */
bool gt_run_collectives(const gt_collective_side *baseline, const gt_collective_side *test,
                        gt_interner *strings, gt_table_list *tables, gt_error *error);

#endif
