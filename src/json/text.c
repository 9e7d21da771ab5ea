/* Escapes, UTF-8 and numbers. Exactness first: a number is what strtod makes of it; the usual ones take a
 * short way that gives the same bits (an integer below 2^53 divided once by a power of ten is rounded once).
 */
#include "json/text.h"
#include "json/string.h"
#include "base/length.h"
#include "base/number.h"

#include <math.h>
#include <string.h>

const char *gt_json_string_bad_escape(gt_str raw)
{
    const char *p = raw.bytes, *end = p + raw.len;
    while ((p = memchr(p, '\\', (size_t)(end - p))))
        if (gt_json_escape(&p, end) == GT_JSON_NO_ESCAPE) return p;
    return NULL;
}

/* The length of the UTF-8 sequence at p, 0 where there is none. */
static size_t utf8_len(const uint8_t *p, const uint8_t *end)
{
    if (p[0] < 0x80) return 1;
    size_t left = (size_t)(end - p);
    bool second = left >= 2 && (p[1] & 0xC0) == 0x80;
    bool third = left >= 3 && (p[2] & 0xC0) == 0x80;
    bool fourth = left >= 4 && (p[3] & 0xC0) == 0x80;
    if (p[0] >= 0xC2 && p[0] <= 0xDF) return second ? 2 : 0;
    if (p[0] >= 0xE0 && p[0] <= 0xEF) {
        if (!second || !third || (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F)) return 0;
        return 3;
    }
    if (p[0] >= 0xF0 && p[0] <= 0xF4) {
        if (!second || !third || !fourth || (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F))
            return 0;
        return 4;
    }
    return 0;
}

bool gt_json_string_is_plain(gt_str raw)
{
    const uint8_t *p = (const uint8_t *)raw.bytes, *end = p + raw.len;
    while (p < end) {
        if (*p == '\\') return false;
        size_t len = utf8_len(p, end);
        if (!len) return false;
        p += len;
    }
    return true;
}

size_t gt_json_string_decode(gt_str raw, char *out)
{
    const char *p = raw.bytes, *end = p + raw.len;
    char *start = out;
    while (p < end) {
        size_t len = *p == '\\' ? 0 : utf8_len((const uint8_t *)p, (const uint8_t *)end);
        if (len) {
            memcpy(out, p, len);
            out += len;
            p += len;
            continue;
        }
        uint32_t code_point = *p == '\\' ? gt_json_escape(&p, end) : gt_utf8_next(&p, end);
        if (code_point == GT_JSON_NO_ESCAPE) {
            p = end;
            code_point = GT_REPLACEMENT;
        }
        out += gt_utf8_put(out, code_point);
    }
    return (size_t)(out - start);
}

static const char *digits_end(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9') p++;
    return p;
}

/* Whether the word has the form of a JSON number; `*whole` ends its integer part. */
static bool number_form(gt_str word, const char **whole)
{
    const char *p = word.bytes, *end = p + word.len;
    if (p < end && *p == '-') p++;
    const char *digits = p;
    p = digits_end(p, end);
    if (p == digits || (*digits == '0' && p - digits > 1)) return false;
    *whole = p;
    if (p < end && *p == '.') {
        const char *fraction = ++p;
        p = digits_end(p, end);
        if (p == fraction) return false;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        if (++p < end && (*p == '+' || *p == '-')) p++;
        const char *exponent = p;
        p = digits_end(p, end);
        if (p == exponent) return false;
    }
    return p == end;
}

static bool named_number(gt_str word, gt_json_number *number)
{
    static const struct {
        const char *name;
        double value;
    } names[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        if (gt_str_equals(word, names[i].name)) {
            *number = (gt_json_number){.real = names[i].value};
            return true;
        }
    return false;
}

/* A number of at most 18 digits, without exponent: its digits as one integer, exact in one division. */
static bool short_number(gt_str word, const char *whole, gt_json_number *number)
{
    static const double powers[] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
    const char *p = word.bytes, *end = p + word.len;
    bool negative = *p == '-';
    int64_t value = 0;
    if (word.len > 18) return false; /* so that the digits fit */
    for (p += negative; p < end; p++) {
        if (*p >= '0' && *p <= '9')
            value = value * 10 + (*p - '0');
        else if (*p != '.')
            return false;
    }
    if (value > INT64_C(1) << 53) return false;
    number->is_int = whole == end;
    number->integer = negative ? -value : value;
    double real = number->is_int ? (double)value : (double)value / powers[end - whole - 1];
    number->real = negative ? -real : real;
    return true;
}

bool gt_json_parse_number(gt_str word, gt_json_number *number)
{
    const char *whole;
    if (!number_form(word, &whole)) return named_number(word, number);
    *number = (gt_json_number){0};
    if (short_number(word, whole, number)) return true;
    if (whole == word.bytes + word.len) {
        bool negative = word.bytes[0] == '-';
        bool fits = true;
        int64_t value = 0;
        for (const char *p = word.bytes + negative; p < whole && fits; p++)
            fits = !__builtin_mul_overflow(value, 10, &value) &&
                   !__builtin_sub_overflow(value, *p - '0', &value);
        /* Counted downwards, because the least int64 has no positive twin. */
        if (fits && !negative) fits = !__builtin_sub_overflow(0, value, &value);
        if (fits) {
            number->is_int = true;
            number->integer = value;
            number->real = value == 0 && negative ? -0.0 : (double)value;
            return true;
        }
    }
    number->real = gt_read_double(word);
    return true;
}
