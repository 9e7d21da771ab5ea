/* Which children of a pair of calls belong together?
 *
 * The alignment goes in steps, each of which leaves two lists of events and what became of them: candidates,
 * a single wrapper on one side, alignment by name, wrappers among what is unmatched, and what is inside all
 * wrappers. */
#ifndef GT_ANALYSIS_DIFF_CHILDREN_H
#define GT_ANALYSIS_DIFF_CHILDREN_H

#include "analysis/diff/align.h"
#include "analysis/diff/side.h"

typedef struct gt_diff_matcher gt_diff_matcher;
gt_diff_matcher *gt_diff_matcher_new(gt_diff_side *first, gt_diff_side *second);
void gt_diff_matcher_free(gt_diff_matcher *matcher);

/* What became of a pair's children; lives until the next pair is asked for. */
typedef struct gt_diff_children_match {
    uint32_t rows[2]; /* the pair: an event may have given way to one that it wraps */
    const uint32_t *lists[2];
    size_t counts[2];
    const gt_diff_op *ops; /* of indexes in the lists */
    size_t op_count;
} gt_diff_children_match;

/* Either event may be GT_NO_EVENT. False where there is too much to align; the lists are then those that
 * were. */
bool gt_diff_match_children(gt_diff_matcher *matcher, const uint32_t rows[2], gt_diff_children_match *match);

#endif
