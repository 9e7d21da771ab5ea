/* Vectors of bytes for the loops of scan.h, for the instruction set that the including file is compiled for.
 *
 * By default that is the base set of the machine: SSE2 on x86-64, NEON on arm64. scan_target.h selects
 * another one. Each set defines
 *
 *     GT_SCAN_STEP          bytes of a vector
 *     gt_mask               a bit (NEON: four bits) per byte of a vector, and gt_mask_first
 *     gt_mask_quotes        which of the GT_SCAN_STEP bytes at p are '"' or '\'
 *     gt_mask_not_space     ... are not JSON white space
 *     gt_mask_structure     ... are '"' or a bracket of either kind
 *     gt_mask_differ        which of the GT_SCAN_STEP bytes at two places differ
 *     gt_block              64 bytes, with gt_block_load, _or, _has and _bits
 *     gt_prefix_parity, gt_bytes_same
 *
 * GT_SCAN_VECTOR is 0 if there are no vectors. */
#pragma once

#include "base/base.h"

#if defined(GT_SCAN_FOR_SCALAR)
#define GT_SCAN_VECTOR 0

/* ---- AVX-512: comparisons give masks, and loads of part of a vector cost nothing extra ---- */

#elif defined(GT_SCAN_FOR_AVX512)
#include <immintrin.h>
#define GT_SCAN_VECTOR 1
#define GT_SCAN_STEP   64
typedef uint64_t gt_mask;
typedef struct gt_block {
    __m512i v;
} gt_block;

static inline unsigned gt_mask_first(gt_mask mask)
{
    return (unsigned)__builtin_ctzll(mask);
}
static inline gt_mask gt_bytes_are(__m512i v, uint8_t c)
{
    return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)c));
}
static inline gt_mask gt_mask_quotes(const uint8_t *p)
{
    __m512i v = _mm512_loadu_si512(p);
    return gt_bytes_are(v, '"') | gt_bytes_are(v, '\\');
}
static inline gt_mask gt_mask_not_space(const uint8_t *p)
{
    __m512i v = _mm512_loadu_si512(p);
    return ~(gt_bytes_are(v, ' ') | gt_bytes_are(v, '\n') | gt_bytes_are(v, '\t') | gt_bytes_are(v, '\r'));
}
static inline gt_mask gt_mask_differ(const uint8_t *a, const uint8_t *b)
{
    return _mm512_cmpneq_epi8_mask(_mm512_loadu_si512(a), _mm512_loadu_si512(b));
}
static inline gt_mask gt_mask_structure(const uint8_t *p)
{
    __m512i v = _mm512_loadu_si512(p), brace = _mm512_or_si512(v, _mm512_set1_epi8(0x20));
    return gt_bytes_are(v, '"') | gt_bytes_are(brace, '{') | gt_bytes_are(brace, '}');
}
static inline gt_block gt_block_load(const uint8_t *p)
{
    return (gt_block){_mm512_loadu_si512(p)};
}
static inline gt_block gt_block_or(gt_block block, uint8_t bits)
{
    return (gt_block){_mm512_or_si512(block.v, _mm512_set1_epi8((char)bits))};
}
static inline uint64_t gt_block_bits(const gt_block *block, uint8_t c)
{
    return gt_bytes_are(block->v, c);
}
static inline bool gt_block_has(const gt_block *block, uint8_t c)
{
    return gt_bytes_are(block->v, c) != 0;
}
static inline bool gt_bytes_same(const uint8_t *p, const uint8_t *text, size_t len)
{
    for (; len > 64; p += 64, text += 64, len -= 64)
        if (_mm512_cmpneq_epi8_mask(_mm512_loadu_si512(p), _mm512_loadu_si512(text))) return false;
    __mmask64 part = _bzhi_u64(~UINT64_C(0), (unsigned)len);
    return !_mm512_mask_cmpneq_epi8_mask(part, _mm512_maskz_loadu_epi8(part, p),
                                         _mm512_maskz_loadu_epi8(part, text));
}

/* ---- AVX2 ---- */

