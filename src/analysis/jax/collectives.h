/* The collectives of a JAX run over several nodes: how much did each of them move, and how fast?
 *
 * Profiles tell when the kernels of a collective ran; a dump of XLA tells who takes part in it, and with how
 * much. */
#ifndef GT_ANALYSIS_JAX_COLLECTIVES_H
#define GT_ANALYSIS_JAX_COLLECTIVES_H

#include "table/table.h"
#include "trace/jax/jax.h"

typedef struct gt_jax_collectives gt_jax_collectives;

gt_jax_collectives *gt_jax_collectives_new(int64_t gpus_per_node);
void gt_jax_collectives_free(gt_jax_collectives *collectives); /* the tables must be freed before */

gt_interner *
gt_jax_collectives_strings(gt_jax_collectives *collectives); /* where programs keep their texts */

/* Adds the communication kernels of a node; `host` is what the names of its processes begin with. The program
 * must outlive the collectives. */
void gt_jax_collectives_add(gt_jax_collectives *collectives, int64_t node, const char *host,
                            const gt_jax *trace, const gt_xla *program);

/* Once all nodes are there. Each is asked for once, in this order. */
gt_table *gt_jax_collective_events(gt_jax_collectives *collectives); /* one row a kernel */
gt_table *gt_jax_collective_groups(gt_jax_collectives *collectives); /* one row a slice and group of ranks */
gt_table *gt_jax_collective_bandwidths(gt_jax_collectives *collectives); /* one row a collective */
gt_table *gt_jax_collective_types(gt_jax_collectives *collectives);      /* one row a kind of collective */

#endif
