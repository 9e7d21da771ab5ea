/* The index of a trace: where it is, whether it is still that of the trace, and what is kept in it.
 *
 * Readers and reports ask for what they need before they read the trace, and offer what they have read or
 * made. Everything kept has a key that says how it was made, so that nothing else can be taken for it:
 *
 *     gt_index *index = gt_index_open(policy, path);
 *     gt_image image = {0};
 *     if (gt_index_find(index, key, &image)) ... load ...
 *     else ... read; if (gt_index_keeps(index)) save, gt_index_keep(index, kind, key, &image) ...
 *     gt_index_close(index);
 *
 * All functions accept a NULL index, which has nothing and keeps nothing.
 *
 * Is it still the same trace? If the size, both times (of the last change of the contents and of the inode),
 * the inode and the device are those noted when the trace was read, it is: no program can set the second
 * time. Otherwise, of the same size, the whole trace is read and its checksum compared. */
#pragma once

#include "base/base.h"
#include "base/image.h"

#define GT_INDEX_SUFFIX ".gtindex"

typedef enum gt_index_mode {
    GT_INDEX_OFF,  /* neither use an index nor write one */
    GT_INDEX_USE,  /* use one that exists */
    GT_INDEX_AUTO, /* also write what is missing */
} gt_index_mode;

typedef struct gt_index_tally {
    _Atomic unsigned kept, failed;
} gt_index_tally;

typedef struct gt_index_policy {
    gt_index_mode mode;
    const char *place; /* the index file, or the folder of index files; NULL: next to the trace, or else in
                          the user's cache folder */
    bool is_cache;     /* `place` is a folder that only has indexes made by this program: files that cannot be
                          used     are replaced without a message */
    struct gt_index_tally *tally; /* counts what gt_index_keep does; NULL: nobody asks */
    struct gt_index *open; /* an index that is open: gt_index_open returns it for its trace; NULL: none */
} gt_index_policy;

/* What kind of trace an index is of. */
typedef enum gt_index_kind {
    GT_INDEX_PYTORCH = 1,
    GT_INDEX_ROCPROF,
    GT_INDEX_JAX,
    GT_INDEX_NSYS
} gt_index_kind;

/* How keys of reports begin: these only save time, and are dropped if an index has many of them. */
#define GT_INDEX_REPORT "report "

typedef struct gt_index gt_index;

/* Opens the index of a trace, which is a path or an index file instead of it. NULL if the policy is off
 * (or NULL itself), or if the trace is not a regular file. An index that cannot be used is named in a
 * message. */
gt_index *gt_index_open(const gt_index_policy *policy, const char *trace_path);
void gt_index_close(gt_index *index);

/* The image with this key, whose arrays are in the index file; free it with gt_image_free. False if there is
 * none. */
bool gt_index_find(const gt_index *index, const char *key, gt_image *image);
/* Has the strings keep the index file in memory until they are freed: for what was loaded from it. */
void gt_index_lend(const gt_index *index, gt_interner *strings);
/* Says that what gt_index_find found cannot be used, though its checksum is right. */
void gt_index_reject(const gt_index *index);

/* Whether to offer something to keep. */
bool gt_index_keeps(const gt_index *index);
/* Keeps an image. A failure is a warning: the command goes on without. False if nothing was written. */
bool gt_index_keep(gt_index *index, gt_index_kind kind, const char *key, const gt_image *image);

/* Whether the index was given instead of a trace, which is missing. Then what is not in the index cannot be
 * read; the second function fails with a message that says so. */
bool gt_index_is_alone(const gt_index *index);
bool gt_index_fail_alone(const gt_index *index, const char *key, gt_error *error);

/* Whether the path is that of an index file, and, if `trace` is not NULL, where its trace is; the caller
 * frees it; NULL if that is missing. */
bool gt_index_is_index(const char *path, char **trace);
/* The kind of trace of an index file that was given instead of the trace. False if it cannot be used; the
 * error says why. */
bool gt_index_kind_of(const char *path, gt_index_kind *kind, gt_error *error);
/* Where indexes are written if the folder of a trace cannot be: $XDG_CACHE_HOME/gputally, or
 * ~/.cache/gputally; NULL if neither is known. The caller frees it. */
char *gt_index_cache_folder(void);
/* Size and checksum of the trace, if the index is one that can be used: then they are those of now. */
bool gt_index_contents(const gt_index *index, uint64_t *size, uint64_t *checksum);
/* The index file, if there is one that can be used; NULL otherwise. */
const char *gt_index_path(const gt_index *index);
