/* The exact value of a JSON number, as strtod computes it. Most numbers take a shorter path with the same
 * result: an integer below 2^53 divided once by a power of ten is rounded only once. */
#include "json/number.h"

static const char *digits_end(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9') p++;
    return p;
}

/* Whether the word has the form of a JSON number; *whole is the end of its integer part. */
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

/* A number of at most 18 digits without exponent: its digits as one integer, exact after one division. */
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
        /* Counted downwards, because the least int64 has no positive counterpart. */
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
