/* A folder is searched as a run first, then as a folder of runs. Runs are named by their start time, so the
 * newest is the last by name. */
#include "input/xla/profiles.h"
#include "base/guard.h"
#include "os/own.h"
#include "os/paths.h"

/* Where the runs are below the given folder; NULL: in it. */
static const char *const run_folders[] = {"plugins/profile", "profile", NULL};
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

static void close_folder(void *dir)
{
    closedir(dir);
}

/* Adds the paths in a folder whose names are wanted, by name. */
static void add_entries(gt_profile_list *list, const char *folder, bool (*is_wanted)(const char *name))
{
    DIR *dir = gt_opendir(folder);
    size_t first = list->count;
    if (!dir && errno == ENOMEM) gt_raise("out of memory");
    if (!dir) return;
    gt_guard_add(close_folder, dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!is_wanted(entry->d_name)) continue;
        char *path = gt_path_in(folder, entry->d_name);
        if (is_wanted != is_profile || gt_path_may_open(path))
            GT_PUSH(list->paths, list->count, list->capacity, path);
        else
            gt_free(path);
    }
    gt_guard_remove(dir);
    closedir(dir);
    if (list->count > first) qsort(list->paths + first, list->count - first, sizeof *list->paths, gt_by_cstr);
}

/* Adds the profiles directly in a folder; false if there are none. */
static bool add_run(gt_profile_list *list, const char *folder)
{
    size_t first = list->count;
    add_entries(list, folder, is_profile);
    return list->count > first;
}

static bool is_visible(const char *name)
{
    return name[0] != '.';
}

/* Adds the last run by name in a folder, and names the others. */
static bool add_newest_run(gt_profile_list *list, const char *folder)
{
    gt_profile_list runs = {0};
    add_entries(&runs, folder, is_visible);
    bool found = false;
    for (size_t i = runs.count; i-- > 0;) {
        gt_profile_list older = {0};
        if (!gt_path_is_folder(runs.paths[i]) || !add_run(found ? &older : list, runs.paths[i])) continue;
        if (found)
            GT_PUSH(list->skipped, list->skipped_count, list->skipped_capacity, gt_strdup(runs.paths[i]));
        gt_profiles_free(&older);
        found = true;
    }
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
        char *folder = run_folders[i] ? gt_path_in(path, run_folders[i]) : gt_strdup(path);
        found = add_newest_run(list, folder);
        gt_free(folder);
    }
    return found ||
           gt_fail(error, "%s: no JAX profile in this folder (plugins/profile/RUN/HOST.xplane.pb)", path);
}

void gt_profiles_free(gt_profile_list *list)
{
    for (size_t i = 0; i < list->count; i++) gt_free(list->paths[i]);
    gt_free(list->paths);
    for (size_t i = 0; i < list->skipped_count; i++) gt_free(list->skipped[i]);
    gt_free(list->skipped);
    *list = (gt_profile_list){0};
}
