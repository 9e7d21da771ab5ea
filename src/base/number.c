/* Printing doubles with the shortest digits that read back as the same number, as Python's repr does.
 *
 * printf is no alternative: %.17g needs about 500 ns per number and prints 0.1 as 0.10000000000000001; trying
 * 15, 16 and 17 digits until one reads back needs over 1,000 ns. This file needs 30 to 40 ns.
 *
 * The shortest digits are found with Schubfach (Raffaello Giulietti, "The Schubfach way to render doubles"):
 * scale the number and the two ends of its rounding interval by a power of ten so that only one or two
 * integers remain to choose from. Numbers with at most three decimals, which are nearly all numbers in
 * traces, need only a multiplication. */
#include "base/number.h"

#include "base/memory.h"

#include <math.h>
#include <pthread.h>

typedef unsigned __int128 uint128;

typedef struct power {
    uint64_t high, low;
} power;

/* The 128 leading bits of powers of ten, rounded up: enough to print any double. */
enum { FIRST_POWER = -292, LAST_POWER = 324, LAST_EXACT_POWER = 55 /* 5^55 has 128 bits */ };
static power powers_of_ten[LAST_POWER - FIRST_POWER + 1];

static const char digit_pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

#define TEN_MORE(first)                                                                                      \
    first "0", first "1", first "2", first "3", first "4", first "5", first "6", first "7", first "8",       \
        first "9"
#define HUNDRED_MORE(first)                                                                                  \
    TEN_MORE(first "0"), TEN_MORE(first "1"), TEN_MORE(first "2"), TEN_MORE(first "3"), TEN_MORE(first "4"), \
        TEN_MORE(first "5"), TEN_MORE(first "6"), TEN_MORE(first "7"), TEN_MORE(first "8"),                  \
        TEN_MORE(first "9")
const char gt_three_digits[1000][4] = {
    HUNDRED_MORE("0"), HUNDRED_MORE("1"), HUNDRED_MORE("2"), HUNDRED_MORE("3"), HUNDRED_MORE("4"),
    HUNDRED_MORE("5"), HUNDRED_MORE("6"), HUNDRED_MORE("7"), HUNDRED_MORE("8"), HUNDRED_MORE("9")};

/* A decimal number: digits * 10^exponent. */
typedef struct decimal {
    uint64_t digits;
    int exponent;
} decimal;

/* ---- digits of integers ---- */

static int digit_count(uint64_t value)
{
    static const uint64_t powers[] = {0,
                                      10,
                                      100,
                                      1000,
                                      10000,
                                      100000,
                                      1000000,
                                      10000000,
                                      100000000,
                                      1000000000,
                                      10000000000,
                                      100000000000,
                                      1000000000000,
                                      10000000000000,
                                      100000000000000,
                                      1000000000000000,
                                      10000000000000000,
                                      100000000000000000,
                                      1000000000000000000,
                                      10000000000000000000u};
    int bits = 64 - __builtin_clzll(value | 1);
    int guess = (bits * 1233) >> 12; /* 1233 / 4096 is just above log10(2) */
    return guess + (guess == 0 || value >= powers[guess]);
}

