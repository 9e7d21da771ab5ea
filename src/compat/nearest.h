/* "did you mean ...?": the known name that is most similar to a misspelt one. */
#pragma once

#include "base/base.h"

/* The number of characters to insert, delete, replace or swap with their neighbour to turn one word into
 * the other; '-' and '_' are equivalent. Only the first 63 characters are compared. */
size_t gt_edit_distance(const char *a, const char *b);

/* The most similar name, or NULL if none is similar enough. */
const char *gt_nearest(const char *word, const char *const *names, size_t count);
