/* Finds the traces of batch reports: all below a folder, grouped by folder and ordered by rank. */
#ifndef GT_CLI_INPUTS_BATCH_FILES_H
#define GT_CLI_INPUTS_BATCH_FILES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gt_batch_search {
    const char *base;         /* used literally, not as a pattern */
    const char *extension;    /* "json" or "gz" */
    const char *rank_pattern; /* a regular expression for the text before the rank's digits in a file name */
    const char *const *filters; /* strings that a path must contain, all of them */
    size_t filter_count;
} gt_batch_search;

/* One folder: its traces by rank, those of one rank by name. */
typedef struct gt_batch_folder {
    char *path;     /* absolute */
    char *relative; /* relative to the base; "" for the base itself */
    char **files;   /* paths */
    int64_t *ranks;
    size_t count;
} gt_batch_folder;

typedef struct gt_batch_files {
    gt_batch_folder *folders; /* in byte order of their paths */
    size_t count, capacity;
    size_t without_rank; /* files without a rank in their names, which are skipped */
} gt_batch_files;

/* Returns false if the rank pattern is not a valid regular expression. */
bool gt_batch_files_find(gt_batch_files *files, const gt_batch_search *search, gt_error *error);
void gt_batch_files_free(gt_batch_files *files);

#endif
