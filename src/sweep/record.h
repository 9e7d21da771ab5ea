/* Reading sweep.json, in which `sweep run` records the axes of a sweep and each run with its outcome. Files
 * of older versions, without axes, are read too. */
#pragma once

#include "json/values.h"

typedef struct gt_recorded_point {
    const char *place;    /* folder below the sweep's: "256thread/nccl_28channels" */
    const gt_value *json; /* the point's object */
} gt_recorded_point;

typedef struct gt_sweep_record {
    const gt_value *json;
    gt_recorded_point *points; /* in the order of the file */
    gt_recorded_point *sorted; /* by place; of several with one place, the last */
    size_t count, sorted_count;
    gt_arena arena;
} gt_sweep_record;

/* Reads ROOT/sweep.json, and adds what tasks of SLURM have done since it was written (tasks.h). NULL if there
 * is none, or if it is damaged, which is said in a warning. */
gt_sweep_record *gt_sweep_record_read(const char *root);
void gt_sweep_record_free(gt_sweep_record *record);

/* The point with this place; MISSING if there is none. `record` may be NULL. */
const gt_value *gt_sweep_record_point(const gt_sweep_record *record, const char *place);
