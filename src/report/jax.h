/* The reports of JAX profiles. String ids of the tables are those of trace->strings: the tables must be freed
 * before the trace. */
#pragma once

#include "analysis/jax/sheets.h"
#include "analysis/jax/llama.h"
#include "report/summary.h"

/* ---- performance report ----
 * Sheets: gpu_timeline, gpu_events_averages, kernel_launchers, kernel_launchers_summary,
 * kernel_launchers_summary_by_category, kernel_launchers_unique_args, df_xla_perf, xla_summary, and for each
 * class with modelled kernels op_gemm, op_fa_bwd, op_fa_fwd, op_fa_v3, op_conv, op_te. */

typedef struct gt_jax_options {
    const char *const *keywords; /* use only kernels with one of these in their metadata; not in op sheets */
    size_t keyword_count;
    bool params_as_text; /* parameters of kernels as pandas writes them */
} gt_jax_options;

/* Fails if nothing ran on a GPU. */
bool gt_jax_tables(const gt_jax *trace, const gt_jax_options *options, gt_table_list *tables,
                   gt_error *error);
gt_summary_facts gt_jax_find_facts(const gt_jax *trace); /* what the summary shows of the profile */
void gt_jax_print_summary(FILE *out, const gt_summary_facts *facts, const gt_table_list *tables, int width,
                          bool utf8);

/* ---- analysis report ----
 * Tables rounded to two decimals, each written to its own file: gpu_events_averages,
 * gpu_events_categorized_mean, xla_grouped, gemms, gemms_detailed. */

#define GT_JAX_ANALYSIS_MODULE "jit_train_step" /* the module whose matrix products are listed */

/* `shares` adds a column that TraceLens does not have. Fails if nothing ran on a GPU. */
bool gt_jax_analysis_tables(const gt_jax *trace, bool shares, gt_table_list *tables, gt_error *error);

/* ---- collectives ----
 * Sheets: collective_events, collective_groups, collective_bandwidths, collective_types. */

void gt_jax_collective_tables(gt_jax_collectives *collectives, gt_table_list *tables);
void gt_jax_collective_print_summary(FILE *out, const gt_table_list *tables);

/* ---- two runs of a language model, on an AMD and an NVIDIA GPU, compared as Markdown ---- */

typedef struct gt_llama_pair {
    const gt_llama_summary *rocm, *cuda;
    gt_llama_range tokens, layers;
    const gt_interner *strings; /* of both */
} gt_llama_pair;

void gt_llama_compare(gt_buffer *out, const gt_llama_pair *pair);
