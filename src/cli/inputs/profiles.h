/* Profiles in a folder: what jax.profiler and TensorBoard write as DIR/plugins/profile/RUN/HOST.xplane.pb. */
#ifndef GT_CLI_INPUTS_PROFILES_H
#define GT_CLI_INPUTS_PROFILES_H

#include "base/error.h"

#include <stddef.h>

typedef struct gt_profile_list {
    char **paths;
    size_t count, capacity;
} gt_profile_list;

/* Adds a path as it is, or of a folder the profiles of its newest run, one a host, by name. The folder may be
 * that of all runs, of one run, or any in between. False where it holds none. */
bool gt_profiles_find(gt_profile_list *list, const char *path, gt_error *error);
void gt_profiles_free(gt_profile_list *list);

#endif
