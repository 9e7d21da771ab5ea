/* The profiling configs that come with gputally: contexts for common questions, by name. */
#ifndef GT_RUN_PLAN_CONFIGS_H
#define GT_RUN_PLAN_CONFIGS_H

#include "base/error.h"

#include <stddef.h>

typedef struct gt_config {
    const char *name; /* without ".json" */
    const char *purpose;
    const char *json;
} gt_config;

extern const gt_config gt_configs[];
extern const size_t gt_config_count;

/* The JSON of the config that a path names, whatever folder it is said to be in:
 * "examples/rocprofv3_full.json" or "rocprofv3_full". NULL where there is none. */
const char *gt_config_find(const char *path);

/* Writes each config as NAME.json into a folder, which is made where it is missing. */
bool gt_configs_write(const char *folder, gt_error *error);

#endif
