/* Which items of one list belong to which of another? The alignment of least edits, as Wagner and Fischer
 * find it: deleting, inserting and replacing cost one each.
 *
 * Of several alignments that cost the same, it is the one that goes back from the ends, matches equal items
 * wherever it meets them, and else deletes where that costs no more, and inserts otherwise. Items that were
 * replaced are a deletion and an insertion. */
#ifndef GT_ANALYSIS_DIFF_ALIGN_H
#define GT_ANALYSIS_DIFF_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_NO_INDEX UINT32_MAX

/* A match, a deletion (no j) or an insertion (no i). */
typedef struct gt_diff_op {
    uint32_t i, j;
} gt_diff_op;

typedef struct gt_diff_ops {
    gt_diff_op *items;
    size_t count, capacity;
} gt_diff_ops;

void gt_diff_ops_add(gt_diff_ops *ops, uint32_t i, uint32_t j);

static inline bool gt_diff_op_is_match(gt_diff_op op)
{
    return op.i != GT_NO_INDEX && op.j != GT_NO_INDEX;
}

/* Room for the work, kept from call to call. */
typedef struct gt_aligner {
    uint64_t cells_left; /* pairs of items that may still be compared, over all calls */
    uint32_t *symbol_of; /* by item: its number among the different items of the first list, where ... */
    uint32_t *stamp_of;  /* ... this is `stamp` */
    size_t item_capacity;
    uint32_t stamp;
    struct gt_align_table *table;
} gt_aligner;

void gt_aligner_free(gt_aligner *aligner);

/* Fills `ops` in order of the lists. Items are small numbers, such as text ids. Time grows with the product
 * of the lists' lengths without what they begin and end with alike, over 64; memory with one length and the
 * root of the other. False where that is more than cells_left. */
bool gt_align(gt_aligner *aligner, const uint32_t *first, size_t first_count, const uint32_t *second,
              size_t second_count, gt_diff_ops *ops);

#endif
