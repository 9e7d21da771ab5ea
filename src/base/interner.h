/* Strings (bytes with a length) and the interner, which gives equal strings equal ids.
 *
 * With ids, comparing and grouping by name is comparing integers, and a name that a million events share is
 * stored once. For example, adding "aten::add", "aten::mul" and "aten::add" again gives the ids 2, 3 and 2.
 *
 * Ids are dense and start at 2: GT_STR_NONE (0) means that there is no string, GT_STR_EMPTY (1) is "".
 * Interned strings are NUL-terminated and stay at their address until the interner is freed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { GT_STR_NONE = 0, GT_STR_EMPTY = 1 };

typedef struct gt_str {
    const char *bytes;
    size_t len;
} gt_str;

typedef struct gt_interner gt_interner;

gt_interner *gt_interner_new(void);
void gt_interner_free(gt_interner *strings);

/* An interner with the same strings and ids, for work side by side that adds strings of its own. It borrows
 * the strings, so the original must outlive it; what is added to one of them is not in the other. */
gt_interner *gt_interner_copy(const gt_interner *strings);

uint32_t gt_interner_add(gt_interner *strings, const void *bytes, size_t len);
uint32_t gt_interner_add_cstr(gt_interner *strings, const char *text);
/* A string of another interner; GT_STR_NONE stays so. */
uint32_t gt_interner_add_from(gt_interner *to, const gt_interner *from, uint32_t id);
uint32_t gt_interner_find(const gt_interner *strings, const void *bytes,
                          size_t len); /* GT_STR_NONE if absent */

gt_str gt_interner_get(const gt_interner *strings, uint32_t id); /* NONE gives "" */
uint32_t gt_interner_count(const gt_interner *strings);          /* one more than the highest id */

/* Adds a string without copying it: `bytes`, with a NUL and then 63 more readable bytes after it, must stay
 * there as long as the interner. */
uint32_t gt_interner_add_borrowed(gt_interner *strings, const char *bytes, size_t len);
/* Has gt_interner_free call release(object) at its end: for the memory of borrowed strings, which nothing
 * that refers to the strings outlives. At most once. */
void gt_interner_own(gt_interner *strings, void (*release)(void *object), void *object);

uint64_t gt_hash_bytes(const void *bytes, size_t len);
int gt_str_compare(gt_str a,
                   gt_str b); /* byte order, which for UTF-8 is the order of code points; shorter first */

/* Comparisons with a C string. */
static inline bool gt_str_equals(gt_str text, const char *word)
{
    size_t len = strlen(word);
    return text.len == len && memcmp(text.bytes, word, len) == 0;
}

static inline bool gt_str_equals_nocase(gt_str text, const char *word)
{
    size_t len = strlen(word);
    return text.len == len && strncasecmp(text.bytes, word, len) == 0;
}

static inline bool gt_str_starts_with(gt_str text, const char *word)
{
    size_t len = strlen(word);
    return text.len >= len && memcmp(text.bytes, word, len) == 0;
}

static inline bool gt_str_ends_with(gt_str text, const char *ending)
{
    size_t len = strlen(ending);
    return text.len >= len && memcmp(text.bytes + text.len - len, ending, len) == 0;
}

static inline bool gt_ends_with(const char *text, const char *ending)
{
    return gt_str_ends_with((gt_str){text, strlen(text)}, ending);
}

/* Whether something comes before the ending: ".json" is a name without one. */
static inline bool gt_has_ending(const char *name, const char *ending)
{
    return strlen(name) > strlen(ending) && gt_ends_with(name, ending);
}

static inline bool gt_str_is_one_of(gt_str text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (gt_str_equals(text, list[i])) return true;
    return false;
}

static inline bool gt_is_one_of(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, list[i]) == 0) return true;
    return false;
}

static inline bool gt_str_contains(gt_str text, const char *word)
{
    return memmem(text.bytes, text.len, word, strlen(word)) != NULL;
}

bool gt_str_contains_nocase(gt_str text, const char *word); /* the word must not be empty */
