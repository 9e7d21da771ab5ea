/* Paths: joining, making absolute, finding programs. Results are in the arena. */
#ifndef GT_OS_PATHS_H
#define GT_OS_PATHS_H

#include "base/error.h"
#include "base/memory.h"

const char *gt_path_join(gt_arena *arena, const char *folder,
                         const char *name); /* name alone where it is absolute */
/* The path from `folder` on, with "./", "//" and "x/.." taken out. */
const char *gt_path_absolute(gt_arena *arena, const char *folder, const char *path);
const char *gt_path_current(gt_arena *arena); /* the current folder */
const char *gt_path_name(const char *path);   /* what stands behind the last '/' */
bool gt_path_is_named(const char *path,
                      const char *name); /* whether its last part is that name, slashes at the end aside */

/* The first program of that name in a list of folders with ':' between them; a name with '/' is looked at as
 * it is. NULL where there is none. */
const char *gt_path_search(gt_arena *arena, const char *program, const char *folders);

bool gt_path_is_folder(const char *path);
/* Makes a folder and those above it that are missing. */
bool gt_path_make_folder(const char *path, gt_error *error);

#endif
