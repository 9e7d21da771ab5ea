/* The sheets of a batch report: all ranks of a folder of PyTorch traces in one workbook.
 *
 * Most sheets are made in two steps, so that little of a rank is kept in memory:
 *
 *     rows = gt_batch_calls_of_rank(trace, rank);    of each rank
 *     gt_table_append(rows, more, ...);              append the rows of other ranks
 *     sheet = gt_batch_calls(rows);                  cuda_events_summary */
#pragma once

#include "analysis/pytorch/sheets.h"

/* ---- kernels_<rank>: every kernel and the op that it ran for (kernels.c) ---- */

gt_table *gt_batch_kernels_of_rank(const gt_pytorch_kernels *kernels, int64_t rank);

/* ---- kernel_launchers, grouped_breakdown: time by launching op and by group of ops (launchers.c) ---- */

gt_table *gt_batch_launchers_of_rank(const gt_linked_view *trace, const gt_launchers *launchers);
gt_table *gt_batch_launchers(const gt_table *rows, size_t ranks);
/* `timelines` is the sheet gpu_timelines. Appends the names of launchers that are in no group to `others` as
 * a Python list, and sets *other_count to their number. */
gt_table *gt_batch_breakdown(const gt_table *launchers, const gt_table *timelines, gt_buffer *others,
                             size_t *other_count);

/* ---- gpu_timelines (launchers.c) ---- */

/* timelines[i] is the gpu_timeline of rank ranks[i], or NULL if it has none. */
gt_table *gt_batch_timelines(gt_table *const *timelines, const int64_t *ranks, size_t count,
                             gt_interner *strings);

/* ---- kernels without a known op, short kernels (kernels.c) ---- */

/* linked_and_short_kernels: the sheet is the rows of all ranks. */
gt_table *gt_batch_kernel_counts_of_rank(const gt_linked_view *trace, int64_t rank);
/* unlinked_short_kernels_summary */
gt_table *gt_batch_unlinked_of_rank(const gt_linked_view *trace);
gt_table *gt_batch_unlinked(const gt_table *rows);
/* short_cpu_op_counts; the sheet ends with a total. */
gt_table *gt_batch_short_ops_of_rank(const gt_pytorch_kernels *kernels);
gt_table *gt_batch_short_ops(const gt_table *rows);

/* ---- cuda_events_summary: calls of the runtime and the driver (launchers.c) ---- */

gt_table *gt_batch_calls_of_rank(const gt_event_view *trace, int64_t rank);
gt_table *gt_batch_calls(const gt_table *rows);

/* ---- gemm, conv, attn, un_elemwise, bin_elemwise (ops.c) ---- */

typedef enum gt_batch_group {
    GT_BATCH_GEMM,
    GT_BATCH_CONV,
    GT_BATCH_ATTENTION,
    GT_BATCH_UNARY,
    GT_BATCH_BINARY,
    GT_BATCH_GROUPS,
} gt_batch_group;

typedef struct gt_batch_ops {
    gt_table *rows;          /* owned; one per op that its model supports; NULL: no rank has any */
    gt_kernel_lists kernels; /* one list per row */
    size_t found;            /* ops of the group, understood or not */
} gt_batch_ops;              /* {0} is empty */

gt_sheet gt_batch_group_sheet(gt_batch_group group);

void gt_batch_ops_of_rank(gt_perf *perf, gt_batch_ops ops[GT_BATCH_GROUPS]);
void gt_batch_ops_use_strings(gt_batch_ops *ops, gt_interner *strings);
void gt_batch_ops_append(gt_batch_ops *ops, gt_batch_ops *more); /* `more` is empty afterwards */
void gt_batch_ops_free(gt_batch_ops *ops);
/* NULL if there are no rows. Call it once: it changes the types of the rows' parameters. If `arguments` is
 * not NULL, it gets a table of the arguments of each row's op, as JSON of the trace, with the columns
 * GT_BATCH_DIMS and so on. */
gt_table *gt_batch_ops_sheet(gt_batch_ops *ops, gt_batch_group group, gt_table **arguments);

/* STRING columns of that table. */
enum { GT_BATCH_DIMS, GT_BATCH_TYPES, GT_BATCH_STRIDES, GT_BATCH_CONCRETE, GT_BATCH_ARGUMENTS };

/* ---- rows of a rank as an image (image.c) ---- */

/* The names of columns of parameters begin like this. */
#define GT_BATCH_PARAMETER "param: "

/* Whether loaded rows are such as the function of this sheet makes for a rank. */
bool gt_batch_rows_are_sound(const gt_table *rows, gt_sheet sheet);
/* All of the ops but their rows, which the caller saves among other tables, with the same strings: those of
 * the rows. */
void gt_batch_ops_save(const gt_batch_ops ops[GT_BATCH_GROUPS], gt_image *image);
/* The rows are set and have these strings, which were loaded from the image. False if it is damaged. The
 * caller frees the ops in any case. */
bool gt_batch_ops_load(gt_batch_ops ops[GT_BATCH_GROUPS], const gt_interner *strings, const gt_image *image);

/* Whether an op with this name is in a group that has its own line in grouped_breakdown. */
bool gt_batch_is_gemm(gt_str name);
bool gt_batch_is_elementwise(gt_str name);
