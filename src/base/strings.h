/* Interned text: equal texts have equal ids, so that comparing and grouping by text is comparing integers.
 *
 * Ids are dense and start at 2: GT_TEXT_NONE (0) means that there is no text, GT_TEXT_EMPTY (1) is "".
 * Texts are bytes with a length and a NUL behind them; they stay where they are until the table is freed. */
#ifndef GT_BASE_STRINGS_H
#define GT_BASE_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { GT_TEXT_NONE = 0, GT_TEXT_EMPTY = 1 };

typedef struct gt_text {
    const char *bytes;
    size_t len;
} gt_text;

typedef struct gt_strings gt_strings;

gt_strings *gt_strings_new(void);
void gt_strings_free(gt_strings *strings);

uint32_t gt_strings_add(gt_strings *strings, const void *bytes, size_t len);
uint32_t gt_strings_add_cstr(gt_strings *strings, const char *text);
uint32_t gt_strings_find(const gt_strings *strings, const void *bytes,
                         size_t len); /* GT_TEXT_NONE if absent */

gt_text gt_strings_get(const gt_strings *strings, uint32_t id); /* NONE gives "" */
uint32_t gt_strings_count(const gt_strings *strings);           /* one more than the highest id */

uint64_t gt_hash_bytes(const void *bytes, size_t len);
int gt_text_compare(gt_text a, gt_text b); /* byte order, shorter first: the order of UTF-8 code points */

/* Text against a word. */
static inline bool gt_text_is(gt_text text, const char *word)
{
    size_t len = strlen(word);
    return text.len == len && memcmp(text.bytes, word, len) == 0;
}

static inline bool gt_text_is_in_any_case(gt_text text, const char *word)
{
    size_t len = strlen(word);
    return text.len == len && strncasecmp(text.bytes, word, len) == 0;
}

static inline bool gt_text_begins(gt_text text, const char *word)
{
    size_t len = strlen(word);
    return text.len >= len && memcmp(text.bytes, word, len) == 0;
}

static inline bool gt_text_contains(gt_text text, const char *word)
{
    return memmem(text.bytes, text.len, word, strlen(word)) != NULL;
}

bool gt_text_contains_in_any_case(gt_text text, const char *word); /* a word of at least one letter */

#endif
