/* What ran beside the kernels of an op, and for which part of their time?
 *
 *     names          of the kernels beside them, in the order met, each once
 *     details        one entry a name: the mean duration, the stream of the first, and the mean of the parts
 * of the op's kernel time that each took; all rounded to 0.01 overlap_pct    the part of the op's kernel time
 * in which anything ran beside them, rounded to 0.01. Kernels of one op that overlap each other count each on
 * its own, so it may be above 1. */
#ifndef GT_ANALYSIS_PYTORCH_OP_OVERLAP_H
#define GT_ANALYSIS_PYTORCH_OP_OVERLAP_H

#include "analysis/pytorch/kernel_stats.h"
#include "analysis/pytorch/overlap.h"

typedef struct gt_op_overlap {
    uint32_t names;            /* text id of a Python list; GT_STR_NONE where nothing overlaps */
    double overlap_pct;        /* NaN where nothing overlaps */
    gt_kernel_detail *kernels; /* the details; the reader's, until it is asked again */
    size_t count;
} gt_op_overlap;

typedef struct gt_op_overlap_reader gt_op_overlap_reader;
gt_op_overlap_reader *gt_op_overlap_reader_new(const gt_linked_view *trace, const gt_overlaps *overlaps);
/* Of an op's kernels, in file order, which together run for busy_us. */
gt_op_overlap gt_op_overlap_read(gt_op_overlap_reader *reader, const uint32_t *rows, size_t count,
                                 double busy_us);
void gt_op_overlap_reader_free(gt_op_overlap_reader *reader);

#endif
