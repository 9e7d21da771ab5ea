/* What do late nodes share? Traces do not say which switch or rack a node is at, but names often do:
 *
 *     late      rack3-node07  rack3-node12
 *     others    rack1-node01  rack31-node02        "rack3" is in all late names and in no other
 *
 * The beginnings of names are compared, then their endings (node07.rack3.example.com). A part ends where a
 * letter, a digit and another character meet, so "rack3" is no part of "rack31-node02". */
#include "findings/ranks/find.h"

#include "base/memory.h"

#include <ctype.h>
#include <string.h>

enum { NAME_MAX_LEN = 255 }; /* of a host: longer names are none */

typedef enum class_of_char { LETTER, DIGIT, OTHER } class_of_char;

static class_of_char class_of(char c)
{
    return isalpha((unsigned char)c) ? LETTER : isdigit((unsigned char)c) ? DIGIT : OTHER;
}

/* The character at a distance from the beginning or from the end; NUL beyond. */
static char char_at(const char *name, size_t len, size_t at, bool from_end)
{
    if (at >= len) return 0;
    return from_end ? name[len - 1 - at] : name[at];
}

/* Whether a part of `at` characters is a whole one in this name. */
static bool is_whole(const char *name, size_t at, bool from_end)
{
    size_t len = strlen(name);
    if (!at || at >= len) return at == len;
    return class_of(char_at(name, len, at - 1, from_end)) != class_of(char_at(name, len, at, from_end));
}

static size_t common_length(const char *a, const char *b, bool from_end)
{
    size_t a_len = strlen(a), b_len = strlen(b), at = 0;
    while (at < a_len && at < b_len && char_at(a, a_len, at, from_end) == char_at(b, b_len, at, from_end))
        at++;
    return at;
}

/* Whether a name begins or ends with the first `len` characters of another. */
static bool has_part(const char *name, const char *other, size_t len, bool from_end)
{
    return common_length(name, other, from_end) >= len && is_whole(name, len, from_end);
}

/* Whether the first `len` characters of a late name are a part of all late names and of no other one. */
static bool is_shared(const gt_rank_findings *found, const bool *is_late, const char *name, size_t len,
                      bool from_end)
{
    for (size_t n = 0; n < found->node_count; n++)
        if (has_part(found->node_names[n], name, len, from_end) != is_late[n]) return false;
    return true;
}

/* The length of the shortest such part, up to the next separator if they share that, too: not "3.net" but
 * "r3.net". 0 if there is none. */
static size_t shared_length(const gt_rank_findings *found, const bool *is_late, const char *name,
                            bool from_end)
{
    size_t len = strlen(name), shortest = 0;
    for (size_t at = 1; at <= len; at++) {
        bool is_separator = at < len && class_of(char_at(name, len, at, from_end)) == OTHER;
        if (class_of(char_at(name, len, at - 1, from_end)) == OTHER) {
            if (shortest) break;
            continue;
        }
        if (!is_whole(name, at, from_end)) continue;
        if (is_shared(found, is_late, name, at, from_end)) {
            if (!shortest || is_separator) shortest = at;
            if (is_separator) break;
        } else if (shortest) {
            break;
        }
    }
    return shortest;
}

char *gt_rank_shared_place(const gt_rank_findings *found, const bool *is_late, size_t *count)
{
    size_t first = SIZE_MAX;
    *count = 0;
    for (size_t n = found->node_count; n-- > 0;) {
        if (strlen(found->node_names[n]) > NAME_MAX_LEN) return NULL;
        if (!is_late[n]) continue;
        first = n;
        (*count)++;
    }
    if (!found->nodes_named || *count < 2 || *count == found->node_count) return NULL;
    for (int from_end = 0; from_end < 2; from_end++) {
        const char *name = found->node_names[first];
        size_t len = shared_length(found, is_late, name, from_end);
        if (len) return gt_format("%.*s", (int)len, from_end ? name + strlen(name) - len : name);
    }
    return NULL;
}
