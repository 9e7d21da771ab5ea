/* Paths and small files: parts of paths, joining, finding programs, making folders, reading settings; and the
 * headers of the system that files with paths need. */
#pragma once

#include "base/base.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- paths as strings; results are in the arena, or the caller frees them ---- */

const char *gt_path_join(gt_arena *arena, const char *folder,
                         const char *name); /* an absolute name as it is */
/* The path, relative to `folder`, as an absolute one without "./", "//" and "x/..". Links stay as they are.
 */
const char *gt_path_absolute(gt_arena *arena, const char *folder, const char *path);
const char *gt_path_current(gt_arena *arena); /* the current folder */
const char *gt_path_program(gt_arena *arena); /* the file of this program; NULL: unknown */

char *gt_path_in(const char *folder, const char *name); /* joined, whatever the name */
char *gt_path_trim(const char *path);        /* without '/' at the end: "a/b" of "a/b/", "/" of "/" */
char *gt_path_last_name(const char *path);   /* the name of what gt_path_trim gives; "/" of "/" */
const char *gt_path_name(const char *path);  /* the part after the last '/' */
size_t gt_path_folder_len(const char *path); /* of the part before the name, including the '/' */
char *gt_path_folder(const char *path);      /* "a" of "a/b", "/" of "/a", "." of a bare name */
bool gt_path_is_named(const char *path,
                      const char *name); /* whether the last part, without '/' at the end, is that */
char *gt_path_sibling(const char *path, const char *name); /* another name in the same folder */
char *gt_path_replace_extension(const char *path,
                                const char *extension); /* "a.csv" to "a.html"; added if there is none */

/* ---- the file system ---- */

/* The first program of that name in a list of folders separated by ':'; a name with '/' is checked as it is.
 * NULL if there is none. */
const char *gt_path_search(gt_arena *arena, const char *program, const char *folders);

const char *gt_path_temporary_folder(void); /* $TMPDIR, or /var/tmp, or /tmp, which is often in memory */
bool gt_path_is_folder(const char *path);
bool gt_path_is_file(const char *path);    /* it exists and is not a folder */
bool gt_path_is_regular(const char *path); /* the same, and no pipe or device: it can be read again */
/* Whether something that was found in a folder, not named by the user, may be opened: FIFOs, sockets and
 * devices, which may block or never end, may not. They are named in a warning. */
bool gt_path_may_open(const char *path);
uint64_t gt_path_bytes(const char *path); /* the size of a file; 0 if there is none */
bool gt_path_is_same_file(const char *a,
                          const char *b); /* also through links; false if one is NULL or missing */

/* Lets the group write a new file or folder, whatever the umask is, if its folder says that the group works
 * in it: it is writable for the group, and not for all as /tmp is, and the new one has the same group. What
 * the group may not read stays as it is. */
void gt_path_share(const char *path);

/* Makes a folder and the missing ones above it. */
bool gt_path_make_folder(const char *path, gt_error *error);

/* opendir, with a warning if the folder is there but cannot be read. */
DIR *gt_open_folder(const char *folder);

/* Names of the files and folders in a folder in byte order, without hidden ones and without what
 * gt_path_may_open rejects; empty if it cannot be read. */
typedef struct gt_folder_list {
    char **items;
    size_t count, capacity;
} gt_folder_list;
gt_folder_list gt_list_folder(const char *folder);
void gt_folder_list_free(gt_folder_list *names);

/* Adds the bytes of a file that is read whole: settings and lists, not traces. False if it cannot be read or
 * has more than `most` bytes; the message begins with the path. */
bool gt_read_small_file(const char *path, size_t most, gt_buffer *text, gt_error *error);
