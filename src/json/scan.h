/* The scanning loops of the JSON reader: find the end of a string, skip white space, skip a bracketed value,
 * compare text with text seen before.
 *
 * They work on 16 to 64 bytes at a time, with the instruction set that the including file is compiled for
 * (scan_vectors.h). Each loop has a scalar version with the same contract; a test compares the two for every
 * set. All may read up to GT_SCAN_PAD bytes after `end` but never return a place after it. */
#pragma once

#include "json/scan_vectors.h"

enum { GT_SCAN_PAD = 64 };

/* The first '"' or '\' at or after p, or `end` if there is none before it. */
static inline const uint8_t *gt_scan_quote_scalar(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p != '"' && *p != '\\') p++;
    return p;
}

static inline const uint8_t *gt_scan_quote(const uint8_t *p, const uint8_t *end)
{
#if defined(GT_SCAN_FOR_SVE2)
    return gt_sve_find(p, end, gt_sve_quotes(), false);
#elif GT_SCAN_VECTOR
    for (; p < end; p += GT_SCAN_STEP) {
        gt_mask hit = gt_mask_quotes(p);
        if (hit) {
            p += gt_mask_first(hit);
            break;
        }
    }
    return p < end ? p : end;
#else
    return gt_scan_quote_scalar(p, end);
#endif
}

/* From the byte after the opening quote: the closing one, or `end` if the string is not closed before it. */
static inline const uint8_t *gt_scan_string_scalar(const uint8_t *p, const uint8_t *end)
{
    while ((p = gt_scan_quote_scalar(p, end)) < end && *p == '\\') {
        if (end - p < 2) return end;
        p += 2;
    }
    return p;
}

static inline const uint8_t *gt_scan_string(const uint8_t *p, const uint8_t *end)
{
    while ((p = gt_scan_quote(p, end)) < end && *p == '\\') {
        if (end - p < 2) return end;
        p += 2;
    }
    return p;
}

/* The first byte that is not JSON white space, or `end`. */
static inline const uint8_t *gt_scan_space_scalar(const uint8_t *p, const uint8_t *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) p++;
    return p;
}

static inline const uint8_t *gt_scan_space(const uint8_t *p, const uint8_t *end)
{
    if (p < end && p[0] > ' ') return p;
    if (end - p > 1 && p[0] == ' ' && p[1] > ' ') return p + 1;
#if defined(GT_SCAN_FOR_SVE2)
    return gt_sve_find(p, end, gt_sve_spaces(), true);
#elif GT_SCAN_VECTOR
    for (; p < end; p += GT_SCAN_STEP) {
        gt_mask other = gt_mask_not_space(p);
        if (other) {
            p += gt_mask_first(other);
            break;
        }
    }
    return p < end ? p : end;
#else
    return gt_scan_space_scalar(p, end);
#endif
}

/* From the byte after an opening bracket of either kind: the byte after the bracket that closes it, or NULL
 * if that is not before `end`. Counts brackets outside of strings without checking that they match: a caller
 * that needs to know parses the text. */
static inline const uint8_t *gt_scan_container_scalar(const uint8_t *p, const uint8_t *end)
{
    for (size_t depth = 1; p < end; p++) {
        if (*p == '"') {
            p = gt_scan_string_scalar(p + 1, end);
            if (p == end) return NULL;
        } else if (*p == '[' || *p == '{') {
            depth++;
        } else if ((*p == ']' || *p == '}') && --depth == 0) {
            return p + 1;
        }
    }
    return NULL;
}

/* The same, from inside of `depth` brackets. */
static inline const uint8_t *gt_scan_brackets(const uint8_t *p, const uint8_t *end, size_t depth)
{
#if GT_SCAN_VECTOR
    while (p < end) {
        gt_mask hit = gt_mask_structure(p);
        const uint8_t *block = p;
        p += GT_SCAN_STEP;
        while (hit) {
            const uint8_t *at = block + gt_mask_first(hit);
            hit &= hit - 1;
            if (at >= end) return NULL;
            if (*at == '"') {
                const uint8_t *close = gt_scan_string(at + 1, end);
                if (close == end) return NULL;
                p = close + 1;
                break;
            }
            if ((*at | 0x20) == '{')
                depth++;
            else if (--depth == 0)
                return at + 1;
        }
    }
    return NULL;
#else
    while (depth--)
        if (!(p = gt_scan_container_scalar(p, end))) return NULL;
    return p;
#endif
}

static inline const uint8_t *gt_scan_container(const uint8_t *p, const uint8_t *end)
{
    return gt_scan_brackets(p, end, 1);
}

/* The end of `depth` containers, one inside of the other; p is inside of all of them, and perhaps of a
 * string. NULL if they do not end. 64 bytes at a time, where the parity of quotes shows what is inside of
 * strings. Text with backslashes is left to the function above. */
static inline const uint8_t *gt_scan_long_containers(const uint8_t *p, const uint8_t *end, size_t depth,
                                                     bool is_in_string)
{
    uint64_t in_string = is_in_string ? ~UINT64_C(0) : 0; /* all ones if p is inside of one */
#if GT_SCAN_VECTOR
    for (; end - p >= 64; p += 64) {
        gt_block block = gt_block_load(p);
        if (gt_block_has(&block, '\\')) break;
        uint64_t inside = gt_prefix_parity(gt_block_bits(&block, '"')) ^ in_string;
        /* With these bits set, all brackets become 0x7F, and so do 'y', 'Y', '_' and DEL. */
        block = gt_block_or(block, 0x26);
        for (uint64_t hit = gt_block_bits(&block, 0x7F) & ~inside; hit; hit &= hit - 1) {
            const uint8_t *at = p + __builtin_ctzll(hit);
            if ((*at | 0x20) == '{')
                depth++;
            else if ((*at | 0x20) == '}' && --depth == 0)
                return at + 1;
        }
        in_string = (uint64_t)((int64_t)inside >> 63);
    }
#endif
    if (in_string) {
        p = gt_scan_string(p, end);
        if (p == end) return NULL;
        p++;
    }
    return gt_scan_brackets(p, end, depth);
}

/* Whether the `len` bytes at p equal those at `text`. Both are read up to the next multiple of 16. */
static inline bool gt_scan_same_scalar(const uint8_t *p, const uint8_t *text, size_t len)
{
    return memcmp(p, text, len) == 0;
}

static inline bool gt_scan_same(const uint8_t *p, const uint8_t *text, size_t len)
{
#if GT_SCAN_VECTOR
    return gt_bytes_same(p, text, len);
#else
    return gt_scan_same_scalar(p, text, len);
#endif
}

/* How many of `len` bytes are the same, from the first on. Both texts may be read up to GT_SCAN_PAD bytes
 * after that. */
static inline size_t gt_scan_same_length_scalar(const uint8_t *a, const uint8_t *b, size_t len)
{
    size_t same = 0;
    while (same < len && a[same] == b[same]) same++;
    return same;
}

static inline size_t gt_scan_same_length(const uint8_t *a, const uint8_t *b, size_t len)
{
#if GT_SCAN_VECTOR
    for (size_t same = 0; same < len; same += GT_SCAN_STEP) {
        gt_mask differ = gt_mask_differ(a + same, b + same);
        if (!differ) continue;
        same += gt_mask_first(differ);
        return same < len ? same : len;
    }
    return len;
#else
    return gt_scan_same_length_scalar(a, b, len);
#endif
}
