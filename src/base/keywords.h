/* Finds which of many words a string contains, in one pass over it and ignoring case.
 *
 *     gt_keywords *words = gt_keywords_new();
 *     gt_keyword_set attention = gt_keywords_add(words, "attention attn sdpa");
 *     gt_keyword_set found = gt_keywords_find(words, name);
 *     if (gt_keyword_sets_intersect(&found, &attention)) ...
 *
 * A word is found anywhere, also inside of another one. */
#pragma once

#include "base/interner.h"

enum { GT_KEYWORDS_MAX = 512 };

typedef struct gt_keyword_set {
    uint64_t bits[GT_KEYWORDS_MAX / 64];
} gt_keyword_set; /* {0} is empty */

typedef struct gt_keywords gt_keywords;
gt_keywords *gt_keywords_new(void);
void gt_keywords_free(gt_keywords *words);

/* Adds words without capital letters, given as one string with spaces between them, and returns their set.
 * The string must outlive the words. */
gt_keyword_set gt_keywords_add(gt_keywords *words, const char *list);
/* The words that the string contains. */
gt_keyword_set gt_keywords_find(gt_keywords *words, gt_str text);

static inline bool gt_keyword_sets_intersect(const gt_keyword_set *a, const gt_keyword_set *b)
{
    uint64_t both = 0;
    for (size_t i = 0; i < GT_KEYWORDS_MAX / 64; i++) both |= a->bits[i] & b->bits[i];
    return both != 0;
}
