/* How many events would a profile viewer add to a GPU? They take ids, so the ids of later GPUs count them.
 *
 * A viewer draws lines of modules, ops, name scopes and source lines above the streams, each made from the
 * kernels of the busiest stream: a new event begins where the name changes. */
#ifndef GT_TRACE_JAX_DERIVED_H
#define GT_TRACE_JAX_DERIVED_H

#include "base/map.h"
#include "trace/jax/jax.h"

/* The enclosing scope of each, by its number as key, as place in ids. */
typedef struct gt_jax_scopes {
    gt_map parent;
    int64_t *ids;
    size_t count, capacity;
} gt_jax_scopes;

/* Of the sorted events of one GPU. */
size_t gt_jax_count_derived(const gt_jax *trace, const gt_jax_gpu *gpu, const gt_jax_scopes *scopes);

#endif