/* Writes exactly `count` digits, with leading zeros if the value has fewer. */
static void write_digits(char *out, uint64_t value, int count)
{
    char *p = out + count;
    while (p - out >= 2) {
        p -= 2;
        memcpy(p, digit_pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (p > out) *out = (char)('0' + value % 10);
}

size_t gt_print_int(char *out, int64_t value)
{
    char *p = out;
    uint64_t magnitude = (uint64_t)value;
    if (value < 0) {
        *p++ = '-';
        magnitude = 0 - magnitude;
    }
    int count = digit_count(magnitude);
    write_digits(p, magnitude, count);
    return (size_t)(p - out) + (size_t)count;
}

/* ---- the format of repr ---- */

/* 0.000ddd, ddd.ddd, ddd000.0, or d.ddde-07. `point` digits are before the decimal point. */
static size_t print_decimal(char *out, decimal number)
{
    char *p = out;
    int count = digit_count(number.digits);
    int point = count + number.exponent;
    if (point < -3 || point > 16) {
        write_digits(p + 1, number.digits, count);
        p[0] = p[1];
        p[1] = '.';
        p += count > 1 ? count + 1 : 1;
        int exponent = point - 1;
        *p++ = 'e';
        *p++ = exponent < 0 ? '-' : '+';
        unsigned size = (unsigned)(exponent < 0 ? -exponent : exponent);
        int width = size >= 100 ? 3 : 2;
        write_digits(p, size, width);
        p += width;
    } else if (point <= 0) {
        memcpy(p, "0.000", 5);
        p += 2 - point;
        write_digits(p, number.digits, count);
        p += count;
    } else if (point < count) {
        write_digits(p + 1, number.digits, count);
        memmove(p, p + 1, (size_t)point);
        p[point] = '.';
        p += count + 1;
    } else {
        write_digits(p, number.digits, count);
        memset(p + count, '0', (size_t)(point - count));
        p += point;
        *p++ = '.';
        *p++ = '0';
    }
    return (size_t)(p - out);
}

static decimal without_trailing_zeros(decimal number)
{
    if (number.digits % 100000000 == 0) {
        number.digits /= 100000000;
        number.exponent += 8;
    }
    while (number.digits % 10 == 0) {
        number.digits /= 10;
        number.exponent += 1;
    }
    return number;
}

/* ---- powers of ten ---- */

enum { LIMBS = 20 }; /* of a large integer, the lowest first: enough for 2^128 * 10^324 */

static void multiply_by_ten(uint64_t *limbs)
{
    uint64_t carry = 0;
    for (size_t i = 0; i < LIMBS; i++) {
        uint128 product = (uint128)limbs[i] * 10 + carry;
        limbs[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
}

static void divide_by_ten(uint64_t *limbs)
{
    uint64_t rest = 0;
    for (size_t i = LIMBS; i-- > 0;) {
        uint128 part = (uint128)rest << 64 | limbs[i];
        limbs[i] = (uint64_t)(part / 10);
        rest = (uint64_t)(part % 10);
    }
}

static power leading_bits(const uint64_t *limbs, bool is_exact)
{
    size_t top = LIMBS - 1;
    while (!limbs[top]) top--;
    int shift = __builtin_clzll(limbs[top]);
    uint128 bits =
        ((uint128)limbs[top] << 64 | limbs[top - 1]) << shift | limbs[top - 2] >> 1 >> (63 - shift);
    bits += !is_exact;
    return (power){(uint64_t)(bits >> 64), (uint64_t)bits};
}

/* Takes 0.1 ms. Dividing a rounded quotient gives the same as dividing once, so the bits are exact. */
static void make_powers(void)
{
    uint64_t large[LIMBS] = {[2] = 1}, small[LIMBS] = {[LIMBS - 1] = UINT64_C(1) << 63};
    for (int e = 0; e <= LAST_POWER; e++) {
        powers_of_ten[e - FIRST_POWER] = leading_bits(large, e <= LAST_EXACT_POWER);
        multiply_by_ten(large);
    }
    for (int e = -1; e >= FIRST_POWER; e--) {
        divide_by_ten(small);
        powers_of_ten[e - FIRST_POWER] = leading_bits(small, false);
    }
}

static power power_of_ten(int exponent)
{
    static pthread_once_t made = PTHREAD_ONCE_INIT;
    pthread_once(&made, make_powers);
    return powers_of_ten[exponent - FIRST_POWER];
}

/* ---- shortest digits ---- */

static int floor_log2_of_power_of_ten(int exponent)
{
    return (exponent * 1741647) >> 19;
}
static int floor_log10_of_power_of_two(int exponent)
{
    return (exponent * 1262611) >> 22;
}
static int floor_log10_of_three_quarters_power_of_two(int exponent)
{
    return (exponent * 1262611 - 524031) >> 22;
}

/* The upper 64 bits of power * factor; the lowest bit is set if anything below was not zero, so that
 * comparisons with integers give the same result as with the exact product. */
static uint64_t scaled_to_odd(power by, uint64_t factor)
{
    uint128 low = (uint128)by.low * factor;
    uint128 high = (uint128)by.high * factor + (uint64_t)(low >> 64);
    return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

/* value = fraction * 2^exponent; `at_step` if the gap below the value is half the gap above it. */
static decimal shortest(uint64_t fraction, int exponent, bool at_step)
{
    int k = at_step ? floor_log10_of_three_quarters_power_of_two(exponent)
                    : floor_log10_of_power_of_two(exponent);
    int shift = exponent + floor_log2_of_power_of_ten(-k) + 1;
    power scale = power_of_ten(-k);

    /* The value and the ends of the interval that rounds to it, in quarters of 10^k. */
    uint64_t middle = scaled_to_odd(scale, (4 * fraction) << shift);
    uint64_t below = scaled_to_odd(scale, (4 * fraction - (at_step ? 1 : 2)) << shift);
    uint64_t above = scaled_to_odd(scale, (4 * fraction + 2) << shift);
    bool open = fraction % 2; /* the ends belong to the interval if the fraction is even */
    below += open;
    above -= open;

    uint64_t whole = middle / 4;
    uint64_t tens = whole / 10;
    bool down = below <= 40 * tens;
    bool up = 40 * tens + 40 <= above;
    if (down != up) return (decimal){tens + up, k + 1};

    down = below <= 4 * whole;
    up = 4 * whole + 4 <= above;
    if (down != up) return (decimal){whole + up, k};

    uint64_t half = 4 * whole + 2;
    bool nearer_up = middle > half || (middle == half && whole % 2);
    return (decimal){whole + nearer_up, k};
}

/* value >= 0. A number below 10^12 with at most three decimals has at most 15 digits, and no two such numbers
 * round to the same double: if value * 1000 is near an integer that divides back to the value, those are
 * its digits. */
static bool has_three_decimals(double value, decimal *number)
{
    if (!(value < 1e12)) return false;
    int64_t thousandths = (int64_t)(value * 1000 + 0.5);
    if ((double)thousandths / 1000 != value) return false;
    *number = (decimal){(uint64_t)thousandths, -3};
    return true;
}

size_t gt_print_double(char *out, double value)
{
    enum { FRACTION_BITS = 52 };
    char *p = out;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value)) return memcpy(out, "nan", 3), 3;
    if (bits >> 63) {
        *p++ = '-';
        value = -value;
    }
    if (isinf(value)) return memcpy(p, "inf", 3), (size_t)(p + 3 - out);
    if (value == 0) return memcpy(p, "0.0", 3), (size_t)(p + 3 - out);

    decimal number;
    if (!has_three_decimals(value, &number)) {
        uint64_t stored = bits & (((uint64_t)1 << FRACTION_BITS) - 1);
        int stored_exponent = (int)(bits >> FRACTION_BITS & 0x7ff);
        bool normal = stored_exponent != 0;
        uint64_t fraction = stored | (uint64_t)normal << FRACTION_BITS;
        number =
            shortest(fraction, (normal ? stored_exponent : 1) - 1075, stored == 0 && stored_exponent > 1);
    }
    return (size_t)(p - out) + print_decimal(p, without_trailing_zeros(number));
}

double gt_read_double(gt_str text)
{
    char short_copy[64];
    char *copy = text.len < sizeof short_copy ? short_copy : gt_alloc(text.len + 1);
    memcpy(copy, text.bytes, text.len);
    copy[text.len] = 0;
    double value = strtod(copy, NULL);
    if (copy != short_copy) gt_free(copy);
    return value;
}

/* ---- formulas ---- */

bool gt_is_formula(gt_str text)
{
    while (text.len && *text.bytes == '\'') text.bytes++, text.len--;
    if (text.len < 2 || !memchr("=+-@\t\r\n", text.bytes[0], 7)) return false;
    size_t digits = 0;
    for (size_t i = 1; i < text.len; i++) {
        if (!strchr("0123456789.eE+-", text.bytes[i]) || !text.bytes[i]) return true;
        digits += text.bytes[i] >= '0' && text.bytes[i] <= '9';
    }
    if (!digits || text.bytes[0] == '=' || text.bytes[0] == '@') return true;
    char number[GT_NUMBER_MAX + 1], *end;
    if (text.len > GT_NUMBER_MAX) return true;
    memcpy(number, text.bytes, text.len);
    number[text.len] = 0;
    strtod(number, &end);
    return *end != 0;
}

/* ---- order ---- */

#define DEFINE_ORDER(name, type)                                                                             \
    int name(const void *left, const void *right)                                                            \
    {                                                                                                        \
        type a = *(const type *)left, b = *(const type *)right;                                              \
        return (a > b) - (a < b);                                                                            \
    }
DEFINE_ORDER(gt_by_u32, uint32_t)
DEFINE_ORDER(gt_by_i64, int64_t)
DEFINE_ORDER(gt_by_double, double)

int gt_by_cstr(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}
