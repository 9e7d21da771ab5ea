/* How far the ids and times of each rank are moved. */
#ifndef GT_TRANSFORM_FUSE_PLAN_H
#define GT_TRANSFORM_FUSE_PLAN_H

#include "transform/fuse.h"
#include "transform/fuse_event.h"

typedef struct gt_fuse_plan {
    gt_fuse_change of_rank_one; /* ids of rank r are moved r times as far */
    int64_t *shift_ns;          /* by rank; owned; NULL: times are not shifted */
} gt_fuse_plan;

/* Looks into the traces whose ids or clocks count. False where one of them is damaged and that is not
 * allowed. */
bool gt_fuse_plan_make(gt_fuse_plan *plan, char *const *paths, size_t rank_count,
                       const gt_fuse_options *options, gt_error *error);
gt_fuse_change gt_fuse_plan_of_rank(const gt_fuse_plan *plan, size_t rank);
void gt_fuse_plan_free(gt_fuse_plan *plan);

#endif
