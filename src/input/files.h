/* Several trace files that are read side by side (base/many.h): what they need, and their progress line. */
#ifndef GT_INPUT_FILES_H
#define GT_INPUT_FILES_H

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

#endif
