/* The comparison of two traces: one merged call tree, and the sheets made from it.
 *
 *     tree.c                the merged tree: which calls of one trace belong to which of the other
 *     side.c                the tree and the names of one trace, and strings for the sheets
 *     align.c, rematch.c    alignment of two lists of calls
 *     stats.c               diff_stats
 *     unique_args.c         diff_stats_unique_args_summary, cpu_op_map
 *     overview.c            the summary on the terminal, and columns for unified_perf_summary
 *
 * A trace is "trace1" or side 0, and "trace2" or side 1. String ids in all tables are those of trace1. */
#pragma once

#include "analysis/pytorch/sheets.h"

/* ---- one trace ---- */

/* The call tree of one trace, with the names by which calls are compared: without addresses and line numbers,
 * and for the looser comparison also without the function's name and the folder of its file. Most questions
 * are only about calls that lead to GPU events. */
typedef struct gt_diff_side {
    const gt_linked_view *trace; /* borrowed */
    gt_interner *names;          /* borrowed: names to compare by, shared by both sides */
    gt_calls *calls;
    uint32_t *normal,
        *loose; /* by name: the name to compare by, an id of `names`; GT_NO_EVENT: not computed yet */
    uint32_t graph_launches[2]; /* name ids */
    gt_row_list roots;
    gt_map children_of; /* from an outermost event to the event below it that is the root instead, and whose
                           children are also its own ... */
    gt_map parent_of;   /* ... and back */
    uint32_t *wrapped;  /* by row: where gt_diff_unwrap ends; GT_NO_EVENT: not computed yet */
    uint8_t *branches;  /* by row: 0 not computed yet, 1 no, 2 yes */
    gt_row_list spare;
} gt_diff_side;

/* Borrows its arguments. */
gt_diff_side *gt_diff_side_new(const gt_linked_view *trace, gt_interner *names);
void gt_diff_side_free(gt_diff_side *side);

/* Appends the children of an event: first host events, then the GPU events that it launched. */
void gt_diff_children(const gt_diff_side *side, uint32_t row, gt_row_list *list);
/* Only those that are GPU events or lead to some. */
void gt_diff_gpu_children(const gt_diff_side *side, uint32_t row, gt_row_list *list);
bool gt_diff_uses_gpu(const gt_diff_side *side, uint32_t row);

/* A kernel or a copy, not a memset: the events that the statistics count. */
bool gt_diff_is_kernel(const gt_diff_side *side, uint32_t row);
/* A runtime or driver call that does not launch a graph. */
bool gt_diff_is_runtime(const gt_diff_side *side, uint32_t row);
bool gt_diff_is_graph_launch(const gt_diff_side *side, uint32_t row);

/* The name to compare by: an id of `names`, GT_STR_NONE if the event has no name. */
uint32_t gt_diff_name(gt_diff_side *side, uint32_t row);
/* The same for alignment, where the name of an event without a name is its uid. */
uint32_t gt_diff_align_name(gt_diff_side *side, uint32_t row, bool loose);
/* The name to show: a string id of the trace; of an event without a name its uid. */
uint32_t gt_diff_shown_name(const gt_diff_side *side, uint32_t row);

/* Goes down through events that only wrap one other event, to the first one that launches something itself,
 * or leads to GPU events in several ways or in none. */
uint32_t gt_diff_unwrap(gt_diff_side *side, uint32_t row);
/* Whether the event at which gt_diff_unwrap ended leads to GPU events in several ways. */
bool gt_diff_branches(const gt_diff_side *side, uint32_t end);

/* ---- the merged tree ---- */

/* Roots are paired by position. Below a pair, calls that lead to GPU events are aligned by name; what is left
 * unmatched on both sides is aligned again without calls that only wrap others. A node has an event of each
 * trace, or of only one:
 *
 *     trace1            trace2               merged
 *     forward           forward              forward
 *       linear            linear               linear
 *         gemm_a            gemm_b               gemm_a + gemm_b
 *       relu                                   relu, only in trace1
 *
 * Nodes are numbered in the order in which they are found from the roots down. */
typedef struct gt_diff_node {
    uint32_t rows[2];                  /* events of both traces; GT_NO_EVENT: not in this trace */
    uint32_t first_child, child_count; /* children[first_child] to children[first_child + child_count - 1] */
} gt_diff_node;

