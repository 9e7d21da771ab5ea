/* What a batch report keeps of each rank: its traces are read on all cores, some at a time, each once. */
#ifndef GT_REPORT_BATCH_RANKS_H
#define GT_REPORT_BATCH_RANKS_H

#include "analysis/batch/batch.h"
#include "input/options.h"
#include "report/tables.h"

/* Rows of all ranks, one rank behind another. */
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
    gt_interner *strings; /* owned: of all tables here */
    size_t count;
    const int64_t *numbers;          /* by place: what the files' names say; borrowed */
    gt_table *parts[GT_BATCH_PARTS]; /* owned; in parts[GT_BATCH_COLLECTIVES] a rank is its place */
    gt_batch_ops ops[GT_BATCH_GROUPS];
    size_t *ops_found[GT_BATCH_GROUPS];   /* owned; by place: ops of the group */
    gt_table *arguments[GT_BATCH_GROUPS]; /* owned; those of the sheet's rows (gt_batch_ops_sheet); NULL
                                             before it is made */
    gt_table **timelines;                 /* owned; by place, NULL where the rank has no GPU events */
    gt_table_list kernels;                /* kernels_<rank>, where asked for */
    bool gpu_only;                        /* no rank has ops */
    size_t events;                        /* in all files */
} gt_batch_ranks;

/* paths[i] is the trace of the rank numbers[i]. False where one cannot be read: then there is nothing to
 * free. */
bool gt_batch_ranks_read(gt_batch_ranks *ranks, char *const *paths, const int64_t *numbers, size_t count,
                         bool all_kernels, const gt_read_options *options, gt_error *error);
void gt_batch_ranks_free(gt_batch_ranks *ranks);

#endif
