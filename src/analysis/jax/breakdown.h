/* Sheets of the JAX analysis report: where did the GPUs' time go, by kind of time, by class of kernel, and by
 * the names of the kernels that are of no class? */
#ifndef GT_ANALYSIS_JAX_BREAKDOWN_H
#define GT_ANALYSIS_JAX_BREAKDOWN_H

#include "table/table.h"
#include "trace/jax/jax.h"

typedef struct gt_jax_breakdown {
    gt_table *averages;    /* gpu_events_averages: type, time ms, percent */
    gt_table *categorized; /* gpu_events_categorized_mean: name, count, time ms, time ms per gpu, percent */
    gt_table *xla_grouped; /* xla_grouped: short_name_grouped, the same */
} gt_jax_breakdown;

gt_jax_breakdown gt_jax_breakdown_make(const gt_jax *trace);

#endif
