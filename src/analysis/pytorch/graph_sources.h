/* The column graph_source of sheets of ops and kernels: how much of the time of a row was replayed by graphs,
 * by where the op of these kernels is known from (analysis/graphs). "eager 62.1 %; name 3.0 %" are shares of
 * the row's time; the rest was launched by the op itself. Only traces whose graphs have ops have the column.
 */
#pragma once

#include "table/operations.h"
#include "trace/pytorch/pytorch.h"

/* Adds the column to a table of ops or kernels: the source of rows[i]. */
void gt_table_add_row_sources(gt_table *ops, const gt_linked_view *trace, const uint32_t *rows);

/* Adds the column to a sheet, whose row i is the group i of the rows of `ops`. Does nothing if `ops` does not
 * have it. `time` is a column of `ops`. */
void gt_table_add_graph_sources(gt_table *sheet, const gt_table *ops, const gt_groups *groups, gt_col time);
