/* Which file is the trace of which rank: by a folder, a pattern with the rank's number in it, or a search. */
#ifndef GT_CLI_INPUTS_RANK_FILES_H
#define GT_CLI_INPUTS_RANK_FILES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { GT_MOST_RANKS = 1000000 };

/* Exactly one of the first three is given. */
typedef struct gt_rank_search {
    const char *folder;  /* holds rank0_trace.json, rank1_trace.json, ... */
    const char *pattern; /* '*' stands for the rank's number */
    const char *glob;    /* any files, whose paths tell the rank by rank_regex */
    const char *rank_regex;
    size_t world_size; /* 0: as many ranks as there are */
    bool allow_missing;
} gt_rank_search;

typedef struct gt_rank_files {
    char **paths; /* by rank; NULL where the rank has no file */
    size_t count;
    char *common_folder; /* the deepest that holds all of them: where a report goes by default */
} gt_rank_files;

/* Ranks without a file are an error, unless they may be missing; two files of one rank give a warning, and
 * the first by name counts. */
bool gt_rank_files_find(gt_rank_files *files, const gt_rank_search *search, gt_error *error);
void gt_rank_files_free(gt_rank_files *files);

#endif
