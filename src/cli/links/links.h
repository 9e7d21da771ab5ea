/* The old names: which there are, and the files that make them start gputally. For `gputally links`.
 *
 *     old_names.c   the table of all old names and what each starts
 *     wrappers.c    the text of a wrapper
 *     place.c       writing all of them into a folder, and removing them */
#pragma once

#include "base/base.h"

typedef enum gt_old_kind {
    GT_OLD_LINK,     /* a symbolic link: the program knows the command by this name */
    GT_OLD_PYTHON,   /* a Python script or module that starts the program */
    GT_OLD_SHELL,    /* a shell script that starts it */
    GT_OLD_PACKAGE,  /* __init__.py of a Python package */
    GT_OLD_JOB_FILE, /* a job file for rocprofv3 that came with the old scripts */
} gt_old_kind;

typedef struct gt_old_name {
    const char *path; /* below the folder, as in the repository that it comes from */
    gt_old_kind kind;
    const char *starts; /* the name to start the program by ("TraceLens_..."), or its arguments: "sweep top";
                           NULL of packages and job files */
} gt_old_name;

/* All of them, in the order in which they are written. */
size_t gt_old_name_count(void);
gt_old_name gt_old_name_at(size_t index);

/* Every file that `gputally links` writes contains this line, without its end, near the beginning: only such
 * files are replaced or removed. */
#define GT_LINKS_MARK "Written by `gputally links`"

/* Adds the text of a wrapper, package or job file. `program` is an absolute path, or one relative to the
 * folder of the links. */
void gt_old_name_text(gt_buffer *text, const gt_old_name *name, const char *program);

/* Adds a bytes literal of Python, in ASCII: how a Python wrapper writes the path of the program. */
void gt_python_bytes(gt_buffer *text, const char *bytes);

/* The folder, in that of the links, for files that were in the way: each under the path of its old name. */
#define GT_LINKS_ORIGINALS ".gputally-originals"

/* How many files a call has changed, and how many it found as they should be. */
typedef struct gt_links_result {
    size_t changed, unchanged;
    size_t originals;    /* files of others that were set aside, or put back */
    bool folder_removed; /* was empty then */
} gt_links_result;

/* Writes all old names into a folder, which is created if it does not exist. Files in the way that are
 * not ours are an error that names them, and nothing is written, unless `force` moves them to the originals;
 * a folder in the way is always an error. */
bool gt_links_write(const char *folder, const char *program, bool force, gt_links_result *result,
                    gt_error *error);

/* Removes them, puts the originals back, and removes the folders that are empty then, `folder` too, unless it
 * is the current one. Files that are not ours stay. */
bool gt_links_remove(const char *folder, gt_links_result *result, gt_error *error);
