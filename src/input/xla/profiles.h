/* Profiles in a folder that jax.profiler or TensorBoard wrote: DIR/plugins/profile/RUN/HOST.xplane.pb. */
#pragma once

#include "base/base.h"

typedef struct gt_profile_list {
    char **paths;
    size_t count, capacity;
    char **skipped; /* folders of runs that are not the newest */
    size_t skipped_count, skipped_capacity;
} gt_profile_list;

/* Adds the path of a file unchanged; of a folder, the profiles of its newest run, one per host, by name. The
 * folder may be that of all runs, of one run, or any in between. False if it has none. Older runs are named
 * in `skipped`. */
bool gt_profiles_find(gt_profile_list *list, const char *path, gt_error *error);
void gt_profiles_free(gt_profile_list *list);
