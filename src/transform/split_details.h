/* What the files of a split trace hold: execution_details.json and execution_details.csv. */
#ifndef GT_TRANSFORM_SPLIT_DETAILS_H
#define GT_TRANSFORM_SPLIT_DETAILS_H

#include "analysis/serving/serving.h"
#include "output/output.h"

/* One file to be. */
typedef struct gt_split_part {
    size_t idx; /* of a file of one step: the step */
    char *path;
    size_t *steps; /* which */
    size_t step_count, step_capacity;
    gt_step_mix mix;
    gt_step_events found;
} gt_split_part;

bool gt_split_write_details(gt_output *output, const char *dir, const gt_split_part *parts, size_t count,
                            const gt_serving_step *steps, gt_error *error);

#endif
