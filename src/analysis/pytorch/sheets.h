/* All sheets of a PyTorch report:
 *
 *     gpu_timeline, gpu_timeline_by_device              timeline.c, with unlinked.c
 *     kernel_summary                                    kernels.c
 *     memory_copies                                     copies.c
 *     short_kernel_histogram, short_kernels_summary     kernels.c
 *     ops_summary_by_category, ops_summary              ops.c, with modules.c
 *     ops_unique_args, ops_unique_args_kl_overlap       ops_unique_args.c
 *     GEMM, SDPA_fwd, CONV_bwd, ... (op families)       op_families.c
 *     unified_perf_summary, ..._kl_overlap              unified.c, with unified_events.c and call_stacks.c
 *     (no sheet) a check of kernel times and counts     kernel_check.c
 *
 * A function returns its sheet as a table that the caller frees. String ids in a table are those of the
 * trace's strings, so tables must be freed before the trace. Columns are documented in the .c files and in
 * docs/. */
#pragma once

#include "analysis/pytorch/devices.h"
#include "analysis/pytorch/perf.h"
#include "table/table_list.h"

/* ---- before any sheet: ops that the trace does not name ---- */

/* Adds pseudo-ops to the call tree: ops of inference frameworks that the trace does not name, such as the
 * GEMMs of a mixture of experts or attention made of several kernels. They are recognized by the ops,
 * functions and kernels around them, and get rows and models of their own. Also removes the numbers from the
 * names of sglang's profiler. Some pseudo-ops are found only in traces with python functions. Returns the
 * number of ops added. */
size_t gt_pseudo_ops_add(gt_pytorch_linked *trace);

/* ---- gpu_timeline ---- */

typedef struct gt_pytorch_timeline_options {
    bool include_unlinked;      /* count GPU events without a known launch */
    const char *how_to_include; /* what counts them, for an error message; NULL: --include_unlinked_kernels */
    bool split_idle;            /* show micro_idle_time and macro_idle_time instead of idle_time */
    int64_t micro_idle_max_us;  /* idle intervals shorter than this are micro idle */
    bool split_recompute;       /* one timeline without and one with recomputed events only */
} gt_pytorch_timeline_options;

/* How much of the time did the GPU compute, communicate, copy, or do nothing? NULL and an error if there are
 * no GPU events to count. */
gt_table *gt_pytorch_gpu_timeline(const gt_linked_view *trace, gt_pytorch_timeline_options options,
                                  gt_error *error);

/* The same per device. NULL if fewer than two devices have events to count. */
gt_table *gt_pytorch_gpu_timeline_by_device(const gt_linked_view *trace, const gt_devices *devices,
                                            gt_pytorch_timeline_options options);

/* The first total_time of a timeline, of which other sheets show percentages; and computation_time. */
double gt_pytorch_total_time_ms(const gt_table *timeline);
double gt_pytorch_computation_time_ms(const gt_table *timeline);

/* ---- GPU time that no op sheet counts ---- */

/* Some GPU events, and the sum of their durations. */
typedef struct gt_gpu_share {
    size_t kernels, others; /* others: copies and memsets */
    double time_us;
} gt_gpu_share;

/* The GPU events that are in no sheet of ops. All other GPU events count in ops_summary: for the op that
 * launched them, else for the call that did. */
typedef struct gt_left_out {
    gt_gpu_share unlinked; /* without a known launch; gpu_timeline has them only if requested */
    gt_gpu_share communication;
    gt_gpu_share outside; /* launched in a trace without ops, which has no op sheets */
    double all_us;        /* of all GPU events */
} gt_left_out;

gt_left_out gt_pytorch_find_left_out(const gt_linked_view *trace);
void gt_left_out_add(gt_left_out *sum, gt_left_out more);
static inline bool gt_gpu_share_any(gt_gpu_share share)
{
    return share.kernels || share.others;
}
bool gt_left_out_any(const gt_left_out *left_out);