typedef struct gt_diff_tree {
    gt_diff_side *sides[2]; /* owned */
    gt_interner *names;     /* owned; see gt_diff_side */
    gt_diff_node *nodes;
    size_t count, capacity;
    uint32_t *children; /* nodes; one may be a child twice, if an outermost event shares its children */
    size_t child_count, child_capacity;
    uint32_t *roots;
    size_t root_count;
} gt_diff_tree;

static inline bool gt_diff_is_combined(const gt_diff_node *node)
{
    return node->rows[0] != GT_NO_EVENT && node->rows[1] != GT_NO_EVENT;
}
/* The side of a node that only one trace has. */
static inline size_t gt_diff_only_side(const gt_diff_node *node)
{
    return node->rows[0] == GT_NO_EVENT;
}

/* Borrows both traces. Fails if one has no ops, or if lists of calls are too long to align. */
gt_diff_tree *gt_diff_tree_new(const gt_linked_view *first, const gt_linked_view *second, gt_error *error);
void gt_diff_tree_free(gt_diff_tree *merged);

/* ---- diff_stats ---- */

/* The GPU events of both traces, grouped by the lowest call that the traces have in common ("common call"): a
 * call below which they differ, or a kernel that both have. */
typedef struct gt_diff_stats {
    gt_table *table;    /* owned. No columns if there are no rows */
    bool identical;     /* the traces do the same in the same time */
    uint32_t *gpu_rows; /* by row of the table: the event ... */
    uint8_t *sides;     /* ... and its side */
} gt_diff_stats;

typedef struct gt_diff_stats_options {
    bool explain;       /* add the columns lca_children_t1, lca_children_t2, root_index and callstack */
    bool repeat_grafts; /* list the GPU events of a graph whose capture was merged into a trace twice where
                           the launch or what is above it is of one trace only, as TraceLens does */
} gt_diff_stats_options;
gt_diff_stats gt_diff_stats_make(const gt_diff_tree *merged, gt_diff_stats_options options);
void gt_diff_stats_free(gt_diff_stats *stats);

/* The sheet to write: for identical traces only the rows of trace1, without `source`. Takes the table out of
 * `stats`. */
gt_table *gt_diff_stats_sheet(gt_diff_stats *stats);

/* ---- diff_stats_unique_args_summary ---- */

/* The rows of diff_stats that differ only in time and position as one row, and which kernels each op has in
 * each trace.
 *
 * Ops that do the same under different names (aten::miopen_convolution and aten::cudnn_convolution) get a
 * common name if they are under the same common call and their names or modules show that they belong
 * together. */
typedef struct gt_diff_summary {
    gt_table *table; /* the sheet */
    gt_table
        *op_maps[2];  /* per trace: cpu_op_name and kernels, sorted by name; with the names of the trace */
    gt_table *op_map; /* cpu_op_name, source, kernels, nn_module_parents; with the common names, in the order
                         of the sheet */
} gt_diff_summary;

/* `stats` must have rows of both traces. */
gt_diff_summary gt_diff_summarize(const gt_diff_stats *stats);

/* ---- overview ---- */

/* How much of the GPU time of each trace has a counterpart in the other? Columns: part, and per trace "traceN
 * ms" and "traceN percent" of all its GPU time. Rows:
 *
 *     the same kernel in both traces
 *     another kernel in its place
 *     other calls below the same one    below a common call for which both traces have GPU events
 *     in this trace alone               below one for which only this trace has some, or below none
 *     not compared                      not linked to an op, or a memset */
gt_table *gt_diff_parts(const gt_diff_tree *tree, const gt_diff_stats *stats);

/* Where do the traces differ most? Columns: call, count (of common calls with that name), "trace1 ms" and
 * "trace2 ms" (their busy times), "difference ms"; the largest difference first. */
gt_table *gt_diff_differences(const gt_diff_stats *stats);

/* Adds columns to unified_perf_summary, after "Kernel Time (µs)_sum", that compare the report's trace
 * (trace1) with another (trace2):
 *
 *     speedup (trace2/trace1)       the ratio of the two totals below; above 1, trace2 takes longer
 *     delta_us (trace2 - trace1)    the second total minus the row's own Kernel Time (µs)_sum
 *     lca_count_trace2              how many of the common calls have GPU events of trace2
 *     lca_id, lca_name              the common calls of the row's kernels, joined by "; "
 *     lca_total_kernel_time_trace1_us, lca_total_kernel_time_trace2_us    their busy times
 *
 * A row without a common call has empty cells; if no row has one, nothing is added. `stats` must have the
 * rows of both traces. */
void gt_diff_add_columns(gt_table *sheet, gt_unified *unified, const gt_diff_stats *stats);
