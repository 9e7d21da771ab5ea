/* Numbers as Python, numpy and pandas read and round them; see number.h. */
#include "compat/number.h"

/* ---- Python ---- */

static gt_str trim(gt_str text)
{
    while (text.len && gt_is_blank(text.bytes[0])) text.bytes++, text.len--;
    while (text.len && gt_is_blank(text.bytes[text.len - 1])) text.len--;
    return text;
}

gt_python_parsed gt_python_parse_int(gt_str text, __int128 *value)
{
    text = trim(text);
    bool negative = text.len && text.bytes[0] == '-', after_digit = false, fits = true;
    if (text.len && (negative || text.bytes[0] == '+')) text.bytes++, text.len--;
    __int128 number = 0; /* counted downwards, because the least integer has no positive counterpart */
    for (size_t i = 0; i < text.len; i++) {
        char c = text.bytes[i];
        if (!gt_is_digit(c) && !(c == '_' && after_digit)) return GT_PYTHON_INVALID;
        after_digit = c != '_';
        if (!after_digit) continue;
        fits = fits && gt_multiply(number, 10, &number) && !__builtin_sub_overflow(number, c - '0', &number);
    }
    if (!after_digit) return GT_PYTHON_INVALID;
    if (fits && !negative) fits = !__builtin_sub_overflow(0, number, &number);
    if (!fits) return GT_PYTHON_TOO_LARGE;
    *value = number;
    return GT_PYTHON_PARSED;
}

bool gt_python_parse_float(gt_str text, double *value)
{
    enum { LEN_MAX = 400 };
    char word[LEN_MAX + 1], *rest;
    text = trim(text);
    if (!text.len || text.len > LEN_MAX || memchr(text.bytes, 0, text.len)) return false;
    memcpy(word, text.bytes, text.len);
    word[text.len] = 0;
    if (strpbrk(word, "xXpP()")) return false; /* what strtod knows and Python does not */
    *value = strtod(word, &rest);
    return *rest == 0;
}

double gt_python_round2(double value)
{
    double hundredths = value * 100.0;
    /* Printing is slow, and needed only if the value lies so close to the middle between two hundredths that
     * the product may be on the wrong side of it. */
    if (fabs(value) < 1e7 && fabs(hundredths - floor(hundredths) - 0.5) > 1e-5)
        return rint(hundredths) / 100.0;
    char digits[400];
    snprintf(digits, sizeof digits, "%.2f", value);
    return strtod(digits, NULL);
}

/* ---- numpy and pandas ---- */

double gt_numpy_round2(double value)
{
    return rint(value * 100.0) / 100.0;
}

size_t gt_pandas_head(size_t count, int64_t n)
{
    if (n >= 0) return (uint64_t)n < count ? (size_t)n : count;
    uint64_t dropped = 0 - (uint64_t)n;
    return dropped < count ? count - (size_t)dropped : 0;
}

/* Of a decimal number, pandas.read_csv takes 17 digits one by one into a double, leading zeros among them;
 * further digits before the point count as zeros, those after it not at all. Then the power of ten is
 * multiplied by or divided by. */
enum { DIGITS_MAX = 17, POWER_MAX = 308, EXPONENT_MAX = 1000000 };

static double power_of_ten(int exponent)
{
    char text[16];
    snprintf(text, sizeof text, "1e%d", exponent);
    return strtod(text, NULL);
}

static bool is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

static int written_exponent(const char *at, const char *end)
{
    int exponent = 0;
    bool negative = at < end && *at == '-';
    if (negative || (at < end && *at == '+')) at++;
    for (; is_digit(at, end); at++)
        if (exponent < EXPONENT_MAX) exponent = exponent * 10 + (*at - '0');
    return negative ? -exponent : exponent;
}

static double scaled(double number, int64_t exponent)
{
    if (exponent > POWER_MAX) return INFINITY;
    if (exponent > 0) return number * power_of_ten((int)exponent);
    if (exponent >= -POWER_MAX) return number / power_of_ten((int)-exponent);
    if (exponent < -2 * POWER_MAX) return 0;
    return number / power_of_ten((int)(-POWER_MAX - exponent)) / power_of_ten(POWER_MAX);
}

double gt_pandas_number(gt_str text)
{
    const char *at = text.bytes, *end = at + text.len;
    bool negative = at < end && *at == '-';
    if (negative || (at < end && *at == '+')) at++;
    double number = 0;
    int taken = 0;
    int64_t exponent = 0;
    for (; is_digit(at, end); at++) {
        if (taken < DIGITS_MAX) {
            number = number * 10 + (*at - '0');
            taken++;
        } else {
            exponent++;
        }
    }
    if (at < end && *at == '.')
        for (at++; is_digit(at, end); at++) {
            if (taken == DIGITS_MAX) continue;
            number = number * 10 + (*at - '0');
            taken++;
            exponent--;
        }
    if (at < end && (*at == 'e' || *at == 'E')) exponent += written_exponent(at + 1, end);
    number = scaled(number, exponent);
    return negative ? -number : number;
}
