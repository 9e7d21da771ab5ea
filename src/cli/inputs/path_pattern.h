/* Finds files by a pattern with *, ?, [] and ** (any number of folders), like Python's glob. */
#ifndef GT_CLI_INPUTS_PATH_PATTERN_H
#define GT_CLI_INPUTS_PATH_PATTERN_H

#include <stddef.h>

typedef struct gt_path_list {
    char **items; /* owned, like each of them */
    size_t count, capacity;
} gt_path_list;

/* All matching paths, sorted by bytes, without duplicates. Names that start with '.' match only patterns
 * that do. */
gt_path_list gt_path_pattern_find(const char *pattern);
/* The same below a folder, whose own name is used literally. */
gt_path_list gt_path_pattern_find_below(const char *folder, const char *pattern);
void gt_path_list_free(gt_path_list *paths);

#endif
