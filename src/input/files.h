/* Several trace files that are read side by side (base/many.h): what they need, and their progress line. */
#ifndef GT_INPUT_FILES_H
#define GT_INPUT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gt_file_sizes {
    uint64_t *memory; /* by file: bytes needed to keep its events, approximately; 0 without a file */
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
} gt_file_work;

/* Works on all files side by side, the largest first, with a progress line. Returns the first index whose
 * work returned false; count if none did. */
size_t gt_files_work(const gt_file_work *files);

#endif
