/* Kernels of a JAX profile summed up: by name, by class, by name without its digits. */
#ifndef GT_ANALYSIS_JAX_SUMMARIES_H
#define GT_ANALYSIS_JAX_SUMMARIES_H

#include "table/table.h"

/* Sheets kernel_launchers_summary and kernel_launchers_summary_by_category, of the rows of kernel_launchers.
 */
gt_table *gt_jax_summary(const gt_table *launchers);
gt_table *gt_jax_summary_by_category(const gt_table *launchers);
/* Sheet xla_summary, of the rows of df_xla_perf: loop_add_fusion_1 and loop_add_fusion_2 are one. */
gt_table *gt_jax_xla_summary(const gt_table *xla_perf);

#endif
