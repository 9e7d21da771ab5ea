/* The JAX analysis report: five small tables, rounded, each a document of its own. */
#ifndef GT_REPORT_JAX_ANALYSIS_H
#define GT_REPORT_JAX_ANALYSIS_H

#include "base/error.h"
#include "report/tables.h"
#include "trace/jax/jax.h"

#define GT_JAX_ANALYSIS_MODULE "jit_train_step" /* whose matrix products are listed */

/* gpu_events_averages, gpu_events_categorized_mean, xla_grouped, gemms, gemms_detailed. False where nothing
 * ran on a GPU. */
bool gt_jax_analysis_tables(const gt_jax *trace, gt_table_list *tables, gt_error *error);

#endif
