/* The scanning loops of the JSON reader: find the end of a string, skip white space, skip a bracketed value,
 * compare text with text seen before.
 *
 * They work on sixteen bytes at a time with NEON or SSE2, which are part of the base instruction sets of
 * arm64 and x86-64, so nothing is chosen at run time. Each loop has a scalar version with the same contract;
 * a test compares the two. All may read up to GT_SCAN_PAD bytes after `end` but never return a place after
 * it. */
#ifndef GT_JSON_SCAN_H
#define GT_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { GT_SCAN_PAD = 64 };

#if defined(GT_SCAN_SCALAR) /* a build with the scalar versions only, to measure the gain of the vectors */
#define GT_SCAN_VECTOR 0
#elif defined(__aarch64__)
#include <arm_neon.h>
#define GT_SCAN_VECTOR 1
typedef uint8x16_t gt_v16;
typedef uint64_t gt_mask; /* four bits per byte */
enum { GT_MASK_SHIFT = 2 };
static inline gt_v16 gt_v16_load(const uint8_t *p)
{
    return vld1q_u8(p);
}
static inline gt_v16 gt_v16_is(gt_v16 v, uint8_t c)
{
    return vceqq_u8(v, vdupq_n_u8(c));
}
static inline gt_v16 gt_v16_equal(gt_v16 a, gt_v16 b)
{
    return vceqq_u8(a, b);
}
static inline gt_v16 gt_v16_or(gt_v16 a, gt_v16 b)
{
    return vorrq_u8(a, b);
}
static inline gt_v16 gt_v16_fold_case(gt_v16 v)
{
    return vorrq_u8(v, vdupq_n_u8(0x20));
}
static inline gt_v16 gt_v16_differ(gt_v16 a, gt_v16 b)
{
    return veorq_u8(a, b);
}
static inline bool gt_v16_any(gt_v16 v)
{
    return vmaxvq_u32(vreinterpretq_u32_u8(v)) != 0;
}
static inline gt_mask gt_v16_mask(gt_v16 v)
{
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(v), 4)), 0) &
           0x8888888888888888u;
}
#elif defined(__x86_64__)
#include <emmintrin.h>
#define GT_SCAN_VECTOR 1
typedef __m128i gt_v16;
typedef uint32_t gt_mask; /* one bit per byte */
enum { GT_MASK_SHIFT = 0 };
static inline gt_v16 gt_v16_load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}
static inline gt_v16 gt_v16_is(gt_v16 v, uint8_t c)
{
    return _mm_cmpeq_epi8(v, _mm_set1_epi8((char)c));
}
static inline gt_v16 gt_v16_equal(gt_v16 a, gt_v16 b)
{
    return _mm_cmpeq_epi8(a, b);
}
static inline gt_v16 gt_v16_or(gt_v16 a, gt_v16 b)
{
    return _mm_or_si128(a, b);
}
static inline gt_v16 gt_v16_fold_case(gt_v16 v)
{
    return _mm_or_si128(v, _mm_set1_epi8(0x20));
}
static inline gt_v16 gt_v16_differ(gt_v16 a, gt_v16 b)
{
    return _mm_xor_si128(a, b);
}
static inline bool gt_v16_any(gt_v16 v)
{
    return _mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_setzero_si128())) != 0xFFFF;
}
static inline gt_mask gt_v16_mask(gt_v16 v)
{
    return (uint32_t)_mm_movemask_epi8(v);
}
#else
#define GT_SCAN_VECTOR 0
#endif

#if GT_SCAN_VECTOR
static inline unsigned gt_mask_first(gt_mask mask)
{
    return (unsigned)__builtin_ctzll(mask) >> GT_MASK_SHIFT;
}

/* One bit for each of 64 bytes: whether it is c. */
static inline uint64_t gt_bits_of(const gt_v16 v[4], uint8_t c)
{
#if defined(__aarch64__)
    static const uint8_t weights[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    gt_v16 weight = vld1q_u8(weights);
    gt_v16 low = vpaddq_u8(vandq_u8(gt_v16_is(v[0], c), weight), vandq_u8(gt_v16_is(v[1], c), weight));
    gt_v16 high = vpaddq_u8(vandq_u8(gt_v16_is(v[2], c), weight), vandq_u8(gt_v16_is(v[3], c), weight));
    low = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(low, low)), 0);
#else
    uint64_t bits = 0;
    for (int i = 3; i >= 0; i--) bits = bits << 16 | gt_v16_mask(gt_v16_is(v[i], c));
    return bits;
#endif
}

/* Bit i: whether an odd number of the bits up to i are set. */
static inline uint64_t gt_prefix_parity(uint64_t bits)
{
    for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
    return bits;
}
#endif

