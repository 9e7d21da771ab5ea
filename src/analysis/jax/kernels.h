/* Sheet kernel_launchers of a JAX profile: every kernel with its class, its op's shapes and its launch; and
 * the table of kernels that other sheets are made from. */
#ifndef GT_ANALYSIS_JAX_KERNELS_H
#define GT_ANALYSIS_JAX_KERNELS_H

#include "analysis/jax/class.h"
#include "table/table.h"
#include "trace/jax/jax.h"

/* The kernels of a profile, in the order of their ids. */
typedef struct gt_jax_kernels {
    const gt_jax *trace; /* borrowed */
    size_t *events;
    uint8_t *classes; /* gt_jax_class */
    size_t count;
    gt_arena arena;
    struct gt_jax_details *details; /* of each record, and behind them of none: what cells say of it */
} gt_jax_kernels;

gt_jax_kernels gt_jax_kernels_find(const gt_jax *trace);
void gt_jax_kernels_free(gt_jax_kernels *kernels);

/* Texts that the cells of a kernel's op are made of. */
typedef struct gt_jax_details {
    bool is_known;
    uint32_t dims, types, concrete; /* text ids */
    gt_str rest;                    /* of kernel_details: ", 'custom_call_target': ... 'metadata': ..." */
} gt_jax_details;
const gt_jax_details *gt_jax_details_of(gt_jax_kernels *kernels, size_t kernel);

/* The sheet. With keywords, only kernels whose record has one of them in its metadata. The column "kernel" of
 * the table (the number of the kernel) is for the sheets made from it; who writes the sheet drops it. */
gt_table *gt_jax_kernel_launchers(gt_jax_kernels *kernels, const char *const *keywords, size_t keyword_count);

/* Sheet df_xla_perf: the rows of class Uncategorized Events/XLA, and the bytes of their operands. */
gt_table *gt_jax_xla_perf(gt_jax_kernels *kernels, const gt_table *launchers);

#endif
