/* "Did you mean ...?": the nearest of the names that are known. */
#ifndef GT_CLI_SUGGEST_H
#define GT_CLI_SUGGEST_H

#include <stddef.h>

/* Letters to insert, delete, replace or swap with their neighbour to turn one word into the other; '-' and
 * '_' are the same letter. Only the first 63 letters of each count. */
size_t gt_edit_distance(const char *a, const char *b);

/* The nearest name, or NULL where none is near enough to be what was meant. */
const char *gt_nearest(const char *word, const char *const *names, size_t count);

#endif
