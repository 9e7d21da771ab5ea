/* Which collectives ran beside the longest instance of each GEMM's kernel? New columns for the rows of
 * `sweep timestamps`, from the sheet nccl_long of the collective reports.
 *
 * Columns: overlapping_collective_count; overlapping_collective_names, in the order of the sheet, joined by
 * ';'; max_overlap_percentage, of the kernel's duration, the largest of one collective;
 * max_overlap_collective, that one; total_overlap_duration_ms, for how long any collective ran beside it. */
#ifndef GT_SWEEP_OVERLAP_H
#define GT_SWEEP_OVERLAP_H

#include "table/table.h"

/* How often a collective's name was met. */
typedef struct gt_collective_count {
    uint32_t name;
    size_t count;
} gt_collective_count;

typedef struct gt_overlap_counts {
    gt_collective_count *items; /* most first; equal ones as first met */
    size_t count;
} gt_overlap_counts;

/* Adds the columns. Settings without a collective report, and reports that cannot be read, are warned of;
 * their rows have no overlap. Fails where the table lacks a column. `counts` is the caller's to free. */
bool gt_sweep_add_overlap(gt_table *table, const char *analysis, unsigned threads, gt_overlap_counts *counts,
                          gt_error *error);

#endif
