/* Finds the trace of each rank: in a folder, by a pattern with the rank number, or by a glob. */
#ifndef GT_CLI_INPUTS_RANK_FILES_H
#define GT_CLI_INPUTS_RANK_FILES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { GT_MOST_RANKS = 1000000 };

/* Exactly one of the first three is given. */
typedef struct gt_rank_search {
    const char *folder;  /* contains rank0_trace.json, rank1_trace.json, ... */
    const char *pattern; /* with '*' in place of the rank number */
    const char *glob;    /* any files; rank_regex finds the rank in their paths */
    const char *rank_regex;
    size_t world_size; /* 0: as many ranks as there are files */
    bool allow_missing;
} gt_rank_search;

typedef struct gt_rank_files {
    char **paths; /* by rank; NULL: the rank has no file */
    size_t count;
    char *common_folder; /* the deepest folder that contains all of them: the default place of a report */
} gt_rank_files;

/* A rank without a file is an error unless ranks may be missing. Warns about two files of one rank; the
 * first one by name is used. */
bool gt_rank_files_find(gt_rank_files *files, const gt_rank_search *search, gt_error *error);
void gt_rank_files_free(gt_rank_files *files);

#endif
