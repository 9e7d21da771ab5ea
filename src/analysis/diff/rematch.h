/* Of several calls with the same name, which belongs to which in the other trace? Those that do the same:
 * whose calls towards the GPU have the same names, level by level.
 *
 * Looks at the names that an alignment has matched and that stand more than once in a list, and pairs all
 * calls of such a name anew: most alike first, pairs that are matched already before others, then in order.
 * As many are paired as the shorter list has. */
#ifndef GT_ANALYSIS_DIFF_REMATCH_H
#define GT_ANALYSIS_DIFF_REMATCH_H

#include "analysis/diff/align.h"
#include "analysis/diff/side.h"

typedef struct gt_diff_rematch gt_diff_rematch;
gt_diff_rematch *gt_diff_rematch_new(gt_diff_side *first, gt_diff_side *second);
void gt_diff_rematch_free(gt_diff_rematch *twins);

/* Changes the alignment of two lists of events. Where it finds better pairs, what it has not looked at stays
 * in order at the front; new matches, deletions and insertions follow, each in order. */
void gt_diff_rematch_pair(gt_diff_rematch *twins, const uint32_t *first, size_t first_count,
                          const uint32_t *second, size_t second_count, gt_diff_ops *ops);

#endif
