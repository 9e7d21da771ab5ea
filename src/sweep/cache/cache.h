/* What was computed of the traces of a sweep, kept in the folder of its analysis for the next time.
 *
 *     ANALYSIS/.gputally/NAME-HASH.gtindex     what `decide` measures in one trace, in an index of the trace
 *     ANALYSIS/.gputally/STEP-HASH.stamp       from which input which files were written
 *     ANALYSIS/.gputally/lock                  held by a step that uses the folder
 *
 * A stamp is the memory of one piece of work that makes files from files: the reports of a run, a comparison,
 * the plots. The work is skipped if all of these are as they were: the contents of all inputs, the options,
 * the build of gputally, and the contents of the files that were written. Messages of the work are kept, too,
 * and given again.
 *
 *     gt_stamp stamp = gt_stamp_new("report", place, 0);
 *     gt_stamp_add_text(&stamp, options);  gt_stamp_add_file(&stamp, path); ...
 *     if (!gt_stamp_find(&stamp, cache)) {
 *         ... work ...
 *         gt_stamp_add_output(&stamp, path); ...
 *         gt_stamp_keep(&stamp, cache);
 *     }
 *     gt_stamp_free(&stamp);
 *
 * Is an input as it was? If there is an index of it, the index knows (index/index.h); otherwise its contents
 * are read. Nothing that is kept is trusted: a damaged file counts as a missing one. All functions accept a
 * NULL cache, which has nothing and keeps nothing. */
#pragma once

#include "index/index.h"

#include <pthread.h>

#define GT_SWEEP_CACHE_FOLDER ".gputally"

typedef enum gt_cache_mode {
    GT_CACHE_USE,  /* use what there is */
    GT_CACHE_KEEP, /* also keep what is new */
    GT_CACHE_RENEW /* compute everything again, and keep it */
} gt_cache_mode;

typedef struct gt_sweep_cache {
    char *folder; /* with a slash at its end */
    gt_cache_mode mode;
    gt_index_policy policy;
    int lock;             /* descriptor; -1: none */
    bool is_new;          /* its folder was made now, */
    bool is_alone;        /* and so was the one of analyses */
    gt_interner *used;    /* names of stamps that were looked for; owned */
    gt_interner *current; /* paths of files that belong to one of them; owned */
    gt_interner *removed; /* paths of files that were removed; owned */
    pthread_mutex_t mutex;
} gt_sweep_cache;

/* Opens the cache of a folder of analyses. To keep something, waits until no other process does: what a stamp
 * says about a file must be about the file that this process wrote. NULL if the folder cannot be used. */
gt_sweep_cache *gt_sweep_cache_open(const char *analysis, gt_cache_mode mode);
/* The same for the folder of a file, if something is kept there; NULL otherwise. `force`: RENEW, not KEEP. */
gt_sweep_cache *gt_sweep_cache_beside(const char *path, bool force);
/* Also removes indexes of traces that are no longer there, folders from which the last file was removed, and
 * the cache's folder if it is new and nothing was kept. */
void gt_sweep_cache_close(gt_sweep_cache *cache);

/* ---- messages ---- */

/* Messages of one piece of work: each is its kind as a character, from '0', then its text, then a NUL. */
typedef struct gt_captured_messages {
    gt_buffer texts;
    gt_log_listener listener;
} gt_captured_messages;
/* Listens to the messages of this thread until gt_capture_end; they are still given. */
void gt_capture_begin(gt_captured_messages *captured);
void gt_capture_end(gt_captured_messages *captured);
/* Whether this can be a list of messages. */
bool gt_captured_is_sound(gt_str texts);
/* Gives them again. */
void gt_captured_repeat(gt_str texts);

/* ---- indexes of traces ---- */

/* The index of a file; NULL if there can be none. Close it. */
gt_index *gt_sweep_cache_index(const gt_sweep_cache *cache, const char *path);
/* The image with this key, unless everything is computed again. */
bool gt_sweep_cache_find(const gt_sweep_cache *cache, const gt_index *index, const char *key,
                         gt_image *image);

/* ---- stamps (stamp.c) ---- */

enum { GT_STAMP_NUMBERS = 4 };

typedef struct gt_stamp {
    const char *step;            /* the begin of the file's name; borrowed */
    gt_buffer name;              /* what the work is, within its step */
    gt_buffer options;           /* what the result depends on besides files */
    struct gt_stamp_file *files; /* that it depends on */
    size_t file_count, file_capacity;
    gt_buffer inputs;  /* options, and paths and contents of the files; empty: not known yet */
    bool is_unknown;   /* a file cannot be read, or has changed since it was added */
    gt_buffer outputs; /* size, checksum and path of each, with a NUL */
    int64_t numbers[GT_STAMP_NUMBERS]; /* facts about the work, for the caller */
    gt_buffer *messages;               /* lists of gt_captured_messages, as many as the caller set; owned */
    size_t message_count;
} gt_stamp;

gt_stamp gt_stamp_new(const char *step, const char *name, size_t message_count);
void gt_stamp_free(gt_stamp *stamp);
void gt_stamp_add_text(gt_stamp *stamp, const char *text);
void gt_stamp_add_number(gt_stamp *stamp, int64_t number);
/* A file that will be read, with its path and contents. */
void gt_stamp_add_file(gt_stamp *stamp, const char *path);
/* All files of a folder and of the folders in it. */
void gt_stamp_add_folder(gt_stamp *stamp, const char *path);

/* Whether the work was done and its files are there as they were written; then outputs, numbers and messages
 * are set. */
bool gt_stamp_find(gt_stamp *stamp, gt_sweep_cache *cache);

void gt_stamp_add_output(gt_stamp *stamp, const char *path);
/* The file that was written after this one (NULL: the first); NULL after the last. */
const char *gt_stamp_next_output(const gt_stamp *stamp, const char *path);
/* Files that the same work wrote the last time and not this time are removed, as gt_stamps_remove_unused
 * does. A failure is ignored: the work is done again next time. */
void gt_stamp_keep(gt_stamp *stamp, gt_sweep_cache *cache);

/* Removes the stamps of a step that nobody has looked for since the cache was opened, and the files that they
 * say were written, if these are below the folder of analyses and as they were written: reports on runs that
 * no longer exist, which other steps would find. */
void gt_stamps_remove_unused(gt_sweep_cache *cache, const char *step);
/* Notes the files that a step has written, which depend on more than is compared, so that they can be removed
 * when the step has nothing to do. `name` tells apart the files of different calls. */
void gt_stamps_note_files(gt_sweep_cache *cache, const char *step, const char *name, const char *const *paths,
                          size_t count);
