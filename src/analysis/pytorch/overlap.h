/* Kernels that run at the same time: which ones, and for which part of an op's time? */
#pragma once

#include "analysis/pytorch/op_groups.h"

/* ---- pairs of kernels ---- */

/* Kernels that ran at the same time, on different streams, for at least a microsecond ("partners"). Kernels
 * without a stream count as being on a stream of their own. After gt_pytorch_mark_recompute, recomputed
 * events and others are not compared with each other. */
typedef struct gt_overlaps {
    uint32_t *index_of; /* by row: the kernel's number; GT_NO_EVENT: not compared */
    size_t *begin;      /* by number: where the kernel's partners begin; one entry more than kernels */
    uint32_t *partners; /* rows, in the iteration order of a Python set of their uids */
    size_t count;       /* kernels compared */
} gt_overlaps;

/* Compares GPU events with a launch, or all. Fails if there are too many pairs to keep in memory. */
gt_overlaps *gt_overlaps_find(const gt_linked_view *trace, bool include_unlinked, gt_error *error);
void gt_overlaps_free(gt_overlaps *overlaps);

/* The partners of a kernel. */
const uint32_t *gt_overlaps_of(const gt_overlaps *overlaps, uint32_t row, size_t *count);

/* ---- overlap of one op ---- */

/* The kernels that ran at the same time as those of an op:
 *
 *     names          of these kernels, each once, in the order found
 *     kernels        one entry per name: mean duration, stream of the first one, and the mean share of the
 *                    op's kernel time that they overlap; all rounded to 0.01
 *     overlap_pct    the share of the op's kernel time in which anything else ran, rounded to 0.01. Kernels
 *                    of one op that overlap each other count separately, so it may be above 1 */
typedef struct gt_op_overlap {
    uint32_t names;            /* string id of a Python list; GT_STR_NONE: nothing overlaps */
    double overlap_pct;        /* NaN: nothing overlaps */
    gt_kernel_detail *kernels; /* owned by the reader and valid until its next call */
    size_t count;
} gt_op_overlap;

typedef struct gt_op_overlap_reader gt_op_overlap_reader;
/* Borrows its arguments. */
gt_op_overlap_reader *gt_op_overlap_reader_new(const gt_linked_view *trace, const gt_overlaps *overlaps);
/* The overlap of an op with these kernels, in file order, which together run for busy_us. */
gt_op_overlap gt_op_overlap_read(gt_op_overlap_reader *reader, const uint32_t *rows, size_t count,
                                 double busy_us);
void gt_op_overlap_reader_free(gt_op_overlap_reader *reader);
