/* Several trace files that are read at the same time (base/many.h): what they need, and their progress line.
 */
#pragma once

#include "base/image.h"

typedef struct gt_file_sizes {
    uint64_t *memory; /* by file: bytes needed to keep its events, approximately; 0 without a file */
    uint64_t *sizes;  /* by file: bytes on disk; likewise */
    uint64_t limit;   /* on the memory of files that are read at the same time */
    uint64_t bytes;   /* of all files as they are on disk, for a progress line */
} gt_file_sizes;

/* A path may be NULL. */
gt_file_sizes gt_file_sizes_find(const char *const *paths, size_t count);
void gt_file_sizes_free(gt_file_sizes *sizes);

/* Begins the progress line of all files: "64 ranks", "1 trace"; gt_progress_end_all ends it. */
void gt_files_progress(size_t count, const char *one, const char *many, uint64_t bytes);

/* ---- all of it ---- */

typedef struct gt_file_work {
    const char *const *paths; /* one may be NULL */
    size_t count;
    const char *one, *many;                    /* what the progress line calls them: "rank", "ranks" */
    bool without_limit;                        /* what is kept of a file is small, however large the file */
    bool (*work)(void *context, size_t index); /* these three as in base/many.h */
    void (*finish)(void *context, size_t index);
    void *context;

    /* What `work` makes of a file as an image, so that it may be done by another process of the command, or
     * may have been done by an earlier run that was interrupted (procs/procs.h). These four come together;
     * without a key, all work is done here.
     *
     *     work, pack, drop       in the process that does the work, whatever `work` returned
     *     unpack, finish         in process 0, instead of `work`; without `unpack`, the images are left for
     *                            later work with the same key
     *
     * Messages, and what `work` returned, are kept in addition. */
    const char *key; /* what is made, with all options that change it: images with another key are not used;
                        the path of the file and the build of the program need not be part of it */
    /* Adds to the image what `finish` and what comes after it need of this file, an error included. The
     * arrays must stay where they are until `drop`. False: it cannot be packed, and process 0 does the work.
     */
    bool (*pack)(void *context, size_t index, gt_image *image);
    /* Makes the same from an image, which is valid until `finish` has returned, and is not trusted. False,
     * and nothing is left behind: it cannot be used, and the work is done again. */
    bool (*unpack)(void *context, size_t index, const gt_image *image);
    /* Frees what `work` has made of the file; `finish` is not called then. */
    void (*drop)(void *context, size_t index);
    /* Whether an image that an earlier run has left may be used: not if it is a failure that may pass, or if
     * files that were written with it have been changed since. NULL: always. */
    bool (*is_usable)(void *context, size_t index, const gt_image *image);
    /* Something short that process 0 tells the others, who call `use_note` with it before they begin: what
     * the work depends on and may differ between processes, such as the terminal. Both may be NULL. */
    const char *note;
    void (*use_note)(void *context, const char *note);
} gt_file_work;

/* Works on all files side by side, the largest first, with a progress line. Returns the first index whose
 * work returned false; count if none did. In a command of several processes, only process 0 returns from the
 * first call with a key. */
size_t gt_files_work(const gt_file_work *files);

/* Whether the next work with a key is packed, because it is shared out, or kept in a folder that the user has
 * named. */
bool gt_files_are_packed(void);
/* While such work is done: the folder with what is kept, for files that are too large for an image. Their
 * names must differ between processes. NULL: there is none. */
const char *gt_files_folder(void);

/* ---- for the command line: images of results as files (shared_files.c) ---- */

/* From now on, work with a key is shared out among the processes of the process group, and partials are used:
 * those in `folder`, where they stay, or if it is NULL those that an interrupted run has left. `command` is
 * its name; both must stay. */
void gt_parts_allow(const char *command, const char *folder);
/* The command works on this trace and others without partials: gt_parts_end removes those that an interrupted
 * run has left next to it. */
void gt_parts_look_for(const char *trace);
/* The command ends without success: removes the work folder if nothing is kept in it. */
void gt_parts_abandon(void);
/* After the command: removes the work folder, unless the user has named it or the command may be repeated.
 * Partials are no longer used then. */
void gt_parts_end(bool is_repeated);
