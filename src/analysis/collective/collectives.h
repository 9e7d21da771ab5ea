/* Collectives: the communication kernels of one or more ranks, and what they say of themselves.
 *
 *     rows = gt_collectives_of_rank(trace, 0);  one row a kernel; gt_table_append adds other ranks'
 *     gt_collectives_number(rows);              which belong together across ranks: nccl_long
 *     gt_collectives_summary(rows);             by kind, group and size: nccl_summary_long, coll_analysis */
#ifndef GT_ANALYSIS_COLLECTIVE_COLLECTIVES_H
#define GT_ANALYSIS_COLLECTIVE_COLLECTIVES_H

#include "table/table.h"
#include "trace/pytorch/pytorch.h"

/* In file order. Kernels that neither a correlation id nor an external id links to the host are left out. */
gt_table *gt_collectives_of_rank(const gt_event_view *trace, int64_t rank);
/* The same of a store that holds nothing but those kernels. */
gt_table *gt_collectives_of_store(const gt_store *store, int64_t rank);

/* Makes the rows of all ranks, in order of ranks, the long table: names the groups, numbers the collectives
 * in them and gives columns their types and order. A table without rows loses its columns. True where no
 * kernel tells its process group and each rank has but one stream: collectives are then matched by their
 * order alone. */
bool gt_collectives_number(gt_table *rows);

/* The longest sum first, equal sums in order of the keys; kernels that lack a key are left out. */
gt_table *gt_collectives_summary(const gt_table *long_table);

/* Sheet coll_analysis: the summary of this one trace, as rank 0. */
gt_table *gt_coll_analysis(const gt_event_view *trace);

/* Bytes of an element, as collectives name its type: 4 for "Float"; 0 where the type is not known. */
int gt_collective_dtype_bytes(const char *dtype);

#endif
