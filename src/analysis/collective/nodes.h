/* Which node is a rank on, and does a process group stay on one? */
#ifndef GT_ANALYSIS_COLLECTIVE_NODES_H
#define GT_ANALYSIS_COLLECTIVE_NODES_H

#include "table/table.h"

/* Adds node_id to a table with rows and a column rank, and node_span to one with Process Group Ranks. Ranks
 * fill the nodes in order, gpus_per_node to each. */
void gt_collective_add_nodes(gt_table *table, int64_t gpus_per_node, int64_t world_size);

#endif
