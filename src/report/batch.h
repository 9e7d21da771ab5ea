/* The batch report: one folder of PyTorch traces, all ranks combined.
 *
 * Sheets: kernels_<rank>, gemm, conv, attn, un_elemwise, bin_elemwise, kernel_launchers, gpu_timelines,
 * linked_and_short_kernels, unlinked_short_kernels_summary, short_cpu_op_counts, cuda_events_summary,
 * grouped_breakdown (gt_batch_tables), and with several ranks summary_nccl_implicit_sync_cat, long,
 * nccl_implicit_sync_cat, nccl_implicit_sync_cat_detailed, nccl_all2allv (gt_batch_collective_tables). Sheets
 * without rows are omitted, except kernel_launchers, gpu_timelines, linked_and_short_kernels and
 * grouped_breakdown. */
#pragma once

#include "analysis/batch/batch.h"
#include "input/options.h"

/* ---- what is kept of each rank ----
 * Traces are read in parallel, a few at a time, each once. */

/* Tables with the rows of all ranks, in the order of the ranks. */
typedef enum gt_batch_part {
    GT_BATCH_LAUNCHERS,
    GT_BATCH_COUNTS,
    GT_BATCH_UNLINKED,
    GT_BATCH_SHORT_OPS,
    GT_BATCH_CALLS,
    GT_BATCH_COLLECTIVES,
    GT_BATCH_PARTS,
} gt_batch_part;

typedef struct gt_batch_ranks {
    gt_interner *strings; /* owned; of all tables here */
    size_t count;
    const int64_t *numbers;          /* rank numbers from the file names, by position; borrowed */
    gt_table *parts[GT_BATCH_PARTS]; /* owned; in parts[GT_BATCH_COLLECTIVES] a rank is its position */
    gt_batch_ops ops[GT_BATCH_GROUPS];
    size_t *ops_found[GT_BATCH_GROUPS];   /* owned; ops of the group, by position */
    gt_table *arguments[GT_BATCH_GROUPS]; /* owned; of the sheet's rows (gt_batch_ops_sheet); NULL until the
                                             sheet is made */
    gt_table **timelines;                 /* owned; by position, NULL if the rank has no GPU events */
    gt_base_time *bases;                  /* owned; by position */
    gt_table_list kernels;                /* kernels_<rank>, if requested */
    bool gpu_only;                        /* no rank has ops */
    size_t events;                        /* in all files */
    gt_left_out left_out;                 /* of the ranks whose timeline does not count these events */
    bool line_per_rank; /* print a line for each rank without ops of a group, not one for all of them */
} gt_batch_ranks;

/* Traces of one folder: paths[i] is that of rank numbers[i]. Everything is borrowed. */
typedef struct gt_batch_request {
    char *const *paths;
    const int64_t *numbers;
    size_t count;
    bool all_kernels;
    const gt_read_options *read;
} gt_batch_request;

/* False if a trace cannot be read; then there is nothing to free. */
bool gt_batch_ranks_read(gt_batch_ranks *ranks, const gt_batch_request *request, gt_error *error);
/* If the work is shared with other processes (gt_files_are_packed): reads the ranks of several folders at the
 * same time, and leaves the results where gt_batch_ranks_read finds them. */
void gt_batch_ranks_prepare(const gt_batch_request *requests, size_t count);
void gt_batch_ranks_free(gt_batch_ranks *ranks);

/* ---- the sheets ----
 * Each function is called once: tables of the ranks become sheets. */

/* Prints to `out`, unless it is NULL, which groups and kernels are missing, as TraceLens does. */
void gt_batch_tables(gt_batch_ranks *ranks, FILE *out, gt_table_list *tables);
/* Adds nothing if no rank has collectives. */
void gt_batch_collective_tables(gt_batch_ranks *ranks, gt_table_list *tables);

/* Adds the HTML page of the sheets: time per rank, time by group of ops, and all sheets. */
void gt_batch_add_page(const gt_table_list *tables, size_t ranks, const char *title, const char *command,
                       gt_buffer *html);
