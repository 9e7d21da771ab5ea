/* A command inside of a container: the call of docker that a plan asks for. */
#ifndef GT_RUN_PLAN_DOCKER_H
#define GT_RUN_PLAN_DOCKER_H

#include "run/sensors/gpus.h"
#include "run/plan/plan.h"

/* The words of "docker run ... IMAGE bash -c LINE", for the plan's line and variables. The container sees the
 * work folder and the output folder under their own names. False where the context asks for GPUs that are not
 * there. */
bool gt_docker_make(const gt_plan *plan, const char *image, gt_arg_list *words, gt_error *error);

/* Which GPUs docker_gpus ("all", "0,2-4"; NULL: all) means, the first `wanted` of them (-1: all), sorted; how
 * many are put into `chosen`, which has room for `there`. */
bool gt_docker_choose_gpus(const char *docker_gpus, int64_t wanted, size_t there, size_t *chosen,
                           size_t *count, gt_error *error);

/* Ends a container that the command left behind. */
void gt_docker_remove(const gt_plan *plan);

#endif
