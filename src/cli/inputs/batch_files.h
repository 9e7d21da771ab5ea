/* Which traces a batch report is made of: those below a folder, by the folders that hold them and by rank. */
#ifndef GT_CLI_INPUTS_BATCH_FILES_H
#define GT_CLI_INPUTS_BATCH_FILES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gt_batch_search {
    const char *base;           /* taken as it is, not as a pattern */
    const char *extension;      /* "json" or "gz" */
    const char *rank_pattern;   /* a regular expression, before the rank's digits in a file's name */
    const char *const *filters; /* parts that a path must have, all of them */
    size_t filter_count;
} gt_batch_search;

/* One folder: its traces by rank, those of one rank by name. */
typedef struct gt_batch_folder {
    char *path;     /* absolute */
    char *relative; /* below the base; "" for the base itself */
    char **files;   /* paths */
    int64_t *ranks;
    size_t count;
} gt_batch_folder;

typedef struct gt_batch_files {
    gt_batch_folder *folders; /* in byte order of their paths */
    size_t count, capacity;
    size_t without_rank; /* files whose names tell none: they are left out */
} gt_batch_files;

/* False where the rank's pattern is no expression. */
bool gt_batch_files_find(gt_batch_files *files, const gt_batch_search *search, gt_error *error);
void gt_batch_files_free(gt_batch_files *files);

#endif
