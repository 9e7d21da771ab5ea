/* Names for files, sheets, SQL tables and columns: no two alike, letter case aside. */
#ifndef GT_OUTPUT_NAMES_H
#define GT_OUTPUT_NAMES_H

#include <stddef.h>

typedef struct gt_names {
    char **names;
    size_t count, capacity;
} gt_names;

/* `wanted`, or where that is taken `wanted` with _2, _3, ... behind it, cut so that no more than `max_chars`
 * code points remain. Lives as long as the names. */
const char *gt_names_add(gt_names *names, const char *wanted, size_t max_chars);
void gt_names_free(gt_names *names);

#endif