#elif defined(GT_SCAN_FOR_AVX2)
#include <immintrin.h>
#define GT_SCAN_VECTOR 1
#define GT_SCAN_STEP   32
typedef uint32_t gt_mask;
typedef struct gt_block {
    __m256i v[2];
} gt_block;

static inline unsigned gt_mask_first(gt_mask mask)
{
    return (unsigned)__builtin_ctz(mask);
}
static inline __m256i gt_load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}
static inline __m256i gt_bytes_are(__m256i v, uint8_t c)
{
    return _mm256_cmpeq_epi8(v, _mm256_set1_epi8((char)c));
}
static inline gt_mask gt_mask_of(__m256i v)
{
    return (uint32_t)_mm256_movemask_epi8(v);
}
static inline gt_mask gt_mask_quotes(const uint8_t *p)
{
    __m256i v = gt_load(p);
    return gt_mask_of(_mm256_or_si256(gt_bytes_are(v, '"'), gt_bytes_are(v, '\\')));
}
static inline gt_mask gt_mask_not_space(const uint8_t *p)
{
    __m256i v = gt_load(p);
    return ~gt_mask_of(_mm256_or_si256(_mm256_or_si256(gt_bytes_are(v, ' '), gt_bytes_are(v, '\n')),
                                       _mm256_or_si256(gt_bytes_are(v, '\t'), gt_bytes_are(v, '\r'))));
}
static inline gt_mask gt_mask_differ(const uint8_t *a, const uint8_t *b)
{
    return ~gt_mask_of(_mm256_cmpeq_epi8(gt_load(a), gt_load(b)));
}
static inline gt_mask gt_mask_structure(const uint8_t *p)
{
    __m256i v = gt_load(p), brace = _mm256_or_si256(v, _mm256_set1_epi8(0x20));
    return gt_mask_of(_mm256_or_si256(gt_bytes_are(v, '"'),
                                      _mm256_or_si256(gt_bytes_are(brace, '{'), gt_bytes_are(brace, '}'))));
}
static inline gt_block gt_block_load(const uint8_t *p)
{
    return (gt_block){{gt_load(p), gt_load(p + 32)}};
}
static inline gt_block gt_block_or(gt_block block, uint8_t bits)
{
    __m256i all = _mm256_set1_epi8((char)bits);
    return (gt_block){{_mm256_or_si256(block.v[0], all), _mm256_or_si256(block.v[1], all)}};
}
static inline uint64_t gt_block_bits(const gt_block *block, uint8_t c)
{
    return (uint64_t)gt_mask_of(gt_bytes_are(block->v[1], c)) << 32 |
           gt_mask_of(gt_bytes_are(block->v[0], c));
}
static inline bool gt_block_has(const gt_block *block, uint8_t c)
{
    return gt_mask_of(_mm256_or_si256(gt_bytes_are(block->v[0], c), gt_bytes_are(block->v[1], c))) != 0;
}
static inline bool gt_same_16(const uint8_t *p, const uint8_t *text)
{
    __m128i a = _mm_loadu_si128((const __m128i *)p), b = _mm_loadu_si128((const __m128i *)text);
    return _mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) == 0xFFFF;
}
static inline bool gt_same_32(const uint8_t *p, const uint8_t *text)
{
    return gt_mask_of(_mm256_cmpeq_epi8(gt_load(p), gt_load(text))) == UINT32_MAX;
}
static inline bool gt_bytes_same(const uint8_t *p, const uint8_t *text, size_t len)
{
    if (len < 16) { /* bytes after the texts do not count */
        __m128i a = _mm_loadu_si128((const __m128i *)p), b = _mm_loadu_si128((const __m128i *)text);
        unsigned same = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b));
        return _bzhi_u32(~same, (unsigned)len) == 0;
    }
    if (len <= 32) return gt_same_16(p, text) && gt_same_16(p + len - 16, text + len - 16);
    for (size_t at = 0; at + 32 < len; at += 32)
        if (!gt_same_32(p + at, text + at)) return false;
    return gt_same_32(p + len - 32, text + len - 32);
}

#elif defined(__aarch64__) || defined(__x86_64__)

/* ---- NEON and SSE2: sixteen bytes ---- */

