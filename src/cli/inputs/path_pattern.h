/* Files by a pattern with *, ?, [] and ** (any number of folders), as Python's glob finds them. */
#ifndef GT_CLI_INPUTS_PATH_PATTERN_H
#define GT_CLI_INPUTS_PATH_PATTERN_H

#include <stddef.h>

typedef struct gt_path_list {
    char **items; /* owned, each of them too */
    size_t count, capacity;
} gt_path_list;

/* All paths that match, sorted by bytes, each once. Names that begin with '.' match only patterns that do. */
gt_path_list gt_path_pattern_find(const char *pattern);
/* The same below a folder, whose own name is taken as it is. */
gt_path_list gt_path_pattern_find_below(const char *folder, const char *pattern);
void gt_path_list_free(gt_path_list *paths);

#endif