enum { GT_LEFT_OUT_TEXT_MAX = 512 };
/* "GPU time not linked to a launch: 13.319 of 43.063 ms (30.9%), 463 kernels". */
void gt_unlinked_describe(const gt_left_out *left_out, char text[GT_LEFT_OUT_TEXT_MAX]);
/* "GPU time in no op sheet: 14.319 of 43.063 ms (33.3%): 13.319 ms in 463 kernels not linked to a launch,
 * 1.000 ms in 17 communication kernels". */
void gt_left_out_describe(const gt_left_out *left_out, char text[GT_LEFT_OUT_TEXT_MAX]);

/* ---- kernel_summary ---- */

/* All kernels of the trace, with or without a known launch, in file order. Copies and memsets are not
 * kernels. */
typedef struct gt_pytorch_kernels {
    const gt_linked_view *trace;   /* borrowed */
    const gt_extension *extension; /* borrowed; NULL: none */
    uint32_t *rows;
    uint32_t *cpu_ops; /* the nearest cpu_op above each; GT_NO_EVENT: none */
    size_t count;
    bool have_cpu_ops; /* at least one kernel of the trace has one */
    bool whole;        /* the durations of all kernels were written as integers */
} gt_pytorch_kernels;

gt_pytorch_kernels gt_pytorch_kernels_find(const gt_linked_view *trace, const gt_extension *extension);
void gt_pytorch_kernels_free(gt_pytorch_kernels *kernels);

/* Which kernels took the time, and for which ops? The largest sum first, equal sums in order of the keys. No
 * rows if the trace has no kernels. `total_ms` is the timeline's total_time. */
gt_table *gt_pytorch_kernel_summary(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                    double total_ms);
/* The same without the share of the total time. `kernels` may be a part of the trace's kernels. */
gt_table *gt_pytorch_kernel_shares(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                   gt_sheet sheet);

/* ---- memory_copies ---- */

/* Which memory was copied where, by which op, and how fast? All copies, with or without a known launch, the
 * longest time first. No rows if there are none. */
gt_table *gt_pytorch_memory_copies(const gt_linked_view *trace, const gt_devices *devices);

/* ---- short kernels ---- */

typedef struct gt_pytorch_short_options {
    int64_t threshold_us; /* kernels below this are short */
    int64_t bins;
    bool limited; /* limit the summary to `topk` rows, as gt_table_head does */
    int64_t topk;
} gt_pytorch_short_options;

/* How short are the short kernels? No rows if there are none. Fails if gt_short_kernel_histogram does. */
gt_table *gt_pytorch_short_kernel_histogram(const gt_pytorch_kernels *kernels,
                                            const gt_pytorch_short_options *options, gt_error *error);

/* Which ops launch kernels so short that the launch may cost more than the work? By op, its arguments and
 * kernel name; the largest sum first. `total_ms` is the timeline's total_time. No columns if no kernel is
 * short. */
gt_table *gt_pytorch_short_kernels_summary(const gt_pytorch_kernels *kernels,
                                           const gt_pytorch_short_options *options, double total_ms);

/* ---- ops_summary, ops_unique_args ---- */

typedef struct gt_ops_options {
    const gt_extension *extension; /* NULL: none */
    bool by_module;                /* also by nn.Module (modules.c) */
    bool subtree_count;            /* ops_summary has total_subtree_kernel_time_count instead of ..._ms */
} gt_ops_options;

/* The launchers as a table with one row per launcher, in launch order: what the sheets of ops group and sum
 * up. Columns:
 *
 *     name, op category
 *     process_name, process_label, thread_name
 *     Input Dims, Input type, Input Strides, Concrete Inputs    as Python prints them, lists as tuples
 *     num_kernels                   INT
 *     is_recompute                  BOOL; only after gt_pytorch_mark_recompute
 *     parent_module, call_stack     only with by_module; see modules.c
 *     ts                            start, in microseconds
 *     total_direct_kernel_time      microseconds in which one of its kernels ran
 *     total_subtree_kernel_time     the same with the kernels of the ops that it called
 *     UID                           INT
 *
 * Times are INT if the trace has all of them as integers, else FLOAT. */
typedef struct gt_ops {
    const gt_linked_view *trace;
    const gt_launchers *launchers;
    gt_ops_options options;
    gt_table *table;
} gt_ops;

