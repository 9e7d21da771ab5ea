/* Sheets of the JAX analysis report: which matrix products does the training step hold, and how fast did each
 * of them run on the first GPU? */
#ifndef GT_ANALYSIS_JAX_PRODUCTS_H
#define GT_ANALYSIS_JAX_PRODUCTS_H

#include "table/table.h"
#include "trace/jax/jax.h"

/* gemms: one row for each of trace->products whose sizes its record tells. */
gt_table *gt_jax_gemms(const gt_jax *trace);
/* gemms_detailed: one row for each event of the first GPU that ran one of them; without columns where none
 * did. */
gt_table *gt_jax_gemms_detailed(const gt_jax *trace);

#endif