#define GT_SCAN_VECTOR 1
#define GT_SCAN_STEP   16
#if defined(__aarch64__)
#include <arm_neon.h>
typedef uint8x16_t gt_v16;
typedef uint64_t gt_mask; /* four bits per byte */
static inline unsigned gt_mask_first(gt_mask mask)
{
    return (unsigned)__builtin_ctzll(mask) >> 2;
}
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
static inline gt_v16 gt_v16_all(uint8_t c)
{
    return vdupq_n_u8(c);
}
static inline gt_v16 gt_v16_differ(gt_v16 a, gt_v16 b)
{
    return veorq_u8(a, b);
}
/* Not 0 exactly if a byte of the vector is not. */
static inline uint32_t gt_v16_bits(gt_v16 v)
{
    return vmaxvq_u32(vreinterpretq_u32_u8(v));
}
static inline gt_mask gt_v16_mask(gt_v16 v)
{
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(v), 4)), 0) &
           0x8888888888888888u;
}
/* Not 0 exactly if the first `len` bytes differ; at most fifteen. */
static inline uint64_t gt_v16_differ_below(gt_v16 a, gt_v16 b, size_t len)
{
    uint8x8_t same = vshrn_n_u16(vreinterpretq_u16_u8(vceqq_u8(a, b)), 4);
    return ~(vget_lane_u64(vreinterpret_u64_u8(same), 0) | ~UINT64_C(0) << 4 * len);
}
#else
#include <emmintrin.h>
typedef __m128i gt_v16;
typedef uint32_t gt_mask; /* one bit per byte */
static inline unsigned gt_mask_first(gt_mask mask)
{
    return (unsigned)__builtin_ctz(mask);
}
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
static inline gt_v16 gt_v16_all(uint8_t c)
{
    return _mm_set1_epi8((char)c);
}
static inline gt_v16 gt_v16_differ(gt_v16 a, gt_v16 b)
{
    return _mm_xor_si128(a, b);
}
static inline uint32_t gt_v16_bits(gt_v16 v)
{
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_setzero_si128())) ^ 0xFFFF;
}
static inline gt_mask gt_v16_mask(gt_v16 v)
{
    return (uint32_t)_mm_movemask_epi8(v);
}
static inline uint64_t gt_v16_differ_below(gt_v16 a, gt_v16 b, size_t len)
{
    return ~((uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) | ~UINT64_C(0) << len);
}
#endif

static inline bool gt_v16_any(gt_v16 v)
{
    return gt_v16_bits(v) != 0;
}

typedef struct gt_block {
    gt_v16 v[4];
} gt_block;

