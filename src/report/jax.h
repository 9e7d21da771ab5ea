/* The report of a JAX profile: which sheets it has, in which order, and what the terminal shows of them.
 *
 * Sheets: gpu_timeline, gpu_events_averages, kernel_launchers, kernel_launchers_summary,
 * kernel_launchers_summary_by_category, kernel_launchers_unique_args, df_xla_perf, xla_summary, and of the
 * classes that have modelled kernels op_gemm, op_fa_bwd, op_fa_fwd, op_fa_v3, op_conv, op_te. */
#ifndef GT_REPORT_JAX_H
#define GT_REPORT_JAX_H

#include "base/error.h"
#include "report/tables.h"
#include "trace/jax/jax.h"

#include <stdio.h>

typedef struct gt_jax_options {
    const char *const *keywords; /* only kernels with one of these in their metadata, but for the op sheets */
    size_t keyword_count;
} gt_jax_options;

/* Adds the sheets to `tables`, whose text ids are those of trace->strings: the tables must be freed before
 * the trace. Fails where nothing ran on a GPU. */
bool gt_jax_tables(const gt_jax *trace, const gt_jax_options *options, gt_table_list *tables,
                   gt_error *error);

/* A short view of the report for people. */
void gt_jax_print_summary(FILE *out, const gt_jax *trace, const gt_table_list *tables, int width, bool utf8);

#endif
