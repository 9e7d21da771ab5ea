/* Which of many words are in a text? All are looked for in one pass over it, in upper and lower case alike.
 *
 *     gt_words *words = gt_words_new();
 *     gt_word_set attention = gt_words_add(words, "attention attn sdpa");
 *     gt_word_set found = gt_words_find(words, name);
 *     if (gt_word_sets_meet(&found, &attention)) ...
 *
 * A word is found wherever it stands, also inside of another one. */
#ifndef GT_BASE_WORDS_H
#define GT_BASE_WORDS_H

#include "base/strings.h"

#include <stdbool.h>

enum { GT_WORDS_MAX = 256 };

typedef struct gt_word_set {
    uint64_t bits[GT_WORDS_MAX / 64];
} gt_word_set; /* {0} is empty */

typedef struct gt_words gt_words;
gt_words *gt_words_new(void);
void gt_words_free(gt_words *words);

/* Adds words of a-z, 0-9, '_' and ':', given as one text with spaces between them, and says which they are.
 * No more words are added once gt_words_find was called. */
gt_word_set gt_words_add(gt_words *words, const char *list);
/* The words that the text holds. */
gt_word_set gt_words_find(gt_words *words, gt_text text);

static inline bool gt_word_sets_meet(const gt_word_set *a, const gt_word_set *b)
{
    uint64_t both = 0;
    for (size_t i = 0; i < GT_WORDS_MAX / 64; i++) both |= a->bits[i] & b->bits[i];
    return both != 0;
}

#endif
