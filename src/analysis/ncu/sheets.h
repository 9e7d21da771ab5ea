/* The sheets of profiled kernel launches of Nsight Compute (input/ncu/ncu.h):
 *
 *     ncu_kernels    one row per kernel, grid and block, the longest total time first
 *     ncu_launches   one row per launch, in the order of the file
 *     ncu_details    one row per kernel, grid, block and metric
 *
 * Strings of the tables are those of the trace, which must outlive them. */
#pragma once

#include "input/ncu/ncu.h"
#include "table/table_list.h"

/* All three, in the order above; warns if nothing was profiled. */
void gt_ncu_tables(const gt_ncu *trace, gt_table_list *tables);
