/* Skipping containers whose text is in memory as a whole, the usual case: values of records that no sheet
 * needs. One loop over the text without calls per token; what it does not know (escapes, NaN, deep nesting,
 * the end of the block) is left to the pull reader, which also finds the right message. */
#include "json/reader.h"
#include "json/scan.h"

enum { MOST_DEPTH = 64 }; /* one bit per open container */

/* The byte after the string whose opening quote is at p; NULL if it has an escape or does not end. */
static inline const uint8_t *after_string(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *close = gt_scan_quote(p + 1, end);
    return close < end && *close == '"' ? close + 1 : NULL;
}

/* The value of a key, from the key on; NULL if there is no key. */
static inline const uint8_t *after_key(const uint8_t *p, const uint8_t *end)
{
    if (p == end || *p != '"' || !(p = after_string(p, end))) return NULL;
    p = gt_scan_space(p, end);
    return p < end && *p == ':' ? gt_scan_space(p + 1, end) : NULL;
}

static inline const uint8_t *after_literal(const uint8_t *p, const uint8_t *end)
{
    size_t left = (size_t)(end - p);
    if (left >= 4 && (memcmp(p, "true", 4) == 0 || memcmp(p, "null", 4) == 0)) return p + 4;
    return left >= 5 && memcmp(p, "false", 5) == 0 ? p + 5 : NULL;
}

static inline const uint8_t *after_scalar(const uint8_t *p, const uint8_t *end)
{
    if (*p == '"') return after_string(p, end);
    return *p == '-' || gt_scan_is_digit(*p) ? gt_scan_number(p) : after_literal(p, end);
}

/* The byte after the value at p, if it differs only in digits from the one before it, which is valid and has
 * no escapes; else NULL. Arrays of records that nobody needs are mostly of this kind:
 *
 *     {"id": 41, "size": 32}, {"id": 42, "size": 128}
 *
 * Digits may differ in value and number, in strings, too; a digit that follows none is not new, so that a
 * number stays one. Numbers that begin with 0 and have more digits are left to the reader. */
static const uint8_t *after_alike(const uint8_t *before, const uint8_t *before_end, const uint8_t *p,
                                  const uint8_t *end)
{
    for (;;) {
        size_t left = (size_t)(before_end - before), room = (size_t)(end - p);
        size_t same = gt_scan_same_length(before, p, left < room ? left : room);
        before += same;
        p += same;
        if (same == left) return p;
        if (same == room) return NULL;
        bool was_digit = gt_scan_is_digit(*before), is_digit = gt_scan_is_digit(*p);
        const uint8_t *first = p;
        while (gt_scan_is_digit(first[-1])) first--; /* the text begins with a bracket */
        if (was_digit != is_digit ? first == p : !is_digit) return NULL;
        while (gt_scan_is_digit(*before)) before++;
        while (p < end && gt_scan_is_digit(*p)) p++;
        if (*first == '0' && p - first > 1) return NULL;
    }
}

const uint8_t *gt_json_skip_alike(const uint8_t *element, const uint8_t *element_end, const uint8_t *end)
{
    for (;;) {
        const uint8_t *comma = gt_scan_space(element_end, end);
        if (comma == end || *comma != ',') return element_end;
        const uint8_t *next = gt_scan_space(comma + 1, end);
        const uint8_t *next_end =
            next < end && *next == *element ? after_alike(element, element_end, next, end) : NULL;
        if (!next_end) return element_end;
        element = next;
        element_end = next_end;
    }
}

const uint8_t *gt_json_skip_text(const uint8_t *p, const uint8_t *end, unsigned depth)
{
    uint64_t in_object = 0; /* bit 0: whether the innermost container is an object */
    unsigned open = 0, most = depth < GT_JSON_MAX_DEPTH ? GT_JSON_MAX_DEPTH - depth : 0;
    const uint8_t *begins[MOST_DEPTH]; /* of open containers */
    if (most > MOST_DEPTH) most = MOST_DEPTH;
    for (;;) {
        /* At a value. */
        if (!p || p >= end) return NULL;
        if (*p == '{' || *p == '[') {
            bool is_object = *p == '{';
            if (open == most) return NULL;
            begins[open++] = p;
            in_object = in_object << 1 | is_object;
            p = gt_scan_space(p + 1, end);
            if (p == end) return NULL;
            if (*p != (is_object ? '}' : ']')) {
                if (is_object) p = after_key(p, end);
                continue;
            }
        } else if (!(p = after_scalar(p, end))) {
            return NULL;
        }
        /* After a value, or at the bracket that closes an empty container. */
        for (;;) {
            if (!open) return p;
            p = gt_scan_space(p, end);
            if (p >= end) return NULL;
            if (*p != (in_object & 1 ? '}' : ']')) break;
            p++;
            open--;
            in_object >>= 1;
            if (open && !(in_object & 1)) p = gt_json_skip_alike(begins[open], p, end);
        }
        if (*p != ',') return NULL;
        p = gt_scan_space(p + 1, end);
        if (in_object & 1) p = after_key(p, end);
    }
}