static inline gt_mask gt_mask_quotes(const uint8_t *p)
{
    gt_v16 v = gt_v16_load(p);
    return gt_v16_mask(gt_v16_or(gt_v16_is(v, '"'), gt_v16_is(v, '\\')));
}
static inline gt_mask gt_mask_not_space(const uint8_t *p)
{
    gt_v16 v = gt_v16_load(p);
    gt_v16 space = gt_v16_or(gt_v16_or(gt_v16_is(v, ' '), gt_v16_is(v, '\n')),
                             gt_v16_or(gt_v16_is(v, '\t'), gt_v16_is(v, '\r')));
    return gt_v16_mask(gt_v16_is(space, 0));
}
static inline gt_mask gt_mask_differ(const uint8_t *a, const uint8_t *b)
{
    return gt_v16_mask(gt_v16_is(gt_v16_equal(gt_v16_load(a), gt_v16_load(b)), 0));
}
static inline gt_mask gt_mask_structure(const uint8_t *p)
{
    gt_v16 v = gt_v16_load(p), brace = gt_v16_or(v, gt_v16_all(0x20));
    return gt_v16_mask(gt_v16_or(gt_v16_is(v, '"'), gt_v16_or(gt_v16_is(brace, '{'), gt_v16_is(brace, '}'))));
}
static inline gt_block gt_block_load(const uint8_t *p)
{
    return (gt_block){{gt_v16_load(p), gt_v16_load(p + 16), gt_v16_load(p + 32), gt_v16_load(p + 48)}};
}
static inline gt_block gt_block_or(gt_block block, uint8_t bits)
{
    for (int i = 0; i < 4; i++) block.v[i] = gt_v16_or(block.v[i], gt_v16_all(bits));
    return block;
}
static inline uint64_t gt_block_bits(const gt_block *block, uint8_t c)
{
    const gt_v16 *v = block->v;
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
static inline bool gt_block_has(const gt_block *block, uint8_t c)
{
    const gt_v16 *v = block->v;
    return gt_v16_any(gt_v16_or(gt_v16_or(gt_v16_is(v[0], c), gt_v16_is(v[1], c)),
                                gt_v16_or(gt_v16_is(v[2], c), gt_v16_is(v[3], c))));
}
/* Where the texts differ in the sixteen bytes at p + at. */
static inline gt_v16 gt_differ_at(const uint8_t *p, const uint8_t *text, size_t at)
{
    return gt_v16_differ(gt_v16_load(p + at), gt_v16_load(text + at));
}
/* In the 32 bytes up to `end`. */
static inline gt_v16 gt_differ_before(const uint8_t *p, const uint8_t *text, size_t end)
{
    return gt_v16_or(gt_differ_at(p, text, end - 32), gt_differ_at(p, text, end - 16));
}
/* Some bytes are compared twice: cheaper than a shorter comparison. */
static inline bool gt_bytes_same(const uint8_t *p, const uint8_t *text, size_t len)
{
    uint64_t differ = 0;
    if (len < 16) { /* bytes after the texts do not count */
        differ = gt_v16_differ_below(gt_v16_load(p), gt_v16_load(text), len);
    } else if (len <= 32) {
        differ = gt_v16_bits(gt_v16_or(gt_differ_at(p, text, 0), gt_differ_at(p, text, len - 16)));
    } else {
        size_t at = 0;
        for (; len - at > 64 && !differ; at += 64)
            differ = gt_v16_bits(
                gt_v16_or(gt_differ_before(p, text, at + 32), gt_differ_before(p, text, at + 64)));
        size_t half = at ? len - 32 : 32;
        if (!differ)
            differ = gt_v16_bits(gt_v16_or(gt_differ_before(p, text, half), gt_differ_before(p, text, len)));
    }
    return !differ;
}

/* ---- SVE2: vectors of any size, and one instruction that compares each byte with up to sixteen ---- */

#if defined(GT_SCAN_FOR_SVE2)
#include <arm_sve.h>
static inline svuint8_t gt_sve_quotes(void)
{
    return svdupq_n_u8('"', '\\', '"', '\\', '"', '\\', '"', '\\', '"', '\\', '"', '\\', '"', '\\', '"',
                       '\\');
}
static inline svuint8_t gt_sve_spaces(void)
{
    return svdupq_n_u8(' ', '\n', '\t', '\r', ' ', '\n', '\t', '\r', ' ', '\n', '\t', '\r', ' ', '\n', '\t',
                       '\r');
}
/* The first byte at or after p that is one of the set (with `other`, that is not), or `end`. */
static inline const uint8_t *gt_sve_find(const uint8_t *p, const uint8_t *end, svuint8_t set, bool other)
{
    for (; p < end; p += svcntb()) {
        svbool_t part = svwhilelt_b8_u64(0, (uint64_t)(end - p));
        svuint8_t v = svld1_u8(part, p);
        svbool_t hit = other ? svnmatch_u8(part, v, set) : svmatch_u8(part, v, set);
        if (svptest_any(part, hit)) return p + svcntp_b8(part, svbrkb_b_z(part, hit));
    }
    return end;
}
#endif
#else
#define GT_SCAN_VECTOR 0
#endif

/* ---- all sets ---- */

/* Bit i: whether an odd number of the bits up to i are set. On arm64, PMULL would save less than 1 % of the
 * time of reading a trace (23.9 to 24.1 ms against 24.0 to 24.5), too little for a further set. */
static inline uint64_t gt_prefix_parity(uint64_t bits)
{
#if defined(GT_SCAN_FOR_AVX2) || defined(GT_SCAN_FOR_AVX512)
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)bits), _mm_set1_epi8(-1), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
#else
    for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
    return bits;
#endif
}
