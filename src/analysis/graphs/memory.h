/* What the steps of a server have to read from memory, and how fast they do: weights and KV cache.
 *
 *     kv_roofline     how fast attention reads the cache
 *     decode_bound    the least time of a step of decode: what it reads / the memory's bandwidth
 *
 * Bytes come from the shapes of ops (op_reads.h): those of eager kernels, and for replayed ones those of the
 * reference that names their ops. */
#pragma once

#include "analysis/graphs/graphs.h"
#include "model/arch.h"

/* Kernels of attention in all steps. */
typedef struct gt_memory_reads gt_memory_reads;

/* Fills weight_bytes, kv_bytes and so on of the steps. `graphs` may be NULL. `strings` are those of the
 * trace. */
gt_memory_reads *gt_memory_reads_find(gt_step_list *steps, const gt_linked_view *trace, gt_interner *strings,
                                      gt_graphs *graphs);
void gt_memory_reads_free(gt_memory_reads *reads);

/* The largest cache between the cores and the memory that a GPU has: so much of what a step reads may still
 * be there from the step before, and is not in the bound. */
#define GT_CACHE_BYTES 256e6

/* What a step reads at least, and how long that takes. */
typedef struct gt_step_bound {
    double weight_bytes, kv_bytes, ns; /* 0: unknown */
} gt_step_bound;
/* `peak` is the memory's bandwidth in bytes per nanosecond; 0: unknown. */
gt_step_bound gt_step_bound_of(const gt_listed_step *step, double peak);

/* Tables without rows where nothing is known; `arch` may be NULL. The caller owns them. */
gt_table *gt_kv_roofline(const gt_memory_reads *reads, const gt_gpu_arch *arch);
gt_table *gt_decode_bound(const gt_step_list *steps, gt_interner *strings, const gt_gpu_arch *arch);
