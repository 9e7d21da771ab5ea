/* All sheets of the reports of JAX profiles (XPlane):
 *
 *     the performance report
 *         gpu_timeline, gpu_events_averages                   timeline.c
 *         kernel_launchers, df_xla_perf                       kernels.c
 *         kernel_launchers_summary, ..._by_category           summaries.c
 *         kernel_launchers_unique_args, xla_summary           summaries.c
 *         op_gemm, op_fa_fwd, op_conv, ...                    op_sheets.c, with models.c and operands.c
 *     the analysis report
 *         gpu_events_averages, gpu_events_categorized_mean    breakdown.c
 *         xla_grouped                                         breakdown.c
 *         gemms, gemms_detailed                               gemms.c
 *     the report of collectives of several nodes
 *         collective_events, collective_groups, ...           collectives.c
 *
 * llama.h measures the stages of a language model, which are not a sheet.
 *
 * A function returns its sheet as a table that the caller frees. String ids in a table are those of the
 * trace's strings, so tables must be freed before the trace. Columns are documented in the .c files and in
 * docs/. */
#pragma once

#include "table/table.h"
#include "trace/jax/jax.h"

/* ---- gpu_timeline, gpu_events_averages ---- */

typedef struct gt_jax_timeline {
    gt_table *by_gpu;   /* gpu_timeline: type, time ms, percent, gpu_pid */
    gt_table *averages; /* gpu_events_averages: type, time ms, percent; the mean over the GPUs */
} gt_jax_timeline;

/* How much of the time was each GPU busy, and with what? GPUs with a pid above `last_pid` are not in the
 * averages. */
gt_jax_timeline gt_jax_timeline_make(const gt_jax *trace, uint32_t last_pid);

/* ---- kernels ---- */

/* Classes of kernels, by parts of the names of the kernel and its op. */
typedef enum gt_jax_class {
    GT_JAX_CLASS_GEMM,
    GT_JAX_CLASS_FA_BWD,
    GT_JAX_CLASS_FA_FWD,
    GT_JAX_CLASS_FA_V3,
    GT_JAX_CLASS_CONV,
    GT_JAX_CLASS_TE,
    GT_JAX_CLASS_COMMUNICATION,
    GT_JAX_CLASS_XLA, /* none of the others */
    GT_JAX_CLASSES
} gt_jax_class;

const char *gt_jax_class_name(gt_jax_class class); /* "FA BWD", "Uncategorized Events/XLA" */

/* The kernels of a profile, in the order of their ids. */
typedef struct gt_jax_kernels {
    const gt_jax *trace; /* borrowed */
    size_t *events;      /* by kernel: its event */
    uint8_t *classes;    /* by kernel: gt_jax_class */
    size_t count;
    gt_arena arena;
    struct gt_jax_details *details; /* by record: what cells say about it; the last entry is for no record */
} gt_jax_kernels;

gt_jax_kernels gt_jax_kernels_find(const gt_jax *trace);
void gt_jax_kernels_free(gt_jax_kernels *kernels);

/* kernel_launchers: every kernel with its class, the shapes of its op and its launch. With keywords, only
 * kernels whose record has one of them in its metadata. The last column, "kernel" (the number of the kernel),
 * is for the sheets made from this one; drop it before writing the sheet. */
gt_table *gt_jax_kernel_launchers(gt_jax_kernels *kernels, const char *const *keywords, size_t keyword_count);

/* df_xla_perf: the rows of class Uncategorized Events/XLA, with the bytes of their operands. */
gt_table *gt_jax_xla_perf(gt_jax_kernels *kernels, const gt_table *launchers);

/* Which kernels took the time? kernel_launchers by name, by class, and by name and shapes; the largest sum
 * first. */
gt_table *gt_jax_summary(const gt_table *launchers);
gt_table *gt_jax_summary_by_category(const gt_table *launchers);
gt_table *gt_jax_unique_args(gt_jax_kernels *kernels, const gt_table *launchers);
/* xla_summary: df_xla_perf by name without digits, so that loop_add_fusion_1 and loop_add_fusion_2 are one
 * row.
 */
gt_table *gt_jax_xla_summary(const gt_table *xla_perf);

/* ---- op_gemm, op_fa_bwd, op_fa_fwd, op_fa_v3, op_conv, op_te ---- */

/* How much did the kernels of a class have to compute and move, and how fast were they? NULL if there is no
 * such sheet, or no kernel of the class has a model that supports its op. Warns about kernels that are
 * omitted. */
gt_table *gt_jax_op_sheet(gt_jax_kernels *kernels, gt_jax_class class);

/* ---- the analysis report ---- */

typedef struct gt_jax_breakdown {
    gt_table *averages;    /* gpu_events_averages: type, time ms, percent */
    gt_table *categorized; /* gpu_events_categorized_mean: name, count, time ms, time ms per gpu, percent; on
                              request percent of kernel time */
    gt_table *xla_grouped; /* xla_grouped: short_name_grouped and the same figures */
} gt_jax_breakdown;

/* How was the time of the GPUs spent, by kind of activity, by class of kernel, and by names of kernels
 * without a class? `shares` adds a column that TraceLens does not have. */
gt_jax_breakdown gt_jax_breakdown_make(const gt_jax *trace, bool shares);

/* gemms: which matrix products does the training step contain? One row for each of trace->products whose
 * record has its sizes; warns about the others. */
gt_table *gt_jax_gemms(const gt_jax *trace);
/* gemms_detailed: how fast did each of them run on the first GPU? One row per event of the first GPU that ran
 * one of them; no columns if there is none. */
gt_table *gt_jax_gemms_detailed(const gt_jax *trace);

/* ---- collectives of several nodes ----
 *
 * How much did each collective move, and how fast? The profiles say when its kernels ran; a dump of XLA says
 * which ranks take part and how much data they exchange. */

typedef struct gt_jax_collectives gt_jax_collectives;

gt_jax_collectives *gt_jax_collectives_new(int64_t gpus_per_node);
void gt_jax_collectives_free(gt_jax_collectives *collectives); /* after its tables have been freed */

/* The interner for programs that are passed to gt_jax_collectives_add. */
gt_interner *gt_jax_collectives_strings(gt_jax_collectives *collectives);

/* Adds the communication kernels of a node. `host` is the first word of its process names. `program` may be
 * NULL and must outlive the collectives. */
void gt_jax_collectives_add(gt_jax_collectives *collectives, int64_t node, const char *host,
                            const gt_jax *trace, const gt_xla *program);

/* After all nodes have been added. Each function may be called once, in this order. */
gt_table *gt_jax_collective_events(gt_jax_collectives *collectives); /* one row per kernel */
gt_table *
gt_jax_collective_groups(gt_jax_collectives *collectives); /* one row per slice and group of ranks */
gt_table *gt_jax_collective_bandwidths(gt_jax_collectives *collectives); /* one row per collective */
gt_table *gt_jax_collective_types(gt_jax_collectives *collectives);      /* one row per kind of collective */