/* The first '"' or '\' at or after p, or `end` if there is none before it. */
static inline const uint8_t *gt_scan_quote_scalar(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p != '"' && *p != '\\') p++;
    return p;
}

static inline const uint8_t *gt_scan_quote(const uint8_t *p, const uint8_t *end)
{
#if GT_SCAN_VECTOR
    for (; p < end; p += 16) {
        gt_v16 v = gt_v16_load(p);
        gt_mask hit = gt_v16_mask(gt_v16_or(gt_v16_is(v, '"'), gt_v16_is(v, '\\')));
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
#if GT_SCAN_VECTOR
    for (; p < end; p += 16) {
        gt_v16 v = gt_v16_load(p);
        gt_v16 space = gt_v16_or(gt_v16_or(gt_v16_is(v, ' '), gt_v16_is(v, '\n')),
                                 gt_v16_or(gt_v16_is(v, '\t'), gt_v16_is(v, '\r')));
        gt_mask other = gt_v16_mask(gt_v16_is(space, 0));
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
        gt_v16 v = gt_v16_load(p);
        gt_v16 brace = gt_v16_fold_case(v); /* '[' becomes '{' and ']' becomes '}' */
        gt_mask hit = gt_v16_mask(
            gt_v16_or(gt_v16_is(v, '"'), gt_v16_or(gt_v16_is(brace, '{'), gt_v16_is(brace, '}'))));
        const uint8_t *block = p;
        p += 16;
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

/* The same for long containers: 64 bytes at a time, where the parity of quotes shows what is inside of
 * strings. Text with backslashes is left to the function above. */
static inline const uint8_t *gt_scan_long_container(const uint8_t *p, const uint8_t *end)
{
    size_t depth = 1;
#if GT_SCAN_VECTOR
    uint64_t in_string = 0; /* all ones if the text before p ends inside of a string */
    for (; end - p >= 64; p += 64) {
        gt_v16 v[4] = {gt_v16_load(p), gt_v16_load(p + 16), gt_v16_load(p + 32), gt_v16_load(p + 48)};
        if (gt_v16_any(gt_v16_or(gt_v16_or(gt_v16_is(v[0], '\\'), gt_v16_is(v[1], '\\')),
                                 gt_v16_or(gt_v16_is(v[2], '\\'), gt_v16_is(v[3], '\\')))))
            break;
        uint64_t inside = gt_prefix_parity(gt_bits_of(v, '"')) ^ in_string;
        for (int i = 0; i < 4; i++) v[i] = gt_v16_fold_case(v[i]);
        uint64_t open = gt_bits_of(v, '{') & ~inside, close = gt_bits_of(v, '}') & ~inside;
        size_t closed = (size_t)__builtin_popcountll(close);
        if (closed >= depth) { /* it may be in these 64 bytes */
            for (uint64_t both = open | close; both; both &= both - 1) {
                uint64_t bit = both & (0 - both);
                if (open & bit)
                    depth++;
                else if (--depth == 0)
                    return p + __builtin_ctzll(bit) + 1;
            }
        } else {
            depth += (size_t)__builtin_popcountll(open) - closed;
        }
        in_string = (uint64_t)((int64_t)inside >> 63);
    }
    if (in_string) {
        p = gt_scan_string(p, end);
        if (p == end) return NULL;
        p++;
    }
#endif
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
    if (len < 16) { /* bytes after the texts do not count */
        gt_mask differ = gt_v16_mask(gt_v16_is(gt_v16_equal(gt_v16_load(p), gt_v16_load(text)), 0));
        return !differ || gt_mask_first(differ) >= len;
    }
    size_t at = 0;
    for (; at + 64 <= len; at += 64) {
        gt_v16 a = gt_v16_differ(gt_v16_load(p + at), gt_v16_load(text + at));
        gt_v16 b = gt_v16_differ(gt_v16_load(p + at + 16), gt_v16_load(text + at + 16));
        gt_v16 c = gt_v16_differ(gt_v16_load(p + at + 32), gt_v16_load(text + at + 32));
        gt_v16 d = gt_v16_differ(gt_v16_load(p + at + 48), gt_v16_load(text + at + 48));
        if (gt_v16_any(gt_v16_or(gt_v16_or(a, b), gt_v16_or(c, d)))) return false;
    }
    for (; at + 16 <= len; at += 16)
        if (gt_v16_any(gt_v16_differ(gt_v16_load(p + at), gt_v16_load(text + at)))) return false;
    /* The last sixteen bytes, some of them again: cheaper than a shorter comparison. */
    return !gt_v16_any(gt_v16_differ(gt_v16_load(p + len - 16), gt_v16_load(text + len - 16)));
#else
    return gt_scan_same_scalar(p, text, len);
#endif
}

#endif
