/* Which kernels ran at the same time, on different streams, for at least a microsecond?
 *
 * Kernels without a stream count as being on one of their own. Where recomputation was looked for, recomputed
 * work and other work are not compared with each other. */
#ifndef GT_ANALYSIS_PYTORCH_OVERLAP_H
#define GT_ANALYSIS_PYTORCH_OVERLAP_H

#include "base/error.h"
#include "trace/pytorch/pytorch.h"

typedef struct gt_overlaps {
    uint32_t *index_of; /* by row: the kernel's number, GT_NO_EVENT where it took no part */
    size_t *begin;      /* by number, and one more: where the kernel's partners begin */
    uint32_t *partners; /* rows, in the order in which Python goes through the set of their uids */
    size_t count;       /* kernels that took part */
} gt_overlaps;

/* Looks at linked GPU events, or at all. Fails where more kernels overlap than memory should hold. */
gt_overlaps *gt_overlaps_find(const gt_linked_view *trace, bool include_unlinked, gt_error *error);
void gt_overlaps_free(gt_overlaps *overlaps);

/* The partners of a kernel. */
const uint32_t *gt_overlaps_of(const gt_overlaps *overlaps, uint32_t row, size_t *count);

#endif
