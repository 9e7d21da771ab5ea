/* JSON numbers: a whole word at once (gt_json_parse_number), or out of running text (gt_scan_...), eight
 * digits at a time.
 *
 * The gt_scan functions read up to 8 bytes past a number, and the byte after the text must be one that no
 * number contains. Both hold for the blocks of a stream, whose padding begins with a quote. */
#pragma once

#include "base/base.h"

typedef struct gt_json_number {
    bool is_int; /* written without fraction and exponent, and within int64 */
    int64_t integer;
    double real; /* always set; what strtod gives */
} gt_json_number;

/* Reads a number as written; NaN, Infinity and -Infinity are numbers too. False if the word is not a number.
 */
bool gt_json_parse_number(gt_str word, gt_json_number *number);

static inline bool gt_scan_is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') <= 9;
}

/* How many of these eight bytes, from the first on, are less than 10. */
static inline unsigned gt_scan_count_digits(uint64_t bytes)
{
    uint64_t others = ((bytes + 0x0606060606060606u) | bytes) & 0xF0F0F0F0F0F0F0F0u;
    return others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

/* The eight bytes at p minus '0', and how many of them, from the first on, are digits. */
static inline uint64_t gt_scan_load_digits(const uint8_t *p, unsigned *count)
{
    uint64_t chunk;
    memcpy(&chunk, p, 8);
    chunk ^= 0x3030303030303030u;
    *count = gt_scan_count_digits(chunk);
    return chunk;
}

/* The value of eight digits, the first in the lowest byte. */
static inline uint32_t gt_scan_eight_digits(uint64_t digits)
{
    digits = digits * 2561 >> 8;
    digits = (digits & 0x00FF00FF00FF00FFu) * 6553601 >> 16;
    return (uint32_t)((digits & 0x0000FFFF0000FFFFu) * 42949672960001u >> 32);
}

/* The value of the first `count` of eight digits; 1 to 8 of them. */
static inline uint32_t gt_scan_first_digits(uint64_t digits, unsigned count)
{
    return gt_scan_eight_digits(digits << ((64 - 8 * count) & 63));
}

static const uint32_t gt_scan_int_powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
static const double gt_scan_powers[] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                        1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

/* The end of the digits at p, which are appended to *value; more than 19 digits overflow it. */
static inline const uint8_t *gt_scan_digits(const uint8_t *p, uint64_t *value)
{
    unsigned count;
    do {
        uint64_t digits = gt_scan_load_digits(p, &count);
        if (!count) break;
        *value = *value * gt_scan_int_powers[count] + gt_scan_first_digits(digits, count);
        p += count;
    } while (count == 8);
    return p;
}

static inline const uint8_t *gt_scan_skip_digits(const uint8_t *p)
{
    unsigned count;
    do {
        gt_scan_load_digits(p, &count);
        p += count;
    } while (count == 8);
    return p;
}

static inline const uint8_t *gt_scan_number_end(const uint8_t *p)
{
    while (gt_scan_is_digit(*p) || *p == '.' || *p == '-' || *p == '+' || (*p | 0x20) == 'e') p++;
    return p;
}

/* The length of an integer of at most seven digits at p, the usual case; its bytes minus '0' are in *digits.
 * 0: the number is longer, has a sign, a fraction or an exponent, or is none. */
static inline unsigned gt_scan_short_int(const uint8_t *p, uint64_t *digits)
{
    unsigned count;
    *digits = gt_scan_load_digits(p, &count);
    bool leading_zero = !(*digits & 0xFF) && count > 1;
    return count == 8 || leading_zero || p[count] == '.' || (p[count] | 0x20) == 'e' ? 0 : count;
}

/* The end of the number at p, NULL if it is not a JSON number. */
static inline const uint8_t *gt_scan_number(const uint8_t *p)
{
    uint64_t short_digits;
    unsigned short_count = gt_scan_short_int(p, &short_digits);
    if (short_count) return p + short_count;
    p += *p == '-';
    if (!gt_scan_is_digit(*p) || (*p == '0' && gt_scan_is_digit(p[1]))) return NULL;
    p = gt_scan_skip_digits(p);
    if (*p == '.') {
        if (!gt_scan_is_digit(*++p)) return NULL;
        p = gt_scan_skip_digits(p);
    }
    if ((*p | 0x20) == 'e') {
        p++;
        p += *p == '+' || *p == '-';
        if (!gt_scan_is_digit(*p)) return NULL;
        p = gt_scan_skip_digits(p);
    }
    return p;
}

/* The end of the integer at p, NULL if it is not a plain one of at most 18 digits. */
static inline const uint8_t *gt_scan_int(const uint8_t *p, int64_t *out)
{
    uint64_t short_digits;
    unsigned short_count = gt_scan_short_int(p, &short_digits);
    if (short_count) {
        *out = gt_scan_first_digits(short_digits, short_count);
        return p + short_count;
    }
    bool negative = *p == '-';
    const uint8_t *digits = p += negative;
    uint64_t value = 0;
    if (!gt_scan_is_digit(*p) || (*p == '0' && gt_scan_is_digit(p[1]))) return NULL;
    p = gt_scan_digits(p, &value);
    if (p - digits > 18 || *p == '.' || (*p | 0x20) == 'e') return NULL;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return p;
}

/* As gt_scan_int, but what follows the digits is not looked at: for callers that compare it with the text
 * that they expect there, which begins with no part of a number. */
static inline const uint8_t *gt_scan_int_before(const uint8_t *p, int64_t *out)
{
    unsigned count;
    uint64_t digits = gt_scan_load_digits(p, &count), first = digits & 0xFF;
    if (count - 1 < (first ? 7u : 1u)) {
        *out = gt_scan_first_digits(digits, count);
        return p + count;
    }
    if (count < 8 || !first) return gt_scan_int(p, out);
    uint64_t value = gt_scan_eight_digits(digits);
    digits = gt_scan_load_digits(p + 8, &count);
    if (count - 1 >= 7u) return gt_scan_int(p, out);
    value = value * gt_scan_int_powers[count] + gt_scan_first_digits(digits, count);
    *out = (int64_t)value;
    return p + 8 + count;
}

static inline const uint8_t *gt_scan_slow_time(const uint8_t *p, double *out)
{
    const uint8_t *end = gt_scan_number_end(p);
    gt_json_number number;
    if (!gt_json_parse_number((gt_str){(const char *)p, (size_t)(end - p)}, &number)) return NULL;
    *out = number.real;
    return end;
}

/* The number at p, whatever its form: a sign, any number of digits. */
static inline const uint8_t *gt_scan_long_time(const uint8_t *p, double *out, bool *integral)
{
    const uint8_t *start = p;
    bool negative = *p == '-';
    const uint8_t *digits = p += negative;
    uint64_t value = 0;
    if (!gt_scan_is_digit(*p) || (*p == '0' && gt_scan_is_digit(p[1]))) return NULL;
    p = gt_scan_digits(p, &value);
    size_t count = (size_t)(p - digits), decimals = 0;
    if (*p == '.') {
        const uint8_t *fraction = ++p;
        if (!gt_scan_is_digit(*p)) return NULL;
        p = gt_scan_digits(p, &value);
        decimals = (size_t)(p - fraction);
        count += decimals;
    }
    *integral = !decimals && (*p | 0x20) != 'e';
    if (count > 18 || value > (UINT64_C(1) << 53) || (*p | 0x20) == 'e') return gt_scan_slow_time(start, out);
    double time = (double)value / gt_scan_powers[decimals];
    *out = negative ? -time : time;
    return p;
}

/* The end of the number at p, which is read as strtod would: by one division if its digits are below 2^53.
 *
 * Nearly all times have a point among the last eight digits, after eight others or none. Then the digits on
 * both sides of the point are joined and read at once: of 1419116104654.576 first 14191161, then 04654576. */
static inline const uint8_t *gt_scan_time(const uint8_t *p, double *out, bool *integral)
{
    unsigned whole, count;
    const uint8_t *last = p; /* the last digits */
    uint64_t digits = gt_scan_load_digits(p, &whole), value = 0, after;
    bool leading_zero = !(digits & 0xFF) && whole > 1;
    if (!whole || leading_zero) return gt_scan_long_time(p, out, integral);
    if (whole == 8) {
        value = gt_scan_eight_digits(digits);
        last = p + 8;
        digits = gt_scan_load_digits(last, &whole);
    }
    if (whole == 8 || last[whole] != '.') return gt_scan_long_time(p, out, integral);
    memcpy(&after, last + 1, 8);
    uint64_t before = (UINT64_C(1) << 8 * whole) - 1; /* the bytes before the point */
    digits = (digits & before) | ((after ^ 0x3030303030303030u) & ~before);
    count = gt_scan_count_digits(digits);
    const uint8_t *end = last + count + 1;
    if (count == whole || gt_scan_is_digit(*end) || (*end | 0x20) == 'e')
        return gt_scan_long_time(p, out, integral);
    value = value * gt_scan_int_powers[count] + gt_scan_first_digits(digits, count);
    if (value > UINT64_C(1) << 53) return gt_scan_long_time(p, out, integral);
    *integral = false;
    *out = (double)value / gt_scan_powers[count - whole];
    return end;
}