/* Borrows its arguments. */
gt_ops *gt_ops_new(const gt_linked_view *trace, const gt_launchers *launchers, gt_ops_options options);
void gt_ops_free(gt_ops *ops);

/* Adds the column total_direct_kernel_time to another table with one row per launcher. */
void gt_table_add_direct_times(gt_table *table, const gt_launchers *launchers);

/* The nn.Module of each launcher (modules.c): the columns parent_module and call_stack. */
void gt_table_add_modules(gt_table *table, const gt_linked_view *trace, const gt_launchers *launchers);

/* Time of ops by category and by name; the largest total first, equal totals as first seen in the trace. */
gt_table *gt_ops_summary_by_category(const gt_ops *ops);
gt_table *gt_ops_summary(const gt_ops *ops);

#define GT_ALL_OPS INT64_MAX

typedef struct gt_unique_args_options {
    bool by_num_kernels;         /* also group by the number of kernels */
    bool first_occurrence;       /* add the column first_occurrence_time */
    int64_t topk;                /* number of rows to keep; GT_ALL_OPS: all. Percentages are of all rows */
    const gt_overlaps *overlaps; /* also group by overlapping kernels, and describe them; NULL: do not */
} gt_unique_args_options;

/* How often, how long and with which kernels did ops with the same name, thread and arguments run? The
 * largest total first, equal totals in order of the uid. This is ops_unique_args, or with overlaps
 * ops_unique_args_kl_overlap. Adds columns to ops->table while it runs and removes them again. */
gt_table *gt_ops_unique_args(gt_ops *ops, gt_unique_args_options options);

/* ---- sheets of op families ---- */

typedef struct gt_op_sheets_options {
    bool by_num_kernels; /* also group by the number of kernels */
    bool limited;        /* keep only the first `rows` rows of each sheet */
    int64_t rows;
    bool side_by_side; /* make them at the same time; only if gt_perf_can_copy */
    bool forward_only; /* as TraceLens' report on inference: no sheets of backward passes */
} gt_op_sheets_options;

/* Every op that has a model, by its parameters: how much it had to do, how long its kernels took, how fast
 * that was. With perf->overlaps each sheet has a second one, *_kl_overlap, which also groups by overlapping
 * kernels. Adds the sheets that have rows, in the order of the report. */
void gt_op_sheets_make(gt_perf *perf, gt_op_sheets_options options, gt_table_list *tables);

/* ---- unified_perf_summary ---- */

/* The time of each kernel once, by the op that it counts for (unified_events.c), with the figures of the op's
 * model if it has one. */
typedef struct gt_unified gt_unified;
/* Where the call stacks of a trace with python functions are. */
typedef enum gt_stacks_shown {
    GT_STACKS_OF_KERNELS, /* among the details of kernels */
    GT_STACKS_IN_COLUMNS, /* in columns of their own */
    GT_STACKS_HIDDEN,
} gt_stacks_shown;
/* Borrows perf. */
gt_unified *gt_unified_new(gt_perf *perf, gt_stacks_shown stacks);
void gt_unified_free(gt_unified *unified);

/* The largest sum of kernel times first. No rows if nothing ran on the GPU. */
gt_table *gt_unified_summary(gt_unified *unified);
/* The same, also grouped by overlapping kernels. Needs perf->overlaps. */
gt_table *gt_unified_summary_with_overlap(gt_unified *unified);

/* The ops of these sheets before grouping, with their key columns and the GPU events of each. */
typedef struct gt_unified_ops {
    const gt_table *table;
    const uint32_t *gpu_rows; /* those of op i: gpu_rows[gpu_ends[i - 1]] to gpu_rows[gpu_ends[i] - 1] */
    const size_t *gpu_ends;
} gt_unified_ops;
gt_unified_ops gt_unified_ops_of(gt_unified *unified);

/* Adds TraceLens' check of a report on inference to `text`: is the time of kernels in the sheets of ops at
 * least the computation time of the timeline, and does each kernel count as often as it ran? */
void gt_kernel_check(gt_buffer *text, gt_perf *perf, gt_unified *unified, double computation_us);
