/* A folder is looked at as a run first, then as a folder of runs. Runs are named by when they began, so the
 * newest is the last by name. */
#include "cli/inputs/profiles.h"
#include "base/length.h"
#include "base/memory.h"
#include "os/paths.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* Where runs lie below the folder given. */
static const char *const run_folders[] = {"plugins/profile", "profile", "."};
static const char *const endings[] = {".xplane.pb", ".xplane.pb.gz", ".xplane.pb.zst"};

static bool is_profile(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < GT_LENGTH(endings); i++) {
        size_t end = strlen(endings[i]);
        if (len > end && strcmp(name + len - end, endings[i]) == 0) return true;
    }
    return false;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Adds the profiles that lie in a folder itself; false where there are none. */
static bool add_run(gt_profile_list *list, const char *folder)
{
    DIR *dir = opendir(folder);
    size_t first = list->count;
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (is_profile(entry->d_name))
            GT_PUSH(list->paths, list->count, list->capacity, gt_format("%s/%s", folder, entry->d_name));
    if (dir) closedir(dir);
    if (list->count > first) qsort(list->paths + first, list->count - first, sizeof *list->paths, by_name);
    return list->count > first;
}

/* Adds the last by name of the runs that lie in a folder. */
static bool add_newest_run(gt_profile_list *list, const char *folder)
{
    DIR *dir = opendir(folder);
    gt_profile_list runs = {0};
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            GT_PUSH(runs.paths, runs.count, runs.capacity, gt_format("%s/%s", folder, entry->d_name));
    if (dir) closedir(dir);
    if (runs.count) qsort(runs.paths, runs.count, sizeof *runs.paths, by_name);
    bool found = false;
    for (size_t i = runs.count; i-- > 0 && !found;)
        found = gt_path_is_folder(runs.paths[i]) && add_run(list, runs.paths[i]);
    gt_profiles_free(&runs);
    return found;
}

bool gt_profiles_find(gt_profile_list *list, const char *path, gt_error *error)
{
    if (!gt_path_is_folder(path)) {
        GT_PUSH(list->paths, list->count, list->capacity, gt_strdup(path));
        return true;
    }
    bool found = add_run(list, path);
    for (size_t i = 0; !found && i < GT_LENGTH(run_folders); i++) {
        char *folder = gt_format("%s/%s", path, run_folders[i]);
        found = add_newest_run(list, folder);
        gt_free(folder);
    }
    return found ||
           gt_fail(error, "%s: this folder holds no JAX profile (plugins/profile/RUN/HOST.xplane.pb)", path);
}

void gt_profiles_free(gt_profile_list *list)
{
    for (size_t i = 0; i < list->count; i++) gt_free(list->paths[i]);
    gt_free(list->paths);
    *list = (gt_profile_list){0};
}
